"""Flows kept under every pair of thresholds that a model can meet."""

import pandas as pd

from cinorms.figures.sensitivity import draw, kept_shares

#: The tie and the flow without answers are not kept; 2 of 3 are less than 67%.
LEVELS = [[1, 1, 1], [1, 1, -1], [1, -1, None], [None, None, None], *[[2, 2, 2]] * 20]


def test_shares_fall_as_thresholds_rise_to_what_a_model_was_asked(norms_of, figure_entry):
    selected = [norms_of("a", LEVELS), norms_of("few", [[1, 1]] * 24)]
    table = kept_shares(selected, figure_entry("sensitivity", ["a", "few"]))
    assert table["kept"].tolist() == [22, 22, 21] * 3 + [24] * 6
    assert table["line"].tolist() == [f"at least {t_val}" for t_val in (0, 2, 3, 0, 2) for _ in range(3)]
    assert set(table["flows"]) == {24}


def test_a_panel_per_model_and_a_line_per_t_val(norms_of, figure_entry, built):
    drawn = draw([norms_of(m, LEVELS) for m in ("b", "a")], figure_entry("sensitivity", ["b", "a"]))
    assert built(drawn.plot)[0].groupby("PANEL")["color"].nunique().tolist() == [3, 3]
    assert list(drawn.plot.data["panel"].cat.categories) == ["b", "a"]
    assert "n = 24 flows per model" in drawn.caption
    limits = next(s for s in drawn.plot.scales if "x" in s.aesthetics).limits
    assert list(limits) == ["plurality", "50%", "67%"]
    names = [f"model-{i}" for i in range(9)]
    entry = figure_entry("sensitivity", names)
    assert draw([norms_of(m, LEVELS) for m in names], entry).plot.theme.getp("figure_size")[1] > 6


def test_a_line_under_another_is_wider_and_drawn_first(norms_of, figure_entry, built):
    drawn = draw([norms_of("a", [[2, 2, 2]] * 24)], figure_entry("sensitivity", ["a"]))
    lines, *points = built(drawn.plot)
    colours = next(s for s in drawn.plot.scales if "color" in s.aesthetics).limits
    sizes = lines.groupby("group")["size"].first()
    assert lines.groupby("group")["y"].nunique().eq(1).all(), "the three lines are the same"
    assert sizes.is_monotonic_decreasing
    assert sizes.is_unique
    assert [len(layer["color"].unique()) for layer in points] == [1] * len(colours)
    assert pd.Series([layer["size"].iloc[0] for layer in points]).is_monotonic_decreasing
