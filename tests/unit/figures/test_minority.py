"""Minority answers: distance from the norm and variance, of flows with a norm only."""

from __future__ import annotations

import pytest

from cinorms.figures.spread import deviations
from cinorms.figures.spread import draw_minority as draw

MINORITY = [[2, 2, 2, -2], [1, 1, 1, 1], [0, None, None, None], *[[1, 1, 1, 0]] * 21]


def test_deviation_is_of_flows_with_a_norm_and_a_minority(norms_of, figure_entry) -> None:
    table = deviations([norms_of("a", MINORITY)], figure_entry("minority", ["a"])).set_index("panel")
    assert table.loc["deviation", "kept"] == 23  # one flow has too few valid answers
    assert table.loc["deviation", "n"] == 22  # another has no minority
    assert table.loc["deviation", "mean"] == pytest.approx((4 + 21) / 22)
    assert table.loc["variance", "mean"] == 0


def test_two_panels_with_a_box_per_model(norms_of, figure_entry, small_vignettes, built) -> None:
    selected = [norms_of(m, MINORITY) for m in ("b", "a")]
    drawn = draw(selected, figure_entry("minority", ["b", "a"]), {"main": small_vignettes})
    rectangles = next(layer for layer in built(drawn.plot) if "xmin" in layer and "ymin" in layer)
    assert rectangles.groupby("PANEL").size().tolist() == [2, 2]
    assert "b 22 of 23, a 22 of 23" in drawn.caption


@pytest.mark.parametrize("levels", [[[None, None]] * 24, [[1, 1]] * 24], ids=["no norm", "no minority"])
def test_without_a_minority_the_figure_says_so(
    norms_of, figure_entry, small_vignettes, built, levels
) -> None:
    drawn = draw([norms_of("a", levels)], figure_entry("minority", ["a"]), {"main": small_vignettes})
    assert "Nothing to show" in drawn.caption
    built(drawn.plot)
