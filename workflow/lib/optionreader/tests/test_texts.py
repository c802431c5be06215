"""Labelled texts are read as well as README.md states.

``by`` tells who wrote a text of replies_by_family: writers a to h had not seen the rules, m and n had mended them, and
an independent check found those of ``issue``.
"""

import hashlib
import json

import pytest

from .texts import coded

#: Learn nothing from these, and make no rule for them: they are the estimates.
NOT_LEARNT = [
    ("replies_not_learnt", {"by": "writer w"}, (150, 112, 0, 2)),
    ("replies_not_learnt", {"by": "writer x"}, (150, 112, 0, 6)),
    ("replies_not_learnt", {"by": "writer y"}, (200, 110, 1, 19)),
    ("replies_held_out", {"family": "natural"}, (100, 50, 0, 2)),
    ("replies_held_out", {"family": "misleading"}, (100, 50, 1, 12)),
    ("replies_two_writers", {"part": "held_out", "family": "natural"}, (157, 114, 0, 7)),
    ("replies_two_writers", {"part": "held_out", "family": "misleading"}, (102, 42, 3, 11)),
    ("replies_two_writers", {"part": "held_out", "family": "two_cases"}, (25, 0, 0, 0)),
    ("replies_two_writers", {"part": "held_out", "family": "disclaimers"}, (41, 30, 0, 4)),
]
#: The weights were learnt from these, or rules mended on them: they show that nothing is lost.
LEARNT = [
    ("real_replies", {}, (800, 62, 0, 2)),
    ("replies_by_family", {}, (2583, 1254, 2, 73)),
    ("replies_by_scale", {}, (469, 218, 0, 2)),
    ("replies_two_writers", {"part": "seen"}, (315, 185, 0, 8)),
    ("replies_third_writer", {}, (490, 253, 0, 11)),
    ("replies_fresh_writers", {}, (270, 180, 0, 11)),
    ("replies_four_writers", {}, (704, 451, 0, 66)),
    ("replies_three_natural", {}, (778, 598, 0, 17)),
]


@pytest.mark.parametrize(("name", "part", "counts"), NOT_LEARNT + LEARNT)
def test_few_levels_are_read_that_are_not_stated_and_few_stated_ones_are_missed(name, part, counts):
    found = [row for row in coded(name) if row.items() >= part.items()]
    wrong = [row["text"] for row in found if row["level"] not in ("", row["stated"])]
    missed = [row["text"] for row in found if row["stated"] and not row["level"]]
    stated = sum(bool(row["stated"]) for row in found)
    assert (len(found), stated, len(wrong), len(missed)) == counts, wrong


def test_two_verdicts_on_two_cases_are_conditional():
    assert {row["expected"] for row in coded("replies_by_family") if row["read"] == "conditional"} == {
        "conditional"
    }


#: Change it only where readings are meant to change: studies that were read before are read by the same rules.
READINGS = "0a051f1e79dedd6c"


def test_no_reading_of_a_known_text_changes_unnoticed():
    names = sorted({name for name, *_ in NOT_LEARNT + LEARNT})
    found = [[row["text"], row["read"], row["rule"], row["cases"]] for name in names for row in coded(name)]
    assert hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] == READINGS
