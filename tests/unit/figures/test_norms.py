"""The heatmap: every flow has its cell, every model its part of it, and nothing overlaps."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from cinorms.core.errors import ConfigError
from cinorms.entries.files import call
from cinorms.figures.cell_parts import SHAPES, centres
from cinorms.figures.colours import NO_NORM_COLOUR, level_colours, rgb
from cinorms.figures.norms import EMPTY, NO_NORM, _panel_names, draw
from cinorms.figures.theme import width_of, wrap

from ...scales import ACCEPTABILITY

FACTORS = ("sender", "recipient", "information_type", "transmission_principle")
OPTIONS = list(ACCEPTABILITY.options)
FIVE = [[-2] * 3, [-1] * 3, [0] * 3, [1] * 3, [2] * 3, [1, 1, 2, 2], [1, -1, 2], [1, None, None]]
#: Of the 24 flows the first eight cover every outcome: five levels, two ties, too few answers.
LEVELS = [*FIVE, *[[1, 1, 1]] * 16]
OTHER = [[-2] * 3] * 24


@pytest.fixture(scope="module")
def heatmap(norms_of, figure_entry, small_vignettes):
    """Return a function that draws models from the levels of their flows."""

    def drawn(*levels, **options):
        models = [f"model-{i}" for i in range(len(levels))]
        selected = [norms_of(*one) for one in zip(models, levels, strict=True)]
        vignettes = {"vignettes": {"main": small_vignettes}}
        return call(figure_entry("norms", models, **options), selected, vignettes)

    return drawn


@pytest.fixture(scope="module")
def plain(heatmap, built):
    """Return the heatmap of one model and what its layers are drawn from."""
    drawn = heatmap(LEVELS)
    return drawn, built(drawn.plot)


def of_iot(norms_of, flows):
    """Return the norms of a model for flows of the dataset iot, and its vignettes with those alone."""
    flows = flows.assign(**{name: flows[name].astype("str").astype("category") for name in FACTORS})
    norms = norms_of("a", [[1, 1]] * len(flows))
    return [norms], {"main": flows.assign(flow=norms.frame["flow"].to_numpy())}


def polygons(layer: pd.DataFrame) -> pd.DataFrame:
    return layer.groupby("group").agg(
        fill=("fill", "first"), x=("x", "mean"), y=("y", "mean"), n=("x", "size")
    )


# --- What is shown


def test_a_cell_is_empty_where_one_of_the_models_has_no_norm(heatmap, built):
    drawn = heatmap(LEVELS, OTHER, missing="cell")
    # Flows 5 to 7 have no norm of the first model; the norm of the second is not shown there either.
    empty = drawn.data[drawn.data["shown"] == EMPTY]
    assert empty["flow"].tolist() == [5, 6, 7] * 2
    assert empty["level"].fillna(9).tolist() == [9] * 3 + [-2] * 3  # its data still have that norm
    assert not drawn.data["shown"].eq(NO_NORM).any()
    assert len(polygons(built(drawn.plot)[0])) == 2 * (24 - 3)
    assert "Empty (3 cells): at least one of the models has no norm" in drawn.caption
    assert "Empty (24 cells)" in heatmap(LEVELS[7:8] * 24, OTHER, missing="cell").caption


def test_the_axes_have_the_inner_levels_and_the_panels_the_outer_ones(plain, small_vignettes):
    figure = plain[0].plot.draw()
    shown = [text.get_text().replace("\n", " ").strip() for text in figure.findobj(Text)]
    levels = {name: list(small_vignettes[name].cat.categories) for name in FACTORS}
    first, second = levels["recipient"]
    # The outer level of the rows is named once in each row of panels.
    panels = [name for sender in levels["sender"] for name in (f"{sender} {first}", second)]
    assert [text for text in shown if text in panels] == panels
    assert {*levels["transmission_principle"], *levels["information_type"]} <= {*shown}
    assert len(figure.axes) == len(panels)


def test_each_panel_has_both_names_where_outer_rows_share_a_row_of_panels():
    assert _panel_names(["r", "s"], ["a", "b", "c"], 2, 2.0) == [f"{r}: {c}" for r in "rs" for c in "abc"]
    assert _panel_names(["r", "s"], ["a", "b"], 2, 2.0) == ["r\na", "\nb", "s\na", "\nb"]
    assert _panel_names([""], ["a", "b", "c"], 2, 2.0) == ["a", "b", "c"]
    assert _panel_names(["r", "s"], [""], 1, 2.0) == ["r", "s"]


@pytest.mark.parametrize(("width", "across"), [("column", 1), ("text", 2)])
def test_panels_take_more_rows_where_they_do_not_fit_side_by_side(
    norms_of, figure_entry, iot_flows, width, across
):
    both = [
        iot_flows[name].isin(iot_flows[name].unique()[:n]) for name, n in (("sender", 1), ("recipient", 2))
    ]
    flows = of_iot(norms_of, iot_flows[both[0] & both[1]])
    drawn = draw(flows[0], figure_entry("norms", ["a"], width=width), flows[1])
    assert len({axes.get_position().x0 for axes in drawn.plot.draw().axes}) == across
    with pytest.raises(ConfigError, match=r"width: 2\.2 inches are too few .* allowed: at least \d"):
        draw(flows[0], figure_entry("norms", ["a"], width=2.2), flows[1])


def test_a_map_that_is_too_high_is_refused_with_the_least_width_at_which_it_is_not(
    norms_of, figure_entry, iot_flows
):
    selected, vignettes = of_iot(norms_of, iot_flows)
    with pytest.raises(ConfigError, match=r"64 panels does not fit a page of any width; show fewer"):
        draw(selected, figure_entry("norms", ["a"], width="text"), vignettes)
    two = {"select": {"sender": list(iot_flows["sender"].unique()[:2])}}
    selected, vignettes = of_iot(norms_of, iot_flows[iot_flows["sender"].isin(two["select"]["sender"])])
    with pytest.raises(ConfigError, match=r"3\.33 inches are too few .* at least ([\d.]+)\. ") as refused:
        draw(selected, figure_entry("norms", ["a"], width="column", **two), vignettes)
    least = float(re.search(r"at least ([\d.]+)\. ", str(refused.value))[1])
    drawn = draw(selected, figure_entry("norms", ["a"], width=least, **two), vignettes)
    width, height = drawn.plot.theme.getp("figure_size")
    assert (width, height < 22) == (least, True)


def test_a_cell_for_each_flow_and_what_is_in_it(plain):
    data = plain[0].data
    assert data["flow"].tolist() == list(range(24))
    assert list(data["shown"].cat.categories) == [*OPTIONS, NO_NORM]
    assert data["shown"].astype(str).tolist()[:8] == [*OPTIONS, NO_NORM, NO_NORM, NO_NORM]
    assert data["status"].tolist()[5:8] == ["tie", "tie", "below_t_val"]
    assert data["tie"].tolist()[:8] == [False] * 5 + [True, True, False]


def test_colours_are_the_levels_and_grey_for_no_norm(plain):
    drawn, layers = plain
    shown = polygons(layers[0])
    assert shown["n"].tolist() == [4] * 24
    expected = [*level_colours(ACCEPTABILITY).values(), *[NO_NORM_COLOUR] * 3]
    assert shown["fill"].str.lower().tolist()[:8] == expected
    scale = next(s for s in drawn.plot.scales if "fill" in s.aesthetics)
    assert list(scale.limits) == [*OPTIONS, NO_NORM]


def test_rows_go_down_and_columns_across_in_the_datasets_order(plain, small_vignettes):
    layer = plain[1][0]
    panel = layer.groupby("group")["PANEL"].first().astype(int) - 1
    at = polygons(layer).assign(down=panel // 2, beside=panel % 2)
    at = at.reset_index(drop=True).join(small_vignettes[list(FACTORS)].astype(str))
    levels = {name: list(small_vignettes[name].cat.categories) for name in FACTORS}
    for place, factors in (
        (at["down"] * 100 - at["y"], ["sender", "transmission_principle"]),
        (at["beside"] * 100 + at["x"], ["recipient", "information_type"]),
    ):
        ends = place.groupby([at[name] for name in factors]).agg(["min", "max"])
        assert np.allclose(ends["min"], ends["max"])
        assert ends["min"].sort_values().index.tolist() == list(product(*(levels[name] for name in factors)))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_the_key_shows_each_models_part(heatmap, built, n):
    drawn = heatmap(OTHER, *[LEVELS] * (n - 1))
    shown = polygons(built(drawn.plot)[0])
    assert len(shown) == 24 * n
    assert np.allclose(shown["y"] % 1, np.repeat(centres(np.arange(n), n)[:, 1], 24))
    first = shown["fill"].str.lower().iloc[:24]
    assert first.eq(level_colours(ACCEPTABILITY)[-2]).all(), "the first model's parts come first"
    legend = next((list(s.limits) for s in drawn.plot.scales if "shape" in s.aesthetics), [])
    assert legend == ([*(f"model-{i}" for i in range(n)), "tie"] if n > 1 else [])


def test_ties_are_marked_and_only_they(plain, heatmap):
    (marks,) = [layer for layer in plain[1] if "shape" in layer]
    assert len(marks) == 2
    assert not any("shape" in layer.mapping for layer in heatmap(OTHER).plot.layers)


def test_a_page_for_each_level_and_one_n_each(heatmap):
    drawn = heatmap(LEVELS, pages="sender", title="Norms")
    assert [(page.labels.subtitle, page.labels.title) for page in (drawn.plot, *drawn.further)] == [
        ("Norms: a tracker", "Mostly accepted (67% of the norms), much the same at all levels"),
        ("Norms: a camera", "Always accepted (100% of the norms), much the same at all levels"),
    ]
    assert "All 2 pages (one per sender): n = 24 flows" in drawn.caption


def test_a_selection_takes_its_levels_only(heatmap, built):
    drawn = heatmap(LEVELS, select={"sender": ["a camera"], "recipient": ["a doctor"]})
    assert len(polygons(built(drawn.plot)[0])) == 6
    assert "Only flows with sender: a camera, and recipient: a doctor." in drawn.caption
    assert "Every flow has a norm. x: a tie" in drawn.caption


@pytest.mark.parametrize("order", [["a camera", "a tracker"], ["a tracker", "a camera"]])
def test_levels_are_in_the_order_in_which_they_are_selected(heatmap, order):
    drawn = heatmap(LEVELS, select={"sender": order}, pages="sender", title="T")
    assert [page.labels.subtitle for page in (drawn.plot, *drawn.further)] == [
        f"T: {level}" for level in order
    ]


def test_a_model_in_one_of_two_arms_is_named_with_its_arm(norms_of, figure_entry, small_vignettes):
    arms = ("iot", "coppa")
    selected = [norms_of("m", levels, arm) for arm, levels in zip(arms, (OTHER, LEVELS), strict=True)]
    entry = figure_entry("norms", ["m"], arms, title="T")
    drawn = call(entry, selected, {"vignettes": dict.fromkeys(arms, small_vignettes)})
    title = drawn.plot.labels.title.replace("\n", " ")
    assert title == "Accepted most often by m in coppa (86% of its norms), least often by m in iot (0%)"


def test_the_caption_counts_what_is_missing(plain):
    caption = plain[0].caption
    assert "n = 24 flows. Norms held: model-0 21 (88%)." in caption
    assert "No norm: a tie 2, too few valid answers 1 (of 24). Grey: no norm; x: a tie" in caption
    assert "A norm needs at least 2 valid answers; at least 50% of them must agree." in caption


def test_several_flows_in_a_cell_are_an_error(heatmap):
    with pytest.raises(ConfigError, match=r"sender.*have no place"):
        heatmap(LEVELS, rows=["transmission_principle"], columns=["recipient", "information_type"])


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
    top, right, bottom, left = centres(np.arange(4), 4) - 0.5
    assert min(top[1], right[0], -bottom[1], -left[0]) > 0.2
    above, below = centres(np.arange(2), 2) - 0.5
    assert above.sum() > 0 > below.sum()


def test_wrapped_text_keeps_every_letter_and_fits():
    text = "planted-llama-3.1-8b-instruct under the following unpronounceableandlongcondition"
    wrapped = wrap(text, 1.0, 9)
    assert wrapped.replace("\n", "").replace(" ", "") == text.replace(" ", "")
    assert all(width_of(line, 9) <= 1.0 for line in wrapped.split("\n"))
    assert wrap("", 1.0, 9) == ""


def test_colours_stay_apart_in_a_grey_print():
    colours = level_colours(ACCEPTABILITY).values()
    greys = [np.dot(rgb(colour), [0.299, 0.587, 0.114]) for colour in (*colours, NO_NORM_COLOUR)]
    assert min(np.diff(sorted(greys))) > 25
