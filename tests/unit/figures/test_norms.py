"""The heatmap: every flow has its cell, every model its part of it, and nothing overlaps."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.files import call
from cinorms.figures.colours import NO_NORM_COLOUR, PALETTES, level_colours
from cinorms.figures.layout import SHAPES, STRETCH, LabelAxis, centres, lay_out
from cinorms.figures.norms import EMPTY, NO_NORM, cells, draw
from cinorms.figures.theme import LINE, widest, width_of, wrap

from ...scales import ACCEPTABILITY

FACTORS = ("sender", "recipient", "information_type", "transmission_principle")
OPTIONS = list(ACCEPTABILITY.options)
FIVE = [[-2] * 3, [-1] * 3, [0] * 3, [1] * 3, [2] * 3, [1, 1, 2, 2], [1, -1, 2], [1, None, None]]
#: Of the 24 flows the first eight cover every outcome: five levels, two ties, too few answers.
LEVELS = [*FIVE, *[[1, 1, 1]] * 16]
OTHER = [[-2] * 3] * 24


@pytest.fixture(scope="module")
def plain(norms_of, figure_entry, small_vignettes, built):
    """Return the heatmap of one model and what its layers are drawn from."""
    drawn = draw([norms_of("a", LEVELS)], figure_entry("norms", ["a"]), {"main": small_vignettes})
    return drawn, built(drawn.plot)


def polygons(layer: pd.DataFrame) -> pd.DataFrame:
    return layer.groupby("group", sort=False).agg(
        fill=("fill", "first"), x=("x", "mean"), y=("y", "mean"), n=("x", "size")
    )


# --- What is shown


def test_a_cell_is_empty_where_one_of_the_models_has_no_norm(norms_of, figure_entry, small_vignettes, built):
    selected = [norms_of("a", LEVELS), norms_of("b", OTHER)]
    entry = figure_entry("norms", ["a", "b"], missing="cell")
    frame = cells(selected, entry, {"main": small_vignettes})
    # Flows 5 to 7 have no norm of the first model; the norm of the second is not shown there either.
    assert set(frame.loc[frame["shown"] == EMPTY, "flow"]) == {5, 6, 7}
    assert frame.loc[frame["shown"] == EMPTY, "part"].tolist() == [0] * 3 + [1] * 3
    assert not frame["shown"].eq(NO_NORM).any()
    drawn = draw(selected, entry, {"main": small_vignettes})
    layers = built(drawn.plot)
    assert len(polygons(layers[0])) == 2 * (24 - 3)
    assert "Empty (3 cells): at least one of the models has no norm" in drawn.caption
    assert drawn.data.loc[drawn.data["flow"] == 5, "level"].tolist()[1] == -2  # its data still has that norm
    nothing = [norms_of("a", LEVELS[7:8] * 24), norms_of("b", OTHER)]
    assert "Empty (24 cells)" in draw(nothing, entry, {"main": small_vignettes}).caption


def test_the_axes_of_inches_are_not_shown(plain):
    axes = plain[0].plot.draw().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("", "")
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert [tick.get_text() for tick in ticks if tick.get_visible() and tick.get_text()] == []


def test_a_cell_for_each_flow_and_what_is_in_it(norms_of, figure_entry, small_vignettes):
    frame = cells([norms_of("a", LEVELS)], figure_entry("norms", ["a"]), {"main": small_vignettes})
    assert frame["flow"].tolist() == list(range(24))
    assert frame["shown"].astype(str).tolist()[:8] == [*OPTIONS, NO_NORM, NO_NORM, NO_NORM]
    assert frame["status"].tolist()[5:8] == ["tie", "tie", "below_t_val"]
    assert frame["tie"].tolist()[:8] == [False] * 5 + [True, True, False]
    assert list(frame["shown"].cat.categories) == [*OPTIONS, NO_NORM]


def test_colours_are_the_levels_and_grey_for_no_norm(plain):
    drawn, layers = plain
    shown = polygons(layers[0])
    assert len(shown) == 24
    assert shown["n"].eq(4).all()
    expected = [*level_colours(ACCEPTABILITY).values(), *[NO_NORM_COLOUR] * 3]
    assert shown["fill"].str.lower().tolist()[:8] == expected
    scale = next(s for s in drawn.plot.scales if "fill" in s.aesthetics)
    assert list(scale.limits) == [*OPTIONS, NO_NORM]


def test_rows_go_down_and_columns_across_in_the_datasets_order(plain, small_vignettes):
    at = polygons(plain[1][0]).reset_index(drop=True)
    at = at.assign(**small_vignettes[["sender", "recipient", "information_type"]].astype(str))
    at["principle"] = small_vignettes["transmission_principle"].astype(str).to_numpy()
    rows = at.groupby(["sender", "principle"])["y"].agg(["min", "max"])
    assert np.allclose(rows["min"], rows["max"])
    order = rows["min"].sort_values(ascending=False).index.tolist()
    levels = {name: list(small_vignettes[name].cat.categories) for name in FACTORS}
    assert order == list(product(levels["sender"], levels["transmission_principle"]))
    columns = at.groupby(["recipient", "information_type"])["x"].agg(["min", "max"])
    assert np.allclose(columns["min"], columns["max"])
    order = columns["min"].sort_values().index.tolist()
    assert order == list(product(levels["recipient"], levels["information_type"]))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_key_shows_each_models_part(norms_of, figure_entry, small_vignettes, built, n):
    names = [f"model-{i}" for i in range(n)]
    selected = [norms_of(name, LEVELS if i else OTHER) for i, name in enumerate(names)]
    drawn = draw(selected, figure_entry("norms", names), {"main": small_vignettes})
    layers = built(drawn.plot)
    shown = polygons(layers[0])
    assert len(shown) == 24 * n
    first = shown["fill"].str.lower().iloc[:24]
    assert first.eq(level_colours(ACCEPTABILITY)[-2]).all(), "the first model's parts come first"
    texts = [set(layer["label"]) for layer in layers if "label" in layer]
    assert any(set(names) <= found for found in texts)
    if n > 1:
        key = [
            layer for layer in layers[1:] if "group" in layer and "label" not in layer and len(layer) == 3 * n
        ]
        filled = polygons(key[-1])
        # Within its outline a model's part has the place that it has in a cell.
        assert np.allclose(np.diff(filled["y"]) == 0, np.diff(centres(np.arange(n), n)[:, 1]) == 0) or n == 4


def test_ties_are_marked_and_only_they(plain, norms_of, figure_entry, small_vignettes):
    (marks,) = [layer for layer in plain[1] if "shape" in layer]
    assert len(marks) == 2
    others = draw([norms_of("a", OTHER)], figure_entry("norms", ["a"]), {"main": small_vignettes}).plot
    assert not any("shape" in layer.mapping for layer in others.layers)
    assert any("shape" in layer.mapping for layer in plain[0].plot.layers)


def test_a_page_for_each_level_and_one_n_each(norms_of, figure_entry, small_vignettes):
    entry = figure_entry("norms", ["a"], pages="sender", title="Norms")
    drawn = draw([norms_of("a", LEVELS)], entry, {"main": small_vignettes})
    pages = (drawn.plot, *drawn.further)
    assert [page.labels.subtitle for page in pages] == ["Norms: a tracker", "Norms: a camera"]
    assert [page.labels.title for page in pages] == ["Norms held: a 75%", "Norms held: a 100%"]
    assert "All 2 pages (one per sender): n = 24 flows" in drawn.caption


def test_a_selection_takes_its_levels_only(norms_of, figure_entry, small_vignettes, built):
    entry = figure_entry("norms", ["a"], select={"sender": ["a camera"], "recipient": ["a doctor"]})
    drawn = call(entry, [norms_of("a", LEVELS)], {"vignettes": {"main": small_vignettes}})
    assert len(polygons(built(drawn.plot)[0])) == 6
    assert "Only flows with sender: a camera, and recipient: a doctor." in drawn.caption


def test_the_caption_counts_what_is_missing(plain):
    drawn = plain[0]
    assert "n = 24 flows. Norms held: a 21 (88%)." in drawn.caption
    assert "too few valid answers 1" in drawn.caption
    assert "A norm needs at least 2 valid answers, and one level in at least 50% of them." in drawn.caption


def test_several_flows_in_a_cell_are_an_error(norms_of, figure_entry, small_vignettes):
    entry = figure_entry(
        "norms", ["a"], rows=["transmission_principle"], columns=["recipient", "information_type"]
    )
    with pytest.raises(ConfigError, match=r"sender.*have no place"):
        draw([norms_of("a", LEVELS)], entry, {"main": small_vignettes})


# --- Shapes and places


@pytest.mark.parametrize("n", list(SHAPES))
def test_the_parts_of_a_cell_fill_it_and_do_not_overlap(n):
    def area(points):
        x, y = points[:, 0], points[:, 1]
        return abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2

    parts = [area(shape) for shape in SHAPES[n]]
    assert np.isclose(sum(parts), area(SHAPES[1][0]))
    assert np.allclose(parts, parts[0])


def test_four_parts_are_top_right_bottom_left():
    middle = centres(np.arange(4), 4) - 0.5
    top, right, bottom, left = middle
    assert min(top[1], right[0], -bottom[1], -left[0]) > 0.2
    above, below = centres(np.arange(2), 2) - 0.5
    assert above.sum() > 0 > below.sum()


def test_labels_fit_their_cells_up_to_the_full_heatmap_of_iot(iot_flows):
    side = {f: tuple(iot_flows[f].astype("category").cat.categories) for f in iot_flows.columns[2:]}
    rows = LabelAxis(side["sender"], side["transmission_principle"])
    columns = LabelAxis(side["recipient"], side["information_type"])
    layout = lay_out(rows, columns, 0.5, (None, None))
    for labels, pitch in ((layout.row_labels, layout.cell[1]), (layout.column_labels, layout.cell[0])):
        lines = max(label.count("\n") for label in labels) + 1
        assert lines * layout.text * LINE / 72 <= pitch * 1.03
    assert max(layout.cell) <= STRETCH * min(layout.cell) + 1e-9
    assert min(layout.cell) > 0.095, "cells of 2.4 mm at least on A3"
    width = layout.left + layout.inside[0] + layout.right
    assert width <= 11.7
    assert (
        widest(layout.column_strips, layout.column_strip_text, bold=True)
        <= len(columns.inner) * layout.cell[0]
    )


def test_wrapped_text_keeps_every_letter_and_fits():
    text = "planted-llama-3.1-8b-instruct under the following unpronounceableandlongcondition"
    wrapped = wrap(text, 1.0, 9)
    assert wrapped.replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert all(width_of(line, 9) <= 1.0 for line in wrapped.split("\n"))
    assert wrap("", 1.0, 9) == ""


@pytest.mark.parametrize("palette", PALETTES)
def test_colours_stay_apart_in_a_grey_print(figure_entry, palette):
    def grey(colour):
        r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
        return 0.299 * r + 0.587 * g + 0.114 * b

    entry = figure_entry("norms", ["a"], palette=palette)
    greys = sorted(grey(c) for c in [*level_colours(ACCEPTABILITY, entry).values(), NO_NORM_COLOUR])
    assert min(np.diff(greys)) > 25
