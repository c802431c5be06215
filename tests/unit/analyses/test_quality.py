"""Quality of answers: reliability, what is missing, and how far that could move a mean."""

import pandas as pd

from cinorms.stats import reliability

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, run


def test_reliability_is_the_panel_of_each_model():
    table = run("reliability")
    panel = reliability.panel(ANSWERS["large"], PROMPTS, ACCEPTABILITY)
    ours = table[table["model"] == "large"].drop(columns=["arm", "model"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, panel)
