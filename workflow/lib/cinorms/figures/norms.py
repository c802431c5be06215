"""Kind ``norms``: the norms of one, two or four models as a heatmap over the factors of a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import Frames, add_factors, check_same_scale, stack
from cinorms.core.errors import ConfigError
from cinorms.core.labels import NO_NORM, NORM_LABELS
from cinorms.core.schema import Distinct, LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.entries.place import EntryPlace
from cinorms.figures import theme
from cinorms.figures.colours import INK, NO_NORM_COLOUR, ink_on, level_colours
from cinorms.figures.layout import (
    AROUND,
    SHAPES,
    SPACE,
    LabelAxis,
    Layout,
    centres,
    corners,
    geom_cells,
    lay_out,
)
from cinorms.figures.theme import MARGIN, TEXT_SIZE, FigureOptions, OfOneDataset, check_factor, p9
from cinorms.norms import assessment
from cinorms.vignettes.factors import JOINT, nameable_factors

TIE = "tie"
#: Height of a line of the key and of the shape in it, in inches.
KEY_LINE, KEY_SHAPE = 0.26, 0.19
#: Least width of the figure in inches, so that title and legend have room, and where the entry states a width.
LEAST_WIDTH, NARROW = 7.5, theme.ONE_COLUMN
#: What a cell shows where ``missing: cell`` empties it.
EMPTY = "empty cell"
#: Default places of the parameters of contextual integrity, outer factor first.
ROWS = ("sender", "transmission_principle")
COLUMNS = ("recipient", "information_type")

OneOrTwo = Annotated[Distinct[str], Field(min_length=1, max_length=2)]


class NormsOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the heatmap of norms."""

    arms: Names = Field(description="Arms of one dataset; arms times models make 1, 2 or 4 parts of a cell.")
    models: LeftOut[Names] = None
    """Models, in the order of a cell's parts: above and below the diagonal, or top, right, bottom, left."""
    first: LeftOut[Literal[1, 2, 4]] = None
    """Show at most this many models, the first ones."""
    rows: LeftOut[OneOrTwo] = None
    """One or two factors of the dataset for the rows, outer one first; default: sender, transmission_principle."""
    columns: LeftOut[OneOrTwo] = None
    """One or two factors of the dataset for the columns, outer one first; default: recipient, information_type."""
    pages: LeftOut[str] = None
    """A factor of the dataset: one page for each of its levels (PDF; PNG and SVG show the first)."""
    missing: Literal["part", "cell"] = "part"
    """part: where a model has no norm, its part of the cell is grey; cell: the whole cell is empty where one of the
    models has none, as in PETS Figures 9 and 10; its data say so."""

    @property
    def without(self) -> str:
        """What a cell, or a part of it, shows where there is no norm."""
        return NO_NORM if self.missing == "part" else EMPTY

    def placed(self, factors: Sequence[str]) -> dict[str, list[str]]:
        """Return the factors in ``rows``, ``columns`` and ``pages``, as stated or by default."""
        pages = [self.pages] if self.pages else []
        taken = {*pages, *(self.rows or ()), *(self.columns or ())}
        rows, columns = (
            list(stated or [name for name in usual if name in factors and name not in taken])
            for stated, usual in ((self.rows, ROWS), (self.columns, COLUMNS))
        )
        return {"rows": rows, "columns": columns, "pages": pages}

    def check_options(self, place: EntryPlace) -> None:
        """Count the parts of a cell, and look whether every factor has one place."""
        super().check_options(place)
        parts = len(place.selected(self))
        if parts not in SHAPES:
            raise place.error(
                "models",
                f"a cell would have {parts} parts (models times arms); allowed: "
                f"{', '.join(map(str, SHAPES))}; name the models to show under 'models'",
            )
        arm = self.arms[0]
        dataset = place.study.factors_of(arm)
        for side in ("rows", "columns", "pages"):
            named = getattr(self, side) or ()
            for factor in (named,) if isinstance(named, str) else named:
                check_factor(place, side, arm, factor)
        placed = self.placed(dataset.factors)
        factors = [part for side in placed.values() for factor in side for part in factor.split(JOINT)]
        if twice := [factor for factor in factors if factors.count(factor) > 1]:
            raise place.error("", f"factor {twice[0]!r} has two places; give it one of rows, columns, pages")
        for side in ("rows", "columns"):
            if not placed[side]:
                raise place.error(
                    "", f"key '{side}' is missing; factors: {', '.join(nameable_factors(dataset))}"
                )
        # A factor also has a place where one that it is linked with has one.
        linked = [group for group in dataset.linked if set(group) & set(factors)]
        bound = {*factors, *(factor for group in linked for factor in group)}
        settings = place.study.arms[arm]
        levels = place.study.dataset(settings.dataset).factors
        shown = {**levels, **settings.select, **(self.select or {})}
        if loose := [factor for factor in levels if factor not in bound and len(shown[factor]) > 1]:
            raise place.error(
                "",
                f"factors {', '.join(loose)} have several levels and no place; name them under rows, columns or "
                "pages, or choose one level of each under select",
            )


def cells(selected: Sequence[Selected], entry: Entry[NormsOptions], vignettes: Frames) -> pd.DataFrame:
    """Return one row per flow and model: what is shown there and why.

    Columns: part (place in the key), arm, model, flow, value (missing where there is no norm), status (of
    `assessment.status`), tie (the most frequent levels were tied), shown (the level's words, "no norm" or "empty
    cell"), the factors placed. Raises `ConfigError` where two flows of a model fall into one cell.
    """
    named = entry.factors_of[selected[0].arm].factors
    factors = [factor for side in entry.options.placed(named).values() for factor in side]
    parts, without = [], entry.options.without
    for number, (arm, model, norms) in enumerate(selected):
        scale = entry.scales[arm].binned
        status = assessment.status(norms, entry.thresholds[model]).astype(str)
        value = norms["value"].where(status == "kept")
        codes = scale.places(value.to_numpy(np.float64, na_value=np.nan), missing=len(scale.levels))
        options = pd.Index([*scale.options, without])
        frame = pd.DataFrame({"part": number, "arm": arm, "model": model, "flow": norms["flow"]}).assign(
            value=value,
            status=status,
            tie=norms["tie"] & (norms["n_valid"] > 0),
            shown=pd.Categorical.from_codes(codes, categories=options, ordered=True),
        )
        parts.append(add_factors(frame, vignettes[arm], factors))
        if parts[-1].duplicated(factors).any():
            asked = vignettes[arm][vignettes[arm]["flow"].isin(norms["flow"])]
            loose = [factor for factor in named if factor not in factors and len(asked[factor].unique()) > 1]
            raise ConfigError(
                f"figures.{entry.name}: several flows fall into one cell; factors {loose} have no place: name them "
                "under rows, columns or pages, or choose one level of each under select"
            )
    whole = stack(parts)
    if without == EMPTY:
        held = whole["value"].notna().groupby(whole["flow"]).transform("sum")
        whole["shown"] = whole["shown"].where(held == len(selected), EMPTY)
    levels = {}
    for factor in factors:
        known, there = parts[0][factor].cat.categories, set(whole[factor].astype(str))
        levels[factor] = pd.CategoricalDtype([level for level in known if str(level) in there])
    return whole.astype(levels)


def draw(selected: Sequence[Selected], entry: Entry[NormsOptions], vignettes: Frames) -> theme.Drawn:
    """Return the heatmap: a cell per flow, a part of it per model; a page for each level of ``pages``."""
    frame = cells(selected, entry, vignettes)
    if frame.empty:
        return theme.empty(entry, "no flow has the levels selected.")
    check_same_scale(entry, (one.arm for one in selected))
    placed = entry.options.placed(entry.factors_of[selected[0].arm].factors)
    names, scale = list(theme.by_label(selected)), entry.scales[selected[0].arm].binned
    rows, columns = _axis(frame, placed["rows"]), _axis(frame, placed["columns"])
    layout, width = _laid_out(rows, columns, KEY_LINE * len(names), entry)
    # A narrow heatmap has room on its right for the legend.
    left, right = -layout.left, max(layout.inside[0] + layout.right, width - 2 * MARGIN - layout.left)
    # A line of the key holds as many names as fit, each with its shape and the space after it.
    key_width = max(theme.width_of(name, TEXT_SIZE) for name in names) + KEY_SHAPE + 0.35
    across = max(1, min(len(names), int((right - left) / key_width)))
    key_lines = -(-len(names) // across)
    low, high = -layout.bottom, layout.inside[1] + layout.top + KEY_LINE * key_lines
    options = [*scale.options, *([NO_NORM] if entry.options.missing == "part" else [])]
    # The mark of ties is next to the levels and "no norm".
    widths = [theme.width_of(option, TEXT_SIZE) + 0.4 for option in options]
    most = max(1, int((right - left - 0.9) / max(widths)))
    legend_rows = 1 if sum(widths) + 0.9 <= right - left else -(-len(options) // most)
    colours = dict(zip(options, [*level_colours(scale, entry).values(), NO_NORM_COLOUR], strict=False))
    pages = [("", frame)]
    if placed["pages"]:
        pages = [(str(level), part) for level, part in frame.groupby(placed["pages"][0], observed=True)]
    more = (
        f"All {len(pages)} pages (one per {placed['pages'][0].replace('_', ' ')}): {_counts(frame, names)} "
        "PNG and SVG show the first page."
        if placed["pages"]
        else "",
        f"Each cell is one flow. {_reasons(frame)} {_gaps(frame)} x: a tie between the most frequent levels.",
        theme.thresholds_text(entry),
    )
    size = (right - left + 2 * MARGIN, high - low + 2 * MARGIN + AROUND + 0.22 * (legend_rows - 1))
    data, drawn = _data(frame, entry, vignettes), []
    for level, part in pages:
        title = ": ".join(filter(None, (entry.options.title, level)))
        titled = replace(entry, options=entry.options.model_copy(update={"title": title}))
        plot = _cells(part, layout, placed, len(names), colours)
        plot += [*_labels(layout), *_key(names, layout, across, key_width, high)]
        plot += _look(colours, legend_rows, (left, right), (low, high))
        under = f"{_where(placed)} {_counts(part, names)}"
        drawn.append(theme.finish(plot, titled, data, size, _finding(part, names), under, *more))
    return replace(drawn[0], further=tuple(page.plot for page in drawn[1:]))


def _data(frame: pd.DataFrame, entry: Entry[NormsOptions], vignettes: Frames) -> pd.DataFrame:
    """Return what is in each part of each cell, with all factors of the dataset in words."""
    parts = []
    for arm, part in frame.groupby("arm", sort=False):
        factors = entry.factors_of[str(arm)].factors
        words = add_factors(part[["arm", "model", "flow"]], vignettes[str(arm)], factors)
        parts.append(words.astype(dict.fromkeys(factors, "str")))
    shown = frame[["value", "status", "tie", "shown"]].rename(columns={"value": "level"})
    whole = pd.concat([pd.concat(parts).loc[frame.index], shown], axis=1)
    return whole.assign(reason=frame["status"].map(NORM_LABELS))


def _laid_out(
    rows: LabelAxis, columns: LabelAxis, key_height: float, entry: Entry[NormsOptions]
) -> tuple[Layout, float]:
    """Return the layout and the least width of the figure. Raises ``ConfigError`` where labels would overlap."""
    options, width = entry.options, None
    if options.inches:
        tried = (float(inches) for inches in np.arange(NARROW, 40, 0.2))
        fitting = (inches for inches in tried if lay_out(rows, columns, key_height, (inches, None)).fits)
        width = theme.room(entry, LEAST_WIDTH, next(fitting, 40.0))
    zoom = options.inches / width if options.inches and width else theme.scale_of(entry)
    layout = lay_out(rows, columns, key_height, (width, options.height / zoom if options.height else None))
    if not layout.fits:
        raise ConfigError(
            f"figures.{entry.name}: the labels of {rows.units:.0f} rows and {columns.units:.0f} columns would overlap; "
            "show fewer (select, pages), or a greater height"
        )
    return layout, width or LEAST_WIDTH


def _axis(frame: pd.DataFrame, factors: Sequence[str]) -> LabelAxis:
    levels = [tuple(map(str, frame[f].cat.categories)) for f in factors]
    return LabelAxis(levels[0] if len(levels) == 2 else (), levels[-1])


def _cells(
    frame: pd.DataFrame, layout: Layout, placed: Mapping[str, list[str]], n: int, colours: Mapping[str, str]
) -> "p9.ggplot":
    """Return the parts of the cells, of ``n`` models, and the marks of ties; nothing in empty cells."""
    frame = frame[frame["shown"] != EMPTY]

    places: list[Any] = []
    for factors in (placed["rows"], placed["columns"]):
        codes = [frame[factor].cat.codes.to_numpy(dtype=np.intp) for factor in factors]
        places += [codes[-1], codes[0] if len(codes) == 2 else np.zeros(len(frame), dtype=np.intp)]
    x, y = layout.corner(*places)
    part = frame["part"].to_numpy(dtype=np.intp)
    shapes = corners(x, y, part, n, layout.cell)
    shapes["shown"] = frame["shown"].array[shapes["group"].to_numpy()]
    plot: p9.ggplot = p9.ggplot(shapes, p9.aes("x", "y")) + geom_cells(p9.aes(group="group", fill="shown"))
    middle, inks = centres(part, n), {option: ink_on(colour) for option, colour in colours.items()}
    ties = pd.DataFrame(
        {
            "x": x + layout.cell[0] * middle[:, 0],
            "y": y + layout.cell[1] * middle[:, 1],
            "mark": TIE,
            "ink": frame["shown"].astype(str).map(inks).to_numpy(),
        }
    )[frame["tie"].to_numpy(dtype=bool)]
    if len(ties):
        mark = min(layout.cell) * 72 * (0.3 if n == 1 else 0.16)
        looks = {"size": mark, "stroke": min(0.6, mark / 4)}
        plot += [
            p9.geom_point(p9.aes(shape="mark", color="ink"), ties, **looks),
            p9.scale_shape_manual({TIE: "x"}, name=" "),
            p9.scale_color_identity(),
            p9.guides(shape=p9.guide_legend(order=2, override_aes={"color": INK})),
        ]
    return plot


def _look(
    colours: dict[str, str], legend_rows: int, x: tuple[float, float], y: tuple[float, float]
) -> list[Any]:
    """Return colours and legend, limits in inches, and theme."""
    return [
        p9.scale_fill_manual(values=colours, limits=list(colours), drop=False, name=" "),
        p9.guides(fill=p9.guide_legend(nrow=legend_rows, byrow=True, order=1)),
        p9.scale_x_continuous(limits=x, expand=(0, 0)),
        p9.scale_y_continuous(limits=y, expand=(0, 0)),
        p9.coord_fixed(),
        p9.theme_void(base_family=theme.FONT),
        p9.theme(
            plot_margin=0.01,
            legend_position="bottom",
            legend_title=p9.element_text(size=1),
            legend_text=p9.element_text(size=TEXT_SIZE),
            plot_title=p9.element_text(size=theme.TITLE_SIZE, weight="bold", ha="left"),
            plot_subtitle=p9.element_text(size=TEXT_SIZE, color="#444444", ha="left"),
            plot_caption=p9.element_text(size=theme.NOTE_SIZE, color="#444444", ha="left"),
            text=p9.element_text(color=theme.WORDS),
            # theme_void has no axes, and `text` would bring their words back.
            axis_text=p9.element_blank(),
            axis_title=p9.element_blank(),
            plot_title_position="plot",
            plot_caption_position="plot",
        ),
    ]


def _labels(layout: Layout) -> list[Any]:
    """Return the texts round the cells: levels left and below, blocks right and above."""
    (width, height), (wide, high) = layout.inside, layout.cell
    rows, columns = layout.rows, layout.columns
    left = [
        (-SPACE, height - (rows.start(block, level) + 0.5) * high, label)
        for block in range(rows.blocks)
        for level, label in enumerate(layout.row_labels)
    ]
    below = [
        ((columns.start(block, level) + 0.5) * wide, -SPACE, label)
        for block in range(columns.blocks)
        for level, label in enumerate(layout.column_labels)
    ]
    right = [
        (width + SPACE, height - rows.start(block, len(rows.inner) / 2) * high, label)
        for block, label in enumerate(layout.row_strips)
    ]
    above = [
        (columns.start(block, len(columns.inner) / 2) * wide, height + SPACE, label)
        for block, label in enumerate(layout.column_strips)
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
    frame = pd.DataFrame([row for row in rows if row[2]], columns=["x", "y", "label"])
    looks |= {"size": size, "va": va, "color": theme.WORDS, "lineheight": theme.LINE - 0.15}
    return [] if frame.empty else [p9.geom_text(p9.aes("x", "y", label="label"), frame, **looks)]


def _key(names: Sequence[str], layout: Layout, across: int, width: float, top: float) -> list[Any]:
    """Return the key above the cells: a cell's outline with one part filled, and whose part it is."""
    n = len(names)
    row, column = np.divmod(np.arange(n), across)
    x, y = -layout.left + column * width, top - (row + 1) * KEY_LINE + 0.04
    beside = KEY_SHAPE + 0.07 if n > 1 else 0
    words = _text(list(zip(x + beside, y + KEY_SHAPE / 2, names, strict=True)), TEXT_SIZE, ha="left")
    if n == 1:
        return words
    size, here = (KEY_SHAPE, KEY_SHAPE), p9.aes("x", "y", group="group")
    outline = corners(x, y, np.zeros(n, dtype=np.intp), 1, size)
    return [
        p9.geom_polygon(here, outline, fill="white", color="#555555", size=0.35),
        p9.geom_polygon(here, corners(x, y, np.arange(n), n, size), fill="#555555", color="none"),
        *words,
    ]


def _where(placed: Mapping[str, list[str]]) -> str:
    """Return which factors the rows and columns show, in words."""
    sides = []
    for side, where in (("rows", ("right", "left")), ("columns", ("top", "bottom"))):
        names = [factor.replace("_", " ") for factor in placed[side]]
        if len(names) == 2:
            names = [f"{name} ({place})" for name, place in zip(names, where, strict=True)]
        sides.append(f"{side.capitalize()}: {', '.join(names)}.")
    return " ".join(sides)


def _counts(frame: pd.DataFrame, names: Sequence[str]) -> str:
    flows = frame["flow"].nunique()
    held = frame["value"].notna().groupby(frame["part"]).sum()
    norms = ", ".join(f"{name} {n:,} ({n / flows:.0%})" for name, n in zip(names, held, strict=True))
    return f"n = {flows:,} flows. Norms held: {norms}."


def _finding(frame: pd.DataFrame, names: Sequence[str]) -> str:
    held = frame["value"].notna().groupby(frame["part"]).mean()
    return "Norms held: " + ", ".join(f"{name} {share:.0%}" for name, share in zip(names, held, strict=True))


def _gaps(frame: pd.DataFrame) -> str:
    """Return what the cells show where there is no norm."""
    empty = frame.loc[frame["shown"] == EMPTY, "flow"].nunique()
    if not empty:
        return "Grey: no norm;"
    return f"Empty ({empty:,} cells): at least one of the models has no norm;"


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
        function=draw,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "flow"),
        columns={
            **WHO,
            "flow": "Number of the flow in its dataset.",
            "<factor>": "Level of each factor of the dataset, in words.",
            "shown": "What the cell shows: the words of the level, or no norm.",
            "level": "Level of the norm on the scale; missing where there is none.",
            "status": "kept, or why there is no norm.",
            "reason": "The status in words; missing where a norm is kept.",
            "tie": "Whether several levels are equally frequent; the cell has a cross.",
        },
    ),
)
