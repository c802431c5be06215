"""Signed deltas: the norm less what is expected, where both are there."""

from dataclasses import replace

import numpy as np
import pytest

from cinorms.figures.delta import OVERALL, deltas, draw

LEVELS = [[2, 2], [None, None], *[[1, 1]] * 22]


@pytest.fixture
def expecting(small_vignettes):
    return {"main": small_vignettes.assign(expected=[50.0] * 23 + [np.nan])}


@pytest.fixture
def entry(figure_entry):
    def make(models, kind="delta", points=(-100, 100), **options):
        made = figure_entry(kind, models, **options)
        return replace(made, factors_of={"main": replace(made.factors_of["main"], expected_range=points)})

    return make


def test_delta_is_in_the_points_of_the_dataset_and_leaves_out_what_is_missing(norms_of, entry, expecting):
    table = deltas([norms_of("a", LEVELS)], entry(["a"]), expecting)
    assert (
        table["delta"].tolist() == [50.0] + [0.0] * 21
    )  # one flow has no norm, one nothing that is expected
    assert set(table["panel"]) == {OVERALL}


@pytest.mark.parametrize(
    ("points", "mean", "unit"),
    [
        (None, "a +0.04 (n = 23)", "levels from -2 to 2"),
        ((-100, 100), "a +2.2 (n = 23)", "points from -100 to 100"),
    ],
)
def test_the_unit_is_that_of_the_dataset_or_the_levels(norms_of, entry, small_vignettes, points, mean, unit):
    asked = entry(["a"], points=points)
    value = 1.0 if points is None else 50.0
    drawn = draw([norms_of("a", LEVELS)], asked, {"main": small_vignettes.assign(expected=value)}, None)
    assert mean in drawn.caption
    assert f"both in {unit}" in drawn.caption
    assert f"({unit.split()[0]}; above 0: more acceptable)" in drawn.plot.labels.y


def test_by_a_factor_there_is_a_panel_per_level_after_that_of_all(norms_of, entry, expecting, built):
    asked = entry(["b", "a"], by="information_type")
    drawn = draw([norms_of(m, LEVELS) for m in ("b", "a")], asked, expecting, None)
    boxes = next(layer for layer in built(drawn.plot) if "middle" in layer)
    assert boxes.groupby("PANEL").size().tolist() == [2] * 4
    table = deltas([norms_of("a", LEVELS)], asked, expecting)
    assert list(table["panel"].cat.categories) == [OVERALL, "location", "audio", "video"]
    assert (table["panel"] == OVERALL).sum() == (table["panel"] != OVERALL).sum()
    assert "a +2.3 (n = 22)" in drawn.caption
    assert drawn.data["factor"].tolist() == [OVERALL] * 2 + ["information_type"] * 6


def test_a_violin_is_as_wide_as_its_numbers_and_widest_where_they_are(norms_of, entry, expecting, built):
    spread = [[level] * 2 for level in (-2, -1, -1, 0, 0, 0, 0, 0, 1, 1, 2)] + [[0, 0]] * 13
    asked = entry(["a"], shape="violin")
    drawn = draw([norms_of("a", spread)], asked, expecting, None)
    layers = built(drawn.plot)
    outline = next(layer for layer in layers if "violinwidth" in layer)
    delta = deltas([norms_of("a", spread)], asked, expecting)["delta"]
    assert (outline["y"].min(), outline["y"].max()) == (delta.min(), delta.max())
    assert abs(outline.loc[outline["violinwidth"].idxmax(), "y"] - delta.median()) < 10
    slim = next(layer for layer in layers if "middle" in layer)
    assert (slim["xmax"] - slim["xmin"]).max() < 0.5 * (outline["xmax"] - outline["xmin"]).max()
    assert "Outline: density" in drawn.caption


def test_equal_numbers_have_a_box_and_few_points_are_shown(norms_of, entry, expecting, built):
    built(draw([norms_of("a", [[1, 1]] * 24)], entry(["a"], shape="violin"), expecting, None).plot)
    layers = built(draw([norms_of("a", LEVELS)], entry(["a"], shape="violin"), expecting, None).plot)
    assert any("middle" in layer for layer in layers)
    (points,) = [layer for layer in layers if "shape" in layer and len(layer) == 22]
    assert points["x"].between(0.5, 1.5).all()
