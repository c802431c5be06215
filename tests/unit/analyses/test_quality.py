"""Quality of answers: reliability, what is missing, and how far that could move a mean."""

import pandas as pd
import pytest

from cinorms.stats import reliability

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, SMALL, norms_of, run


def test_reliability_is_the_panel_of_each_model():
    table = run("reliability")
    panel = reliability.panel(ANSWERS["large"], norms_of(ANSWERS["large"]), PROMPTS, ACCEPTABILITY)
    ours = table[table["model"] == "large"].drop(columns=["arm", "model"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, panel)


def test_position_effects_count_every_valid_answer_once():
    table = run("position_effects", SMALL)
    assert table["position"].tolist() == [1, 2, 3, 4, 5]
    assert table["chosen"].sum() == (ANSWERS["small"]["status"] == "ok").sum()
    assert table["share"].sum() == pytest.approx(1)
