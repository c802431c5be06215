"""Kind ``norms``: the norms of one, two or four models as a heatmap over the factors of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO
from cinorms.analyses.factors import add_factors
from cinorms.analyses.shared import check_same_scale, chosen
from cinorms.core.errors import ConfigError
from cinorms.core.labels import NO_NORM, NORM_LABELS, model_labels
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.figures.cells import SHAPES, centres, corners, geom_cells
from cinorms.figures.layout import AROUND, SPACE, Layout, Side, lay_out
from cinorms.figures.places import NormsOptions
from cinorms.figures.texts import LINE, width_of
from cinorms.figures.theme import (
    INK,
    MARGIN,
    NO_NORM_COLOUR,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
    ink_on,
    level_colours,
    selection_text,
    thresholds_text,
)
from cinorms.norms import assessment

if TYPE_CHECKING:
    from plotnine import ggplot

TIE = "tie"
#: Height of a line of the key and of the shape in it, in inches.
KEY_LINE, KEY_SHAPE = 0.26, 0.19
#: Least width of the figure in inches, so that title and legend have room.
LEAST_WIDTH = 7.5


def cells(
    selected: Sequence[Selected], entry: Entry[NormsOptions], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one row per flow and model: what is shown there and why.

    Columns: part (place in the key), arm, model, flow, the factors placed, value (missing where there is no
    norm), status (of `assessment.status`), tie (the most frequent levels were tied), shown (the level's words
    or "no norm"). Raises `ConfigError` where two flows of a model fall into one cell.
    """
    at = entry.options.placed(entry.factors_of[selected[0].arm].factors)
    factors = [factor for side in at.values() for factor in side]
    parts = []
    for number, one in enumerate(selected):
        norms = chosen(one.frame, entry, vignettes[one.arm])
        status = assessment.status(norms, entry.thresholds[one.model]).astype(str)
        scale = entry.scales[one.arm]
        value = norms["value"].where(status == "kept")
        frame = pd.DataFrame({"part": number, "arm": one.arm, "model": one.model, "flow": norms["flow"]})
        frame = frame.assign(value=value, status=status, tie=norms["tie"] & (norms["n_valid"] > 0))
        parts.append(
            add_factors(frame.assign(shown=_shown(value, scale.binned)), vignettes[one.arm], factors)
        )
        if parts[-1].duplicated(factors).any():
            raise ConfigError(_crowded(entry, vignettes[one.arm], norms["flow"], factors))
    whole = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    levels = {f: [*parts[0][f].cat.categories] for f in factors}
    held = {f: set(whole[f].astype(str)) for f in factors}
    kinds = {f: pd.CategoricalDtype([level for level in levels[f] if str(level) in held[f]]) for f in factors}
    return whole.astype(kinds)


def draw(
    selected: Sequence[Selected], entry: Entry[NormsOptions], vignettes: Mapping[str, pd.DataFrame]
) -> Drawn:
    """Return the heatmap: a cell per flow, a part of it per model; a page for each level of ``pages``."""
    if len(selected) not in SHAPES:
        raise ConfigError(
            f"figures.{entry.name}: {len(selected)} models (over all arms) do not fit into a cell; it has "
            "room for 1, 2 or 4: name them under 'models'"
        )
    frame = cells(selected, entry, vignettes)
    if frame.empty:
        return empty(entry, "no flow has the levels selected.")
    at = entry.options.placed(entry.factors_of[selected[0].arm].factors)
    names = model_labels((one.arm, one.model) for one in selected)
    rows, columns = _side(frame, at["rows"]), _side(frame, at["columns"])
    layout = lay_out(rows, columns, KEY_LINE * len(names), (entry.options.width, entry.options.height))
    key = _key_lines(names, layout)
    scale = entry.scales[selected[0].arm].binned
    check_same_scale(entry, (one.arm for one in selected))
    pages = [("", frame)]
    if at["pages"]:
        pages = [(str(level), part) for level, part in frame.groupby(at["pages"][0], observed=True)]
    size = _size(layout, len(key), [*scale.options, NO_NORM])
    more = (
        f"All {len(pages)} pages (one per {at['pages'][0].replace('_', ' ')}): {_counts(frame, names)} "
        "PNG and SVG show the first page."
        if at["pages"]
        else "",
        f"Each cell is one flow. {_reasons(frame)} Grey: no norm; x: a tie between the most frequent levels.",
        thresholds_text(entry),
        selection_text(entry),
    )
    data, drawn = _data(frame, entry, vignettes), []
    for level, part in pages:
        title = ": ".join(words for words in (entry.options.title, level) if words)
        titled = replace(entry, options=entry.options.model_copy(update={"title": title}))
        page = _page(part, layout, at, key, scale, len(selected))
        drawn.append(finish(page, titled, data, size, f"{_where(at)} {_counts(part, names)}", *more))
    return replace(drawn[0], further=tuple(page.plot for page in drawn[1:]))


def _data(
    frame: pd.DataFrame, entry: Entry[NormsOptions], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return what is in each part of each cell, with all factors of the dataset in words."""
    rows = []
    for arm, part in frame.groupby("arm", sort=False):
        factors = entry.factors_of[str(arm)].factors
        who = part[["arm", "model", "flow"]]
        words = add_factors(who, vignettes[str(arm)], factors)
        rows.append(words.astype(dict.fromkeys(factors, "str")))
    reasons = frame["status"].map(NORM_LABELS)
    names = ["value", "status", "tie", "shown"]
    shown = pd.concat([pd.concat(rows).loc[frame.index], frame[names]], axis=1)
    return shown.rename(columns={"value": "level"}).assign(reason=reasons)


def _shown(value: pd.Series[Any], scale: Scale) -> pd.Categorical[Any]:
    number = value.to_numpy(dtype=np.float64, na_value=np.nan)
    codes = scale.places(number, missing=len(scale.levels))
    return pd.Categorical.from_codes(codes, categories=pd.Index([*scale.options, NO_NORM]), ordered=True)


def _crowded(
    entry: Entry[NormsOptions], vignettes: pd.DataFrame, flows: pd.Series[int], factors: Sequence[str]
) -> str:
    asked = vignettes[vignettes["flow"].isin(flows)]
    free = [f for f in entry.factors_of[entry.selected[0][0]].factors if f not in factors]
    loose = [f for f in free if len(asked[f].unique()) > 1]
    return (
        f"figures.{entry.name}: several flows fall into one cell; factors {loose} have no place: name them "
        "under rows, columns or pages, or choose one level of each under select"
    )


def _side(frame: pd.DataFrame, factors: Sequence[str]) -> Side:
    levels = [tuple(map(str, frame[f].cat.categories)) for f in factors]
    return Side(levels[0] if len(levels) == 2 else (), levels[-1] if levels else ("",))


def _codes(frame: pd.DataFrame, factors: Sequence[str]) -> tuple[Any, Any]:
    """Return the numbers of the inner level and of the outer block of each row."""
    codes = [frame[f].cat.codes.to_numpy(dtype=np.intp) for f in factors]
    zero = np.zeros(len(frame), dtype=np.intp)
    return (codes[-1] if codes else zero), (codes[0] if len(codes) == 2 else zero)


def _page(
    frame: pd.DataFrame,
    layout: Layout,
    at: Mapping[str, list[str]],
    key: list[list[tuple[int, str]]],
    scale: Scale,
    n: int,
) -> ggplot:
    from plotnine import (
        aes,
        coord_fixed,
        element_text,
        geom_point,
        ggplot,
        guide_legend,
        guides,
        scale_color_identity,
        scale_fill_manual,
        scale_shape_manual,
        scale_x_continuous,
        scale_y_continuous,
        theme,
        theme_void,
    )

    x, y = layout.corner(*_codes(frame, at["rows"]), *_codes(frame, at["columns"]))
    part = frame["part"].to_numpy(dtype=np.intp)
    shapes = corners(x, y, part, n, layout.cell)
    shapes["shown"] = frame["shown"].array[shapes["group"].to_numpy()]
    middle = centres(part, n)
    ties = pd.DataFrame(
        {"x": x + layout.cell[0] * middle[:, 0], "y": y + layout.cell[1] * middle[:, 1], "mark": TIE}
    )
    options = [*scale.options, NO_NORM]
    colours = dict(zip(options, [*level_colours(scale).values(), NO_NORM_COLOUR], strict=True))
    inks = {option: ink_on(colour) for option, colour in colours.items()}
    ties = ties.assign(ink=frame["shown"].astype(str).map(inks).to_numpy())[frame["tie"].to_numpy(dtype=bool)]
    (left, right), (low, high) = _bounds(layout, len(key))
    plot = ggplot(shapes, aes("x", "y")) + geom_cells(aes(group="group", fill="shown"))
    if len(ties):
        mark = min(layout.cell) * 72 * (0.3 if n == 1 else 0.16)
        plot += geom_point(aes(shape="mark", color="ink"), ties, size=mark, stroke=min(0.6, mark / 4))
        plot += scale_shape_manual({TIE: "x"}, name=" ")
        plot += [scale_color_identity(), guides(shape=guide_legend(order=2, override_aes={"color": INK}))]
    plot += [
        *_labels(layout),
        *_key(key, layout, n),
        scale_fill_manual(values=colours, limits=options, drop=False, name=" "),
        guides(fill=guide_legend(nrow=_legend_rows(options, right - left), byrow=True, order=1)),
        scale_x_continuous(limits=(left, right), expand=(0, 0)),
        scale_y_continuous(limits=(low, high), expand=(0, 0)),
        coord_fixed(),
        base_theme(),
        theme_void(base_family="DejaVu Sans"),
        theme(
            plot_margin=0.01,
            legend_position="bottom",
            legend_title=element_text(size=1),
            legend_text=element_text(size=TEXT_SIZE),
            plot_title=element_text(size=12, weight="bold", ha="left"),
            plot_caption=element_text(size=8, color="#444444", ha="left"),
            plot_title_position="plot",
            plot_caption_position="plot",
        ),
    ]
    return plot


def _labels(layout: Layout) -> list[Any]:
    """Return the texts round the cells: levels left and below, blocks right and above."""
    (width, height), (wide, high) = layout.inside, layout.cell
    rows, columns = layout.rows, layout.columns
    inner_rows = [(b, i) for b in range(rows.blocks) for i in range(len(rows.inner))]
    inner_columns = [(b, i) for b in range(columns.blocks) for i in range(len(columns.inner))]
    left = [(-SPACE, height - (rows.start(b, i) + 0.5) * high, layout.row_labels[i]) for b, i in inner_rows]
    below = [((columns.start(b, i) + 0.5) * wide, -SPACE, layout.column_labels[i]) for b, i in inner_columns]
    middle_row, middle_column = len(rows.inner) / 2, len(columns.inner) / 2
    right = [
        (width + SPACE, height - rows.start(b, middle_row) * high, label)
        for b, label in enumerate(layout.row_strips)
    ]
    above = [
        (columns.start(b, middle_column) * wide, height + SPACE, label)
        for b, label in enumerate(layout.column_strips)
    ]
    bold = {"fontweight": "bold"}
    return [
        *_text(left, layout.text, ha="right"),
        *_text(below, layout.text, ha="center", va="top", angle=90),
        *_text(right, layout.row_strip_text, ha="left", angle=270, **bold),
        *_text(above, layout.column_strip_text, ha="center", va="bottom", **bold),
    ]


def _text(
    rows: Sequence[tuple[float, float, str]], size: float, va: str = "center", **looks: Any
) -> list[Any]:
    from plotnine import aes, geom_text

    frame = pd.DataFrame(rows, columns=["x", "y", "label"])
    frame = frame[frame["label"] != ""]
    if frame.empty:
        return []
    return [
        geom_text(
            aes("x", "y", label="label"), frame, size=size, va=va, color=INK, lineheight=LINE - 0.15, **looks
        )
    ]


def _key_lines(names: Sequence[str], layout: Layout) -> list[list[tuple[int, str]]]:
    """Return the parts and their names, as many in a line as the figure's width holds."""
    left, right = _bounds(layout, 0)[0]
    width = right - left
    each = max(width_of(name, TEXT_SIZE) for name in names) + KEY_SHAPE + 0.35
    across = max(1, min(len(names), int(width / each)))
    numbered = list(enumerate(names))
    return [numbered[i : i + across] for i in range(0, len(names), across)]


def _key(key: list[list[tuple[int, str]]], layout: Layout, n: int) -> list[Any]:
    """Return the key above the cells: a cell's outline with one part filled, and whose part it is."""
    from plotnine import aes, geom_polygon

    each = max(width_of(name, TEXT_SIZE) for line in key for _, name in line) + KEY_SHAPE + 0.35
    top = layout.inside[1] + layout.top + KEY_LINE * len(key)
    place = [
        (-layout.left + column * each, top - (row + 1) * KEY_LINE + 0.04, part, name)
        for row, line in enumerate(key)
        for column, (part, name) in enumerate(line)
    ]
    x, y = (np.array([p[i] for p in place], dtype=np.float64) for i in (0, 1))
    part = np.array([p[2] for p in place], dtype=np.intp)
    size = (KEY_SHAPE, KEY_SHAPE)
    outline = corners(x, y, np.zeros(len(place), dtype=np.intp), 1, size)
    filled = corners(x, y, part, n, size)
    beside = KEY_SHAPE + 0.07 if n > 1 else 0
    names = _text(
        [(px + beside, py + KEY_SHAPE / 2, name) for px, py, _, name in place], TEXT_SIZE, ha="left"
    )
    if n == 1:
        return names
    here = aes("x", "y", group="group")
    return [
        geom_polygon(here, outline, fill="white", color="#555555", size=0.35),
        geom_polygon(here, filled, fill="#555555", color="none"),
        *names,
    ]


def _legend_rows(options: Sequence[str], width: float) -> int:
    """Return how many rows the levels and "no norm" need; the mark of ties is next to them."""
    each = max(width_of(option, TEXT_SIZE) for option in options) + 0.4
    total = sum(width_of(option, TEXT_SIZE) + 0.4 for option in options)
    across = max(1, int((width - 0.9) / each))
    return 1 if total + 0.9 <= width else -(-len(options) // across)


def _bounds(layout: Layout, key_lines: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the limits of x and y in inches; a narrow heatmap has room on its right for the legend."""
    width, height = layout.inside
    right = max(width + layout.right, LEAST_WIDTH - 2 * MARGIN - layout.left)
    return (-layout.left, right), (-layout.bottom, height + layout.top + KEY_LINE * key_lines)


def _size(layout: Layout, key_lines: int, options: Sequence[str]) -> tuple[float, float]:
    (left, right), (low, high) = _bounds(layout, key_lines)
    more = 0.22 * (_legend_rows(options, right - left) - 1)
    return right - left + 2 * MARGIN, high - low + 2 * MARGIN + AROUND + more


def _where(at: Mapping[str, list[str]]) -> str:
    """Return which factors the rows and columns show, in words."""

    def side(factors: list[str], outer: str, inner: str) -> str:
        names = [f.replace("_", " ") for f in factors]
        return f"{names[0]} ({outer}), {names[1]} ({inner})" if len(names) == 2 else ", ".join(names)

    rows, columns = side(at["rows"], "right", "left"), side(at["columns"], "top", "bottom")
    return f"Rows: {rows}. Columns: {columns}."


def _counts(frame: pd.DataFrame, names: Sequence[str]) -> str:
    flows = frame["flow"].nunique()
    held = frame["value"].notna().groupby(frame["part"]).sum()
    each = ", ".join(f"{name} {n:,} ({n / flows:.0%})" for name, n in zip(names, held, strict=True))
    return f"n = {flows:,} flows. Norms held: {each}."


def _reasons(frame: pd.DataFrame) -> str:
    """Return how many parts have no norm, by reason."""
    gone = frame.loc[frame["status"] != "kept", "status"].value_counts()
    if gone.empty:
        return "Every flow has a norm."
    reasons = ", ".join(f"{NORM_LABELS[str(s)]} {int(n):,}" for s, n in gone.items())
    everyone = " No model holds any norm here." if len(frame) == gone.sum() else ""
    return f"No norm: {reasons} (of {len(frame):,}).{everyone}"


KINDS = (
    Kind(
        name="norms",
        about="A heatmap of the norms over the factors of a dataset; one, two or four models in a cell.",
        options=NormsOptions,
        function=draw,
        reads="norms",
        also=("vignettes",),
        report_section="answers",
        key=("arm", "model", "flow"),
        columns=(
            *WHO,
            Column("flow", "Number of the flow in its dataset."),
            Column("<factor>", "Level of each factor of the dataset, in words."),
            Column("shown", "What the cell shows: the words of the level, or no norm."),
            Column("level", "Level of the norm on the scale; missing where there is none."),
            Column("status", "kept, or why there is no norm."),
            Column("reason", "The status in words; missing where a norm is kept."),
            Column("tie", "Whether several levels are equally frequent; the cell has a cross."),
        ),
    ),
)
