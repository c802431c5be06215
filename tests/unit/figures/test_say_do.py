"""The figure of what is said against what is done: groups of flows by hand, and what it says without any."""

import numpy as np
import pytest

from cinorms.entries.kind import kinds
from cinorms.figures.say_do import draw

from ..analyses.test_say_do import FRAMES, PROMPTS, entry_of, tables


def test_groups_of_flows_by_hand():
    shown = draw(tables(), entry_of("say_do", section="figures"), FRAMES, {"say": PROMPTS, "act": PROMPTS})
    data = shown.data
    assert set(kinds("figures")["say_do"].columns) == set(data.columns)
    assert data["flows"].tolist() == [2, 1, 1, 1]
    assert data["shares"].tolist() == [0.5, 0.0, 0.0, 1.0]
    assert data["accepted"].tolist() == pytest.approx([0.0, 0.25, 0.75, 1.0])
    assert np.isfinite(data["low"]).all()


def test_without_a_pair_it_says_so():
    shown = draw(
        tables("other"), entry_of("say_do", section="figures"), FRAMES, {"say": PROMPTS, "act": PROMPTS}
    )
    assert "Nothing to show: no flow has both" in shown.caption
