"""Agreement of every two models, both ways round, with the number of flows it rests on."""

from __future__ import annotations

import pytest

from cinorms.figures.agreement import PANELS, draw, matrix

A = [[1, 1]] * 12 + [[-1, -1]] * 12
B = [[1, 1]] * 18 + [[-1, -1]] * 6
NONE = [[None, None]] * 24


def test_the_matrix_is_symmetric_and_leaves_the_diagonal_free(norms_of, figure_entry) -> None:
    table = matrix([norms_of("a", A), norms_of("b", B)], figure_entry("agreement", ["a", "b"]))
    assert len(table) == 4
    same = table[table["measure"] == PANELS["agreement"]]
    assert same["value"].tolist() == [0.75, 0.75]
    assert same["label"].tolist() == ["75%", "75%"]
    assert same["count"].tolist() == ["24", "24"]
    assert table.loc[table["measure"] == PANELS["kappa_quadratic"], "value"].tolist() == pytest.approx(
        [0.5, 0.5]
    )


def test_models_stand_in_the_entrys_order_and_ink_is_read_on_its_colour(
    norms_of, figure_entry, small_vignettes, built
) -> None:
    models = ["b", "a", "c"]
    selected = [norms_of(m, levels) for m, levels in zip(models, (A, B, A), strict=True)]
    drawn = draw(selected, figure_entry("agreement", models), {"main": small_vignettes}, {})
    tiles, texts = built(drawn.plot)[:2]
    assert len(tiles) == 2 * 6
    x, y = (next(s for s in drawn.plot.scales if axis in s.aesthetics).limits for axis in "xy")
    assert (list(x), list(y)) == (models, models[::-1])
    assert set(texts.loc[texts["label"].isin(["100%", "1.00"]), "color"]) == {"white"}


def test_no_flow_in_common_is_a_dash(norms_of, figure_entry, small_vignettes, built) -> None:
    models = ["a", "b", "none"]
    selected = [norms_of("a", A), norms_of("b", B), norms_of("none", NONE)]
    drawn = draw(selected, figure_entry("agreement", models), {"main": small_vignettes}, {})
    assert (built(drawn.plot)[1]["label"] == "-").sum() == 8


@pytest.mark.parametrize("models", [["a"], ["none", "nobody"]])
def test_one_model_or_no_norms_are_figures_that_say_so(
    norms_of, figure_entry, small_vignettes, built, models
) -> None:
    drawn = draw(
        [norms_of(m, NONE) for m in models], figure_entry("agreement", models), {"main": small_vignettes}, {}
    )
    assert "Nothing to show" in drawn.caption
    built(drawn.plot)
