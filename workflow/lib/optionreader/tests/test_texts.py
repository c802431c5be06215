"""Labelled texts are read as well as README.md states."""

import hashlib
import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from .texts import HELD_OUT, LEARNT, coded

#: Writers a to h had not seen the rules, m and n had mended them, and an independent check found those of issue.
FAMILIES = "a, b, c, d, e, f, g, h, issue, m, n"


def learnt() -> Iterator[dict[str, Any]]:
    return chain.from_iterable(map(coded, LEARNT))


@pytest.mark.parametrize(
    ("writers", "family", "counts"),
    [
        # Learn nothing from these, and make no rule for them: they are the estimates.
        ("writer w", "", (150, 112, 0, 2)),
        ("writer x", "", (150, 112, 0, 6)),
        ("writer y", "", (200, 110, 1, 19)),
        ("i", "natural", (100, 50, 0, 2)),
        ("i", "misleading", (100, 50, 1, 12)),
        ("two writers", "natural", (157, 114, 0, 7)),
        ("two writers", "misleading", (102, 42, 3, 11)),
        ("two writers", "two_cases", (25, 0, 0, 0)),
        ("two writers", "disclaimers", (41, 30, 0, 4)),
    ],
)
def test_few_levels_are_read_that_are_not_stated_and_few_stated_ones_are_missed(writers, family, counts):
    found = [row for row in coded(HELD_OUT) if row["by"] == writers and family in ("", row["family"])]
    assert counted(found) == counts


@pytest.mark.parametrize(
    ("writers", "counts"),
    [
        (FAMILIES, (2583, 1254, 2, 72)),
        ("two writers", (315, 185, 0, 8)),
        ("third writer", (490, 253, 0, 11)),
        ("fresh natural, fresh misleading", (270, 180, 0, 11)),
        ("writer p, writer q, writer r, writer s", (704, 451, 0, 66)),
        ("writer t, writer u, writer v", (778, 598, 0, 17)),
        ("scales 1, scales 2", (469, 218, 0, 2)),
        ("model1, model2", (800, 62, 0, 2)),
    ],
)
def test_nothing_that_was_learnt_is_lost(writers, counts):
    assert counted([row for row in learnt() if row["by"] in writers.split(", ")]) == counts


@pytest.mark.parametrize(
    ("part", "counts"),
    [
        ("seen", (200, 81, 0, 1)),
        # As replies_held_out: make no rule for these.
        ("unseen", (100, 44, 3, 2)),
    ],
)
def test_replies_that_argue_and_decline_are_read_by_what_they_choose(part, counts):
    assert counted([row for row in coded("replies_compass") if row["part"] == part]) == counts


def counted(found: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Return how many texts there are, how many state a level, how many levels are wrong, and how many missed."""
    wrong = sum(row["level"] not in ("", row["stated"]) for row in found)
    missed = sum(bool(row["stated"]) and not row["level"] for row in found)
    return len(found), sum(bool(row["stated"]) for row in found), wrong, missed


def test_two_verdicts_on_two_cases_are_conditional():
    read = [row for row in learnt() if row["by"] in FAMILIES.split(", ") and row["read"] == "conditional"]
    assert {row["expected"] for row in read} == {"conditional"}


#: Change it only where readings are meant to change: studies that were read before are read by the same rules.
READINGS = "df4bd9b68beacf06"


def test_no_reading_of_a_known_text_changes_unnoticed():
    readings = [(row["text"], row["read"], row["reading"]) for row in chain(learnt(), coded(HELD_OUT))]
    found = [[text, read, reading.rule, reading.cases] for text, read, reading in readings]
    found += [row["reading"].spans for row in coded(HELD_OUT)]
    assert hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] == READINGS
