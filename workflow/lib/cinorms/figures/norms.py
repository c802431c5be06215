"""Kind ``norms``: the norms of one, two or four models as a heatmap over the factors of a dataset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import Frames, add_factors, check_same_scale, stack
from cinorms.core.errors import ConfigError
from cinorms.core.labels import IN_ARM, NO_NORM, NORM_LABELS, model_labels, share
from cinorms.core.scales import spoken_of
from cinorms.core.schema import Distinct, NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Models, Names, OfNorms
from cinorms.entries.place import EntryLocation
from cinorms.figures import theme, titles
from cinorms.figures.cell_parts import MARKS, SHAPES, centres, corners, geom_cells
from cinorms.figures.colours import NO_NORM_COLOUR, ink_on, level_colours
from cinorms.figures.theme import (
    NOTE_SIZE,
    TEXT_SIZE,
    FigureOptions,
    OfOneDataset,
    check_factor,
    p9,
)
from cinorms.norms import assessment
from cinorms.vignettes.factors import JOINT, nameable_factors

TIE = "tie"
#: Usual width of a cell, and most and least width of the labels of rows in inches.
CELL, LABEL, LEAST_LABEL = 0.17, 2.05, 1.1
#: How the names of panels look, of which the first is that of a whole row.
STRIP: dict[str, Any] = {"weight": "bold", "ha": "left", "multialignment": "left"}
#: Space between panels in inches.
SPACE = 0.08
#: Least and most width in inches of a figure whose entry states none: a wider one is small on a screen or page. With
#: more blocks it is as wide as they need.
NARROW, WIDE, MOST_BLOCKS = 6.0, 10.0, 16
#: Greatest height in inches at a width that an entry states, and greatest width.
TALLEST, MOST_WIDE = 20.0, 40.0
#: What a cell shows where ``missing: cell`` empties it.
EMPTY = "empty cell"
#: Default places of the parameters of contextual integrity, outer factor first.
ROWS = ("sender", "transmission_principle")
COLUMNS = ("recipient", "information_type")

OneOrTwo = Annotated[Distinct[str], Field(min_length=1, max_length=2)]


class NormsOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the heatmap of norms."""

    arms: Names = Field(description="Arms of one dataset; arms times models make 1, 2 or 4 parts of a cell.")
    models: NotRequired[Models] = None
    """Models, in the order of a cell's parts: above and below the diagonal, or top, right, bottom, left."""
    first: NotRequired[Literal[1, 2, 4]] = None
    """Show at most this many models, the first ones."""
    rows: NotRequired[OneOrTwo] = None
    """One or two factors of the dataset for the rows, outer one first; default: sender, transmission_principle. Levels
    are in the order of select, or of the dataset."""
    columns: NotRequired[OneOrTwo] = None
    """One or two factors of the dataset for the columns, outer one first; default: recipient, information_type."""
    pages: NotRequired[str] = None
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

    def check_options(self, place: EntryLocation) -> None:
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
        levels = place.study.dataset(settings.dataset).levels
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
    for factor in factors:
        known = (entry.options.select or {}).get(factor) or parts[0][factor].cat.categories
        there = set(whole[factor].astype(str))
        # To pandas, two types are one where only the order of their categories differs: astype would keep it.
        whole[factor] = whole[factor].cat.set_categories([level for level in known if str(level) in there])
    return whole


def draw(selected: Sequence[Selected], entry: Entry[NormsOptions], vignettes: Frames) -> theme.Drawn:
    """Return the heatmap: a cell per flow, a part of it per model; a page for each level of ``pages``."""
    frame = cells(selected, entry, vignettes)
    if frame.empty:
        return theme.empty(entry, "no flow has the levels selected.")
    check_same_scale(entry, (one.arm for one in selected))
    placed = entry.options.placed(entry.factors_of[selected[0].arm].factors)
    names, scale = list(theme.by_label(selected)), entry.scales[selected[0].arm].binned
    grid = _grid(frame, placed, entry)
    options = [*scale.options, *([NO_NORM] if (frame["shown"] == NO_NORM).any() else [])]
    across = theme.key_columns(options, grid.width - grid.left, len(options))
    colours = dict(zip(options, [*level_colours(scale).values(), NO_NORM_COLOUR], strict=False))
    pages = [("", frame)]
    if placed["pages"]:
        pages = [(str(level), part) for level, part in frame.groupby(placed["pages"][0], observed=True)]
    more = (
        f"All {len(pages)} pages (one per {placed['pages'][0].replace('_', ' ')}): {_counts(frame, names)} "
        "PNG and SVG show the first page."
        if placed["pages"]
        else "",
        " ".join(
            filter(
                None,
                [
                    "Each cell is one flow.",
                    _reasons(frame),
                    _gaps(frame),
                    "x: a tie between the most frequent levels.",
                ],
            )
        ),
        theme.thresholds_text(entry),
    )
    data, drawn = _data(frame, entry, vignettes), []
    factors, says = [name for side in placed.values() for name in side], spoken_of(entry.scales.values())
    whose = dict(enumerate(model_labels([one.pair for one in selected], IN_ARM)))
    for level, part in pages:
        title = ": ".join(filter(None, (entry.options.title, level))) or entry.options.title
        titled = replace(entry, options=entry.options.model_copy(update={"title": title}))
        plot = _cells(part, placed, names, colours, grid)
        plot += [*grid.layers(), p9.guides(fill=p9.guide_legend(ncol=across, byrow=True, order=1))]
        under = f"{_where(placed)} {_counts(part, names)}"
        accepted = titles.accepts(part.loc[part["shown"] != EMPTY, "value"], scale)
        seen = titles.by_level(
            accepted, {name: part[name] for name in factors}, part["part"].map(whose), says
        )
        drawn.append(theme.finish(plot, titled, data, (grid.width, grid.height), seen, under, *more))
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


@dataclass(frozen=True)
class Panels:
    """How the cells are laid out: a panel for each two levels of the outer factors, with the inner levels as axes.

    Labels are broken to fit; ``cell`` is the size of a cell and ``left`` the width of the labels of rows in inches.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    panels: Sequence[str]
    across: int
    width: float
    left: float
    cell: tuple[float, float]

    @property
    def height(self) -> float:
        """Height of the figure without its title and notes, in inches."""
        strip = max(theme.height_of(name, TEXT_SIZE) for name in self.panels) + 0.12 if self.panels[0] else 0
        panel = len(self.rows) * self.cell[1] + strip + SPACE
        return -(-len(self.panels) // self.across) * panel + theme.widest(self.columns, NOTE_SIZE) + 0.9

    def layers(self) -> list[Any]:
        """Return the panels with their names, and the axes."""
        n, high = len(self.columns), len(self.rows)
        names: Any = {str(number): name for number, name in enumerate(self.panels)}.__getitem__
        x: dict[str, Any] = {"breaks": list(np.arange(n) + 0.5), "labels": list(self.columns)}
        y: dict[str, Any] = {"breaks": list(-np.arange(high) - 0.5), "labels": list(self.rows)}
        return [
            p9.facet_wrap("panel", ncol=self.across, labeller=names),
            p9.scale_x_continuous(limits=(0, n), expand=(0, 0), **x),
            p9.scale_y_continuous(limits=(-high, 0), expand=(0, 0), **y),
            p9.labs(x="", y=""),
            theme.base_theme(),
            p9.theme(
                panel_grid=p9.element_blank(),
                panel_spacing=SPACE / self.width,
                axis_text=p9.element_text(size=NOTE_SIZE),
                axis_text_x=p9.element_text(rotation=90, va="top", ha="center"),
                legend_box="vertical",
                legend_box_just="left",
                strip_text=p9.element_text(**STRIP) if self.panels[0] else p9.element_blank(),
            ),
        ]


def _grid(frame: pd.DataFrame, placed: Mapping[str, list[str]], entry: Entry[NormsOptions]) -> Panels:
    """Return where the cells are. Raises `ConfigError` where the entry's width has no room for them."""
    levels = {
        side: [list(map(str, frame[name].cat.categories)) for name in placed[side]]
        for side in ("rows", "columns")
    }
    outer = [found[0] if len(found) == 2 else [""] for found in levels.values()]
    columns = [theme.wrap(level, LABEL, NOTE_SIZE) for level in levels["columns"][-1]]
    inches, n = entry.options.inches, len(columns)
    # A cell has room for the lines of its labels.
    wide = max(theme.height_of(label, NOTE_SIZE) for label in columns)
    least, usual = (n * cell + SPACE for cell in (wide, max(CELL, wide)))

    def at(width: float) -> Panels:
        # Half a column is left for the key, which is below the cells.
        beside = min(LABEL, width / 2, width - least - 0.08) if inches else LABEL
        rows = [theme.wrap(level, beside, NOTE_SIZE) for level in levels["rows"][-1]]
        left = theme.widest(rows, NOTE_SIZE) + 0.08
        most = max(1, min(len(outer[1]), int((width - left) / (least if inches else usual) + 1e-9)))
        # Each outer row begins a row of panels, where that leaves few places empty.
        across = next((k for k in range(most, most // 2, -1) if len(outer[1]) % k == 0), most)
        cell = ((width - left) / across - SPACE) / n
        names = _panel_names(outer[0], outer[1], across, n * cell)
        high = max(theme.height_of(label, NOTE_SIZE) for label in rows)
        return Panels(rows, columns, names, across, width, left, (cell, max(high, min(cell, 1.4 * CELL))))

    if inches:
        # With more width, more panels are side by side, and the figure is less high.
        widths = np.arange(max(inches, np.ceil(100 * (least + LEAST_LABEL)) / 100), MOST_WIDE, 0.05)
        fits = next((width for width in widths if at(width).height <= TALLEST), None)
        if fits is None:
            raise ConfigError(
                f"figures.{entry.name}: a map of {len(outer[0]) * len(outer[1])} panels does not fit a page of any "
                "width; show fewer flows (select, pages)"
            )
        return at(theme.room(entry, inches, fits))
    wanted = at(0).left + len(outer[1]) * usual
    return at(min(max(wanted, NARROW), WIDE if len(outer[0]) * len(outer[1]) <= MOST_BLOCKS else wanted))


def _panel_names(rows: Sequence[str], columns: Sequence[str], across: int, inches: float) -> list[str]:
    """Return the names of panels of a width in inches, broken to fit.

    The name of an outer row is above the first panel of each row of panels, and may be as long as that row. It is above
    each panel where outer rows share a row of panels.
    """
    if len(rows) > 1 and len(columns) % across:
        pairs = product(rows, columns)
        return [theme.wrap(": ".join(pair), inches, TEXT_SIZE, bold=True) for pair in pairs]
    heads = [theme.wrap(row, inches * across, TEXT_SIZE, bold=True) for row in rows]
    names = [theme.wrap(column, inches, TEXT_SIZE, bold=True) for column in columns]
    lines = max(name.count("\n") for name in names)
    names = ["\n" * (lines - name.count("\n")) + name for name in names]
    if not any(rows):
        return names
    return [
        (head if number % across == 0 else "\n" * head.count("\n")) + (f"\n{name}" if name.strip() else "")
        for head in heads
        for number, name in enumerate(names)
    ]


def _cells(
    frame: pd.DataFrame,
    placed: Mapping[str, list[str]],
    names: Sequence[str],
    colours: dict[str, str],
    grid: Panels,
) -> "p9.ggplot":
    """Return the parts of the cells, a part for each of the ``names``, and the marks of ties; empty cells have none."""
    frame = frame[frame["shown"] != EMPTY]
    (row_block, row), (block, column) = (
        [frame[name].cat.codes.to_numpy(np.intp) for name in placed[side]][-2:]
        if len(placed[side]) == 2
        else [np.zeros(len(frame), np.intp), frame[placed[side][0]].cat.codes.to_numpy(np.intp)]
        for side in ("rows", "columns")
    )
    x, y = column.astype(np.float64), (-row - 1).astype(np.float64)
    blocks = len(frame[placed["columns"][0]].cat.categories) if len(placed["columns"]) == 2 else 1
    panel, part, n = row_block * blocks + block, frame["part"].to_numpy(dtype=np.intp), len(names)
    shapes = corners(x, y, part, n)
    whose = shapes["group"].to_numpy()
    shapes = shapes.assign(shown=frame["shown"].array[whose], panel=panel[whose])
    plot: p9.ggplot = p9.ggplot(shapes, p9.aes("x", "y")) + geom_cells(p9.aes(group="group", fill="shown"))
    plot += p9.scale_fill_manual(values=colours, limits=list(colours), drop=False)
    middle, inks = centres(part, n), {option: ink_on(colour) for option, colour in colours.items()}
    at = frame.assign(x=x + middle[:, 0], y=y + middle[:, 1], mark=TIE, panel=panel)
    ties = at.assign(ink=frame["shown"].astype(str).map(inks))[frame["tie"].to_numpy(dtype=bool)]
    marks: dict[str, Any] = dict(zip(names, MARKS[n], strict=True)) if n > 1 else {}
    if marks:
        # Whose part of a cell is where, is in the legend only.
        key = pd.DataFrame({"x": 0.5, "y": -0.5, "mark": names, "panel": 0})
        plot += p9.geom_point(p9.aes(shape="mark"), key, alpha=0)
    if len(ties):
        marks[TIE] = "x"
        looks = {"size": 1.6 if n == 1 else 1.1, "stroke": 0.4}
        plot += p9.geom_point(
            p9.aes(shape="mark", color="ink"), ties[["x", "y", "mark", "ink", "panel"]], **looks
        )
        plot += p9.scale_color_identity()
    if marks:
        plot += p9.scale_shape_manual(values=marks, limits=list(marks))
        plot += p9.guides(
            shape=p9.guide_legend(order=2, override_aes={"color": theme.LINES, "alpha": 1, "size": 2.5})
        )
    return plot


def _where(placed: Mapping[str, list[str]]) -> str:
    """Return which factors the rows and columns show, in words."""
    sides = []
    for side, where in (("rows", ("above", "left")), ("columns", ("top", "bottom"))):
        names = [factor.replace("_", " ") for factor in placed[side]]
        if len(names) == 2:
            names = [f"{name} ({place})" for name, place in zip(names, where, strict=True)]
        sides.append(f"{side.capitalize()}: {', '.join(names)}.")
    return " ".join(sides)


def _counts(frame: pd.DataFrame, names: Sequence[str]) -> str:
    flows = frame["flow"].nunique()
    held = frame["value"].notna().groupby(frame["part"]).sum()
    norms = ", ".join(f"{name} {n:,} ({share(n, flows)})" for name, n in zip(names, held, strict=True))
    return f"n = {flows:,} flows. Norms held: {norms}."


def _gaps(frame: pd.DataFrame) -> str:
    """Return what the cells show where there is no norm."""
    empty = frame.loc[frame["shown"] == EMPTY, "flow"].nunique()
    if empty:
        return f"Empty ({empty:,} cells): at least one of the models has no norm;"
    return "Grey: no norm;" if (frame["shown"] == NO_NORM).any() else ""


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
