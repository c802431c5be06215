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


def test_the_caption_names_pairs_that_differ_in_no_more_than_the_engine_alone_changes(
    norms_of, answers_of, figure_entry, small_vignettes
) -> None:
    models = ["a", "b"]
    selected, entry = [norms_of("a", A), norms_of("b", B)], figure_entry("agreement", models)

    def caption(again: list[list[int]]) -> str:
        answers = answers_of("a", again).frame
        repeats = {(selected[0].arm, "a"): answers.assign(repeat=2, same_reply=False)}
        return " ".join(draw(selected, entry, {"main": small_vignettes}, repeats).caption.split())

    half = [[-1, -1]] * 12 + [[-1, -1]] * 12  # half of a's norms are others
    assert "Asked again, the engine alone changes up to 50.0% of a model's norms; 1 pair differs" in caption(
        half
    )
    assert "so the engine alone may be the reason: a and b." in caption(half)
    assert "up to 0.0% of a model's norms; every pair differs in more." in caption(A)
    assert "Asked again" not in draw(selected, entry, {"main": small_vignettes}, {}).caption
