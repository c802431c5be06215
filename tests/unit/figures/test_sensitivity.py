"""Flows kept under every pair of thresholds that a model can meet."""

from cinorms.figures.sensitivity import draw, kept_shares

LEVELS = [[1, 1, 1], [1, 1, -1], [1, -1, None], [None, None, None], *[[2, 2, 2]] * 20]


def test_shares_fall_as_thresholds_rise(norms_of, figure_entry):
    table = kept_shares([norms_of("a", LEVELS)], figure_entry("sensitivity", ["a"]))
    assert len(table) == 9
    shares = table.set_index(["line", "majority"])["kept"]
    assert shares["at least 0", "plurality"] == 22  # the tie and the flow without answers are not kept
    assert shares["at least 3", "50%"] == 22
    assert shares["at least 3", "67%"] == 21  # 2 of 3 are less than 67%
    assert table["flows"].eq(24).all()


def test_a_t_val_above_what_a_model_was_asked_is_left_out(norms_of, figure_entry):
    few = [[1, 1]] * 24
    table = kept_shares(
        [norms_of("a", LEVELS), norms_of("few", few)], figure_entry("sensitivity", ["a", "few"])
    )
    assert set(table.loc[table["panel"] == "few", "line"]) == {"at least 0", "at least 2"}


def test_a_panel_per_model_and_a_line_per_t_val(norms_of, figure_entry, built):
    drawn = draw(
        [norms_of(m, LEVELS) for m in ("b", "a")],
        figure_entry("sensitivity", ["b", "a"]),
    )
    lines = built(drawn.plot)[0]
    assert lines.groupby("PANEL")["color"].nunique().tolist() == [3, 3]
    assert "n = 24 flows per model" in drawn.caption
    limits = next(s for s in drawn.plot.scales if "x" in s.aesthetics).limits
    assert list(limits) == ["plurality", "50%", "67%"]
    names = [f"model-{i}" for i in range(9)]
    entry = figure_entry("sensitivity", names)
    assert draw([norms_of(m, LEVELS) for m in names], entry).height > 6


def test_a_line_under_another_is_wider_and_drawn_first(norms_of, figure_entry, built):
    drawn = draw([norms_of("a", [[2, 2, 2]] * 24)], figure_entry("sensitivity", ["a"]))
    lines, *points = built(drawn.plot)
    colours = next(s for s in drawn.plot.scales if "color" in s.aesthetics).limits
    sizes = lines.groupby("group")["size"].first()
    assert lines.groupby("group")["y"].nunique().eq(1).all(), "the three lines are the same"
    assert sizes.is_monotonic_decreasing
    assert sizes.is_unique
    assert [len(layer["color"].unique()) for layer in points] == [1] * len(colours)
    assert [layer["size"].iloc[0] for layer in points] == sorted(
        (layer["size"].iloc[0] for layer in points), reverse=True
    )
