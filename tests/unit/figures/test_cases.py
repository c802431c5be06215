"""PETS Figure 1 from data: a point per flow that has an expected value."""

from dataclasses import replace

import numpy as np

from cinorms.figures.delta import draw_cases

LEVELS = [[2, 2], [None, None], [-2, 2], *[[1, 1]] * 21]


def test_each_flow_is_a_point_and_each_model_has_its_shares(norms_of, figure_entry, small_vignettes, built):
    made = figure_entry("cases", ["a", "b"])
    points = {arm: replace(d, expected_range=(-100, 100)) for arm, d in made.factors_of.items()}
    entry = replace(made, factors_of=points)
    vignettes = {"main": small_vignettes.assign(expected=[50.0] * 23 + [np.nan])}
    drawn = draw_cases([norms_of("a", LEVELS), norms_of("b", [[2, 1]] * 24)], entry, vignettes, None)
    data = drawn.data[drawn.data["model"] == "a"]
    # Flow 1 has no answers and flow 23 no expected value.
    assert data["flow"].tolist() == [0, 2, *range(3, 23)]
    assert data["case"].tolist() == ["B", "D", *["A"] * 20]
    titles = built(drawn.plot)
    assert len(titles[-1]) == 22 + 23
    assert "choice" in drawn.caption
    assert "(3)" in drawn.caption
    nothing = draw_cases([norms_of("a", LEVELS)], entry, {"main": small_vignettes}, None)
    assert "expected value" in nothing.nothing
