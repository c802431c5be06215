"""Planted respondents on every scale: they answer on it, are read on it, and their norms are recovered."""

from typing import Any

import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.planted.respondents import plant, thresholds_on
from cinorms.planted.settings import Respondent
from cinorms.prompts.variants import list_variants

from ...asking import make_flows, make_request, respond
from ...scales import shipped

FACTORS = ["sender", "recipient"]
PLANTED = {"noise": 0.1, "template_sd": 0.05, "other_levels_sd": 2.0}
PLANTED |= {"verbose": 0.2, "invalid": {"refusal": 0.05}}
#: 2, 4, 5 and 7 options, without and with a midpoint, and a number line.
SCALES = ["acceptability_2", "acceptability_4", "acceptability", "acceptability_7", "appropriateness_0_100"]


FLOWS = pd.MultiIndex.from_product([list("abcdefgh"), list("klmnopqrst")], names=FACTORS).to_frame(
    index=False
)
FLOWS = make_flows(FLOWS["sender"] + " tells " + FLOWS["recipient"], **FLOWS.astype("category"))
VARIANTS = list_variants("set", [f"Rate {t}: {{scenario}} {{options}}" for t in range(6)], 6, 2)


@pytest.mark.parametrize("name", SCALES)
def test_norms_are_recovered(name):
    scale = shipped(name)
    stated: dict[str, Any] = {"model": "someone", "factors": FACTORS, "n_templates": 6, "scale": scale.plain}
    responses = respond(make_request("planted", planted=PLANTED, **stated), FLOWS, VARIANTS)
    answers = read_responses(responses, scale, prompts=VARIANTS)
    refused = (answers["status"] == "refusal").mean()
    assert (answers["status"] == "ok").mean() == pytest.approx(1 - refused)
    assert 0.02 < refused < 0.08
    norms = assessment.assess(answers, "strict", scale)
    truth = plant(Respondent(name="someone", **PLANTED), FLOWS, FACTORS, scale, 3).set_index("flow")["level"]
    assert set(truth) <= set(scale.levels)
    kept = assessment.held(norms, Thresholds(6, 0.5, "strict")).set_index("flow")["value"].dropna()
    assert len(kept) > 0.9 * len(FLOWS)
    assert (kept == scale.in_bins(truth).loc[kept.index]).mean() > 0.9
    if scale.line is None:
        assert truth.nunique() == len(scale.levels)


@pytest.mark.parametrize(
    ("planted", "scale", "expected"),
    [
        ((-3.0, -1.0, 1.0, 3.0), "acceptability", [-3, -1, 1, 3]),
        ((-3.0, -1.0, 1.0, 3.0), "acceptability_2", [0]),
        ((-3.0, -1.0, 1.0, 3.0), "acceptability_4", [-2.5, 0, 2.5]),
        ((-3.0, -1.0, 1.0, 3.0), "acceptability_7", [-25 / 7, -15 / 7, -5 / 7, 5 / 7, 15 / 7, 25 / 7]),
        ((0.0,), "acceptability_4", [-1, 0, 1]),
    ],
)
def test_thresholds_divide_the_levels_in_the_planted_proportions(planted, scale, expected):
    found = thresholds_on(Respondent(name="r", thresholds=planted), shipped(scale))
    assert found.tolist() == pytest.approx(expected)
