"""The heatmap: every flow has its cell, every model its part of it, and nothing overlaps."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from cinorms.core.errors import ConfigError
from cinorms.entries.files import call
from cinorms.figures.cell_parts import SHAPES, centres
from cinorms.figures.colours import NO_NORM_COLOUR, PALETTES, level_colours
from cinorms.figures.norms import EMPTY, NO_NORM, cells, draw
from cinorms.figures.theme import width_of, wrap

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
    return layer.groupby("group").agg(
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


def test_the_axes_have_the_inner_levels_and_the_panels_the_outer_ones(plain, small_vignettes):
    figure = plain[0].plot.draw()
    shown = {text.get_text().replace("\n", " ") for text in figure.findobj(Text)}
    assert {str(level) for name in FACTORS for level in small_vignettes[name].cat.categories} <= shown
    assert len(figure.axes) == 2, "a panel for each sender"


@pytest.mark.parametrize(("width", "panels"), [("column", 4), ("text", 2)])
def test_blocks_take_more_rows_where_they_do_not_fit_side_by_side(
    norms_of, figure_entry, iot_flows, width, panels
):
    flows = iot_flows[iot_flows["sender"].isin(iot_flows["sender"].unique()[:2])]
    flows = flows[flows["recipient"].isin(flows["recipient"].unique()[:2])].reset_index(drop=True)
    flows = flows.assign(**{name: flows[name].astype("str").astype("category") for name in FACTORS})
    selected = [norms_of("a", [[1, 1]] * len(flows))]
    vignettes = {"main": flows.assign(flow=selected[0].frame["flow"])}
    drawn = draw(selected, figure_entry("norms", ["a"], width=width), vignettes)
    assert len(drawn.plot.draw().axes) == panels
    with pytest.raises(ConfigError, match=r"width: 2\.5 inches have no room .* allowed: at least 3\."):
        draw(selected, figure_entry("norms", ["a"], width=2.5), vignettes)


def test_a_heatmap_higher_than_any_page_is_refused(norms_of, figure_entry, iot_flows):
    flows = iot_flows.assign(**{name: iot_flows[name].astype("str").astype("category") for name in FACTORS})
    selected = [norms_of("a", [[1, 1]] * len(flows))]
    vignettes = {"main": flows.assign(flow=selected[0].frame["flow"])}
    with pytest.raises(ConfigError, match=r"blocks of this heatmap would be \d+ inches high; show fewer"):
        draw(selected, figure_entry("norms", ["a"], width="text"), vignettes)


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
    layer = plain[1][0]
    at = polygons(layer).assign(panel=layer.groupby("group")["PANEL"].first())
    at = at.reset_index(drop=True).join(small_vignettes[list(FACTORS)].astype(str))
    levels = {name: list(small_vignettes[name].cat.categories) for name in FACTORS}
    for place, factors in (
        (at["panel"].astype(int) * 100 - at["y"], ["sender", "transmission_principle"]),
        (at["x"], ["recipient", "information_type"]),
    ):
        ends = place.groupby([at[name] for name in factors]).agg(["min", "max"])
        assert np.allclose(ends["min"], ends["max"])
        assert ends["min"].sort_values().index.tolist() == list(product(*(levels[name] for name in factors)))


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
    legend = next((list(s.limits) for s in drawn.plot.scales if "shape" in s.aesthetics), [])
    assert legend == ([*names, "tie"] if n > 1 else [])


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
    assert [page.labels.title for page in pages] == [
        "a holds a norm on 75% of the flows",
        "a holds a norm on 100% of the flows",
    ]
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
