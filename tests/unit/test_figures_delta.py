"""Signed deltas: the norm less what is expected, where both are there."""

from __future__ import annotations

import numpy as np
import pytest

from cinorms.figures.delta import OVERALL, deltas, draw

LEVELS = [[2, 2], [None, None], *[[1, 1]] * 22]


@pytest.fixture
def expecting(small_vignettes):
    return {"main": small_vignettes.assign(expected=[50.0] * 23 + [np.nan])}


@pytest.fixture
def entry(figure_entry):
    def make(models, **changes):
        made = figure_entry(models, **changes)
        made["design"]["main"] = {**made["design"]["main"], "expected_range": [-100, 100]}
        return made

    return make


def test_delta_is_on_the_scale_of_levels_and_leaves_out_what_is_missing(norms_of, entry, expecting) -> None:
    table = deltas([norms_of("a", LEVELS)], entry(["a"]), expecting)
    assert len(table) == 22  # one flow has no norm, one nothing that is expected
    assert table["delta"].tolist() == [1.0] + [0.0] * 21
    assert set(table["panel"]) == {OVERALL}


def test_by_a_factor_there_is_a_panel_per_level_after_that_of_all(norms_of, entry, expecting, built) -> None:
    asked = entry(["b", "a"], by="information_type")
    drawn = draw([norms_of(m, LEVELS) for m in ("b", "a")], asked, expecting)
    rectangles = next(layer for layer in built(drawn.plot) if "xmin" in layer and "ymin" in layer)
    assert rectangles.groupby("PANEL").size().tolist() == [2] * 4
    table = deltas([norms_of("a", LEVELS)], asked, expecting)
    assert list(table["panel"].cat.categories) == [OVERALL, "location", "audio", "video"]
    assert (table["panel"] == OVERALL).sum() == (table["panel"] != OVERALL).sum()
    assert "a +0.05 (n = 22)" in drawn.caption


def test_points_are_shown_where_they_are_few(norms_of, entry, expecting, built) -> None:
    layers = built(draw([norms_of("a", LEVELS)], entry(["a"]), expecting).plot)
    points = [layer for layer in layers if "shape" in layer and len(layer) == 22]
    assert len(points) == 1
    assert points[0]["y"].between(-0.5, 0.5).all()


def test_nothing_expected_is_a_figure_that_says_so(norms_of, entry, small_vignettes, built) -> None:
    drawn = draw([norms_of("a", LEVELS)], entry(["a"]), {"main": small_vignettes})
    assert "no flow has both a norm and an expected value" in drawn.caption
    built(drawn.plot)
