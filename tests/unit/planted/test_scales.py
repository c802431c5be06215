"""Planted respondents on every scale: they answer on it, are read on it, and their norms are recovered."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.planted.respondents import plant, thresholds_on
from cinorms.planted.settings import Respondent
from cinorms.prompts.variants import list_variants

from ...asking import make_request, respond
from ...scales import ACCEPTABILITY, shipped

FACTORS = ["sender", "recipient"]
PLANTED = {
    "noise": 0.1,
    "template_sd": 0.05,
    "other_levels_sd": 2.0,
    "verbose": 0.2,
    "invalid": {"refusal": 0.05},
}
#: 2, 4, 5 and 7 options, without and with a midpoint, and a number line.
SCALES = ["acceptability_2", "acceptability_4", "acceptability", "acceptability_7", "appropriateness_0_100"]


@pytest.fixture(scope="module")
def flows() -> pd.DataFrame:
    every = pd.MultiIndex.from_product([list("abcdefgh"), list("klmnopqrst")], names=FACTORS).to_frame(
        index=False
    )
    frame = every.astype("category").assign(vignette=every["sender"] + " tells " + every["recipient"])
    return frame.assign(flow=np.arange(len(frame), dtype=np.int32), expected=np.nan)


@pytest.fixture(scope="module")
def variants() -> pd.DataFrame:
    return list_variants("set", [f"Rate {t}: {{scenario}} {{options}}" for t in range(6)], 6, 2)


@pytest.mark.parametrize("name", SCALES)
def test_norms_are_recovered(name, flows, variants):
    scale = shipped(name)
    stated: dict[str, Any] = {"model": "someone", "factors": FACTORS, "n_templates": 6, "scale": scale.plain}
    responses = respond(make_request("planted", planted=PLANTED, **stated), flows, variants)
    answers = read_responses(responses, scale, prompts=variants)
    refused = (answers["status"] == "refusal").mean()
    assert (answers["status"] == "ok").mean() == pytest.approx(1 - refused)
    assert 0.02 < refused < 0.08
    norms = assessment.assess(answers, "strict", scale)
    truth = plant(Respondent(name="someone", **PLANTED), flows, FACTORS, scale, 3).set_index("flow")["level"]
    assert set(truth) <= set(scale.levels)
    kept = assessment.held(norms, Thresholds(6, 0.5, "strict")).set_index("flow")["value"].dropna()
    assert len(kept) > 0.9 * len(flows)
    assert (kept == scale.in_bins(truth).loc[kept.index]).mean() > 0.9
    if scale.line is None:
        assert truth.nunique() == len(scale.levels)


def test_thresholds_divide_the_levels_in_the_planted_proportions():
    respondent = Respondent(name="r", thresholds=(-3.0, -1.0, 1.0, 3.0))
    assert thresholds_on(respondent, ACCEPTABILITY).tolist() == [-3, -1, 1, 3]
    assert thresholds_on(respondent, shipped("acceptability_2")).tolist() == pytest.approx([0])
    assert thresholds_on(respondent, shipped("acceptability_4")).tolist() == pytest.approx([-2.5, 0, 2.5])
    one = Respondent(name="r", thresholds=(0.0,))
    assert thresholds_on(one, shipped("acceptability_4")).tolist() == pytest.approx([-1, 0, 1])
    seven = thresholds_on(respondent, shipped("acceptability_7"))
    assert seven.tolist() == pytest.approx((-seven[::-1]).tolist())
    assert (np.diff(seven) > 0).all()
