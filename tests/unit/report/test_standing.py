"""What is said of how a model stands: ten made models, through the statistics, to the sentence that a reader gets."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.report.standing import Standing, ranked
from cinorms.stats.flow_dependence import dependence
from cinorms.stats.wordings import level_counts
from rewordings import consistency

from ...scales import ACCEPTABILITY

FLOWS, WORDINGS, ORDERS = 240, 11, 3
FLOW = np.arange(FLOWS)
#: Factors of the flows.
RECIPIENT, PRINCIPLE = FLOW % 4, FLOW // 4 % 12
YES, NO = 1.0, -1.0


def always_no(rng):
    return np.full((FLOWS, 1, 1), NO)


def no_unless_consent(rng):
    return np.where(PRINCIPLE == 0, YES, NO)[:, None, None]


def no_but_four_per_cent(rng):
    return np.where(FLOW % 24 == 0, YES, NO)[:, None, None]


def weak_and_no(rng):
    """Say no, more seldom for one recipient: a single answer tells next to nothing of the flow."""
    return np.where(
        rng.random((FLOWS, WORDINGS, 1)) < np.where(RECIPIENT == 0, 0.25, 0.05)[:, None, None], YES, NO
    )


def noise_about_no(rng):
    return np.where(rng.random((FLOWS, WORDINGS, ORDERS)) < 0.1, YES, NO)


def coin_per_prompt(rng):
    return rng.choice([YES, NO], (FLOWS, WORDINGS, ORDERS))


def five_levels(rng):
    return np.clip(
        np.rint(PRINCIPLE / 2.75 - 2 + rng.normal(0, 0.3, (WORDINGS, ORDERS, FLOWS))), -2, 2
    ).transpose(2, 0, 1)


def refuses_its_noes(rng):
    return np.where(PRINCIPLE < 5, YES, np.nan)[:, None, None]


def recipient_by_principle(rng):
    return np.where((RECIPIENT + PRINCIPLE) % 2, YES, NO)[:, None, None]


def alike_in_every_order(rng):
    return rng.integers(-2, 3, (FLOWS, WORDINGS, 1)).astype(float)


NOTHING_SHOWS = "nothing shows that it reads the flow"
SAME = "Asked in other words, it takes the same side"
MADE = {
    always_no: f"{SAME} 100% of the time, whatever the flow.",
    no_unless_consent: f"{SAME} 100% of the time (85% if it did not read the flow): most flows get one side, and the "
    "same flows get the other.",
    no_but_four_per_cent: f"{SAME} 100% of the time (92% if it did not read the flow): most flows get one side, and "
    "the same flows get the other.",
    weak_and_no: f"{SAME} 83% of the time: hardly more often than if it did not read the flow (81%).",
    noise_about_no: f"{SAME} 82% of the time: {NOTHING_SHOWS} (82% if it did not).",
    coin_per_prompt: f"{SAME} 50% of the time: {NOTHING_SHOWS} (50% if it did not).",
    five_levels: f"{SAME} 84% of the time (35% if it did not read the flow).",
    refuses_its_noes: f"{SAME} 100% of the time in the 42% of its replies that could be read, whatever the flow.",
    recipient_by_principle: f"{SAME} 100% of the time (50% if it did not read the flow).",
    alike_in_every_order: f"{SAME} 37% of the time: {NOTHING_SHOWS} (36% if it did not).",
}


def standing(answers, name="m", **changes):
    """Return how the model of ``answers`` (flows x wordings x orders) stands."""
    x = np.broadcast_to(answers, (FLOWS, WORDINGS, ORDERS)).reshape(FLOWS, -1)
    names = [f"{w}_{o}" for w, o in np.ndindex(WORDINGS, ORDERS)]
    levels, templates = pd.DataFrame(x, columns=names), pd.Series(np.repeat(range(WORDINGS), ORDERS), names)
    found = consistency(level_counts(levels, templates, ACCEPTABILITY), ACCEPTABILITY.sides)
    p = dependence(levels, templates, ACCEPTABILITY, 1, 199).p
    numbers = {key: getattr(found, key) for key in ("same_side", "low", "high", "blind_side")}
    known = {key: None if np.isnan(number) else float(number) for key, number in {**numbers, "p": p}.items()}
    valid = int((~np.isnan(x)).sum())
    usual = Standing("main", name, False, False, FLOWS, WORDINGS, 0, {}, x.size, valid, x.size - valid)
    return replace(usual, **{"status": found.status, **known, **changes})


@pytest.mark.parametrize("model", MADE, ids=lambda model: model.__name__)
def test_each_made_model_has_the_sentence_that_is_true_of_it(model):
    said = standing(model(np.random.default_rng(1))).sentence
    assert said.startswith(MADE[model]), said


def test_a_test_that_shows_dependence_decides_alone_whether_nothing_shows_it():
    row = standing(no_but_four_per_cent(None))
    assert row.p < 0.05
    assert NOTHING_SHOWS not in row.note
    assert replace(row, p=0.05).note == NOTHING_SHOWS
    assert replace(row, same_side=0.93, p=0.005).note.startswith("hardly more often")
    unread = standing(coin_per_prompt(np.random.default_rng(1)), "c")
    assert [one.model for one in ranked([replace(unread, same_side=1.0), replace(row, same_side=0.93)])] == [
        "m",
        "c",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"status": "one_wording"},
            "Asked in one wording; a second one would show whether it takes the same side in",
        ),
        ({"status": "no_pairs"}, "No flow has a readable answer in two wordings."),
        (
            {"status": "people", "people": True},
            "They hold a norm on 0% of 240 flows. Of their ratings, 100% could",
        ),
    ],
)
def test_without_a_number_it_says_why(changes, said):
    row = standing(always_no(None), same_side=None, blind_side=None, low=None, high=None, **changes)
    assert row.sentence.startswith(said)
    assert row.number == "?"


def test_what_must_be_known_beside_the_number_is_beside_it():
    row = standing(no_unless_consent(None), status="alike_templates", effective_templates=4.0)
    assert row.note.endswith("its 11 wordings are nearly the same, worth 4: other words differ more")
    assert "Its 11 wordings are nearly the same" in row.sentence
    assert "95% interval: 100% to 100%." in row.sentence
    assert "interval" not in replace(row, low=None, high=None).sentence
