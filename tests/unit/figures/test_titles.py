"""Titles say what is seen: what is accepted most and least, or who accepts most and least."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.scales import Says
from cinorms.figures.titles import accepts, by_level, by_model, how_often

from ...scales import ACCEPTABILITY

SAYS = ACCEPTABILITY.spoken


def norms(accepted: dict[str, tuple[int, int]]) -> tuple[pd.Series, pd.Series]:
    """Return which norms accept, and the level of each, from the accepted and all norms of each level."""
    parts = [[level, i < n] for level, (n, of) in accepted.items() for i in range(of)]
    frame = pd.DataFrame(parts, columns=["level", "accepted"])
    return frame["accepted"].astype(float), frame["level"]


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1, "always"),
        (0.996, "nearly always"),
        (0.6, "mostly"),
        (0.5, "about half of the time"),
        (0.1, "seldom"),
        (0.004, "almost never"),
        (0, "never"),
    ],
)
def test_a_share_is_an_adverb(share, words):
    assert how_often(share) == words


@pytest.mark.parametrize(
    ("levels", "title"),
    [
        (
            {"with consent": (96, 100), "kept for ever": (1, 300)},
            "Nearly always accepted: with consent (96%); almost never: kept for ever (under 1%)",
        ),
        ({"a": (80, 100), "b": (62, 100)}, "Mostly accepted: a (80%); less often: b (62%)"),
        ({"a": (80, 100), "b": (75, 100)}, "Mostly accepted (78% of the norms), much the same at all levels"),
        # Too few norms to be named.
        (
            {"a": (80, 100), "b": (75, 100), "c": (0, 4)},
            "Mostly accepted (76% of the norms), much the same at all levels",
        ),
        ({}, ""),
    ],
)
def test_two_levels_that_differ_most_are_named(levels, title):
    accepted, level = norms(levels)
    assert by_level(accepted, {"principle": level}, level.map(lambda _: "m"), SAYS) == title


def test_the_factor_whose_levels_differ_most_is_named_unless_models_differ_more():
    accepted, recipient = norms({"a doctor": (90, 100), "the police": (30, 100)})
    sender = pd.Series(np.resize(["a watch", "a camera"], 200))
    factors = {"sender": sender, "recipient": recipient}
    title = "Nearly always accepted: to a doctor (90%); seldom: to the police (30%)"
    assert by_level(accepted, factors, sender.map(lambda _: "m"), SAYS) == title
    who = "Accepted most often by a doctor (90% of its norms), least often by the police (30%)"
    assert by_level(accepted, {"sender": sender}, recipient, SAYS) == who


@pytest.mark.parametrize(
    ("shares", "title"),
    [
        (
            {"a": 0.5, "b": 0.998, "c": 0.004},
            "Rated high most often by b (over 99% of its norms), least often by c (under 1%)",
        ),
        ({"a": 0.25}, "Seldom rated high by a (25% of its norms)"),
        (
            {"a": 0.5, "b": None, "c": 0.5},
            "About half of the time rated high: in 50% of the norms of each model",
        ),
        ({"a": None}, ""),
    ],
)
def test_who_accepts_most_and_least(shares, title):
    assert by_model(pd.Series(shares, dtype="float64"), Says("higher", "lower"), "norms") == title


def test_the_middle_of_the_scale_accepts_nothing_and_what_is_missing_is_left_out():
    levels = pd.Series([2, 1, 0, -1, None], dtype="Int8")
    assert accepts(levels, ACCEPTABILITY).tolist() == [1, 1, 0, 0]
