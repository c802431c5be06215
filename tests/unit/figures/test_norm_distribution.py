"""Norms at each level and flows without one fill the bar of a model."""

from __future__ import annotations

import pytest

from cinorms.figures import theme
from cinorms.figures.distribution import bars
from cinorms.figures.distribution import draw_norms as draw

from ...scales import ACCEPTABILITY

LEVELS = [[1, 1]] * 12 + [[-2, -2]] * 6 + [[1, -1]] * 3 + [[None, 1]] * 3


def test_every_flow_is_counted_once_in_the_order_of_the_scale(norms_of, figure_entry) -> None:
    table = bars([norms_of("a", LEVELS)], figure_entry("norm_distribution", ["a"]))
    assert table["flows"].sum() == 24
    assert table.set_index("segment")["flows"][
        ["strongly unacceptable", "a tie", "too few valid answers"]
    ].tolist() == [6, 3, 3]
    assert table["colour"].tolist()[:5] == list(theme.level_colours(ACCEPTABILITY).values())
    assert table["start"].iloc[0] == 0
    assert table["end"].iloc[-1] == pytest.approx(1)
    assert table["start"].tolist()[1:] == table["end"].tolist()[:-1]


def test_models_from_top_to_bottom_and_a_panel_per_arm(
    norms_of, figure_entry, small_vignettes, built
) -> None:
    arms = ("x", "w")
    selected = [norms_of(m, LEVELS, arm) for arm in arms for m in ("b", "a")]
    drawn = draw(
        selected, figure_entry("norm_distribution", ["b", "a"], arms), dict.fromkeys(arms, small_vignettes)
    )
    shown = built(drawn.plot)[0]
    assert shown["PANEL"].nunique() == 2
    assert next(s for s in drawn.plot.scales if "y" in s.aesthetics).labels == ["b", "a"]
    assert "n = 24 (x), 24 (w) flows per model" in drawn.caption


def test_no_flow_is_a_figure_that_says_so(norms_of, figure_entry, small_vignettes, built) -> None:
    entry = figure_entry("norm_distribution", ["a"], select={"sender": ["nobody"]})
    drawn = draw([norms_of("a", LEVELS)], entry, {"main": small_vignettes})
    assert "Nothing to show" in drawn.caption
    built(drawn.plot)
