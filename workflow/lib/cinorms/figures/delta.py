"""Kind ``delta``: a model's norms or means minus the expected values, per model and by factor (PETS figure 11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.deltas import bias_of_flows
from cinorms.analyses.options import Expects
from cinorms.analyses.shared import Frames, add_factors
from cinorms.core.scales import spoken_of
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names
from cinorms.figures import spread, theme
from cinorms.figures.theme import TEXT_SIZE, FigureOptions, check_factor

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

OVERALL = "all flows"
#: Beyond so many flows in a box their points would cover it.
MOST_POINTS = 300
#: Means have two decimals where the range of the points is no wider than this, else one.
FEW_POINTS = 10
#: What the delta compares with the expected value, as named on the axis and in the caption.
_HELD = {"norms": ("norm", "norm"), "means": ("mean answer", "mean of all valid answers")}


class DeltaFigureOptions(FigureOptions, Expects):
    """Options of the boxes or violins."""

    arms: Names = Field(description="Arms to compare; each has one box.")
    shape: Literal["box", "violin"] = Field(
        "box", description="box: quartiles; violin: quartiles and density."
    )
    by: LeftOut[str] = Field(
        None,
        description="A factor of the dataset: adds a panel for each of its levels next to that for all flows.",
    )

    def check(self, place: EntryPlace) -> None:
        """Look up the factor in the dataset of every arm."""
        super().check(place)
        for arm in self.arms if self.by else ():
            check_factor(place, "by", arm, str(self.by))


def draw(
    selected: Sequence[Selected], entry: Entry[DeltaFigureOptions], vignettes: Frames, expected: Path | None
) -> theme.Drawn:
    """Return a box or violin with points per model, round 0; a panel for each level of the factor ``by``."""
    import plotnine as p9

    options, (held, held_value) = entry.options, _HELD[entry.options.of]
    frame = deltas(selected, entry, vignettes, expected)
    if frame.empty:
        return theme.empty(entry, f"no flow has both a {held} and an expected value.")
    rows = list(dict.fromkeys(one.model for one in selected))
    groups = list(dict.fromkeys(one.arm for one in selected))
    frame = frame.rename(columns={"model": "row", "arm": "group", "delta": "value"})
    panels = list(frame["panel"].cat.categories)
    boxes = _boxes(frame, product(panels, rows, groups))
    titles = [theme.wrap(str(panel), 4.0, TEXT_SIZE, bold=True) for panel in panels]
    frame, titled = (
        part.assign(panel=part["panel"].cat.rename_categories(titles)) for part in (frame, boxes)
    )
    placed = spread.place(titled, rows, groups)
    violins = spread.outlines(frame, placed, ["row", "group", "panel"]) if options.shape == "violin" else None
    # What the deltas of the first arm are counted in.
    points = options.embedding or entry.factors_of[entry.arms[0]].expected_range
    low, *_, high = points or entry.scales[entry.arms[0]].levels
    unit = "points" if points else "levels"
    above = spoken_of(entry.scales.values()).more
    plot = p9.ggplot(placed) + theme.base_theme()
    plot += p9.labs(x=f"{held} minus expected value ({unit}; above 0: {above})", y="")
    plot += spread.layers(placed, rows, groups, zero=True, violins=violins)
    dots = _points(frame, rows, groups)
    if len(dots):
        plot += p9.geom_point(p9.aes("value", "y"), dots, size=1.2, alpha=0.5, color=theme.INK, stroke=0)
    if len(panels) > 1:
        plot += p9.facet_wrap("panel", ncol=2)
    down = -(-len(panels) // 2) if len(panels) > 1 else 1
    size = (9.5 if len(panels) > 1 else 8.5, 1.8 + down * (spread.height(len(rows), len(groups)) + 0.35))
    digits = ".1f" if high - low > FEW_POINTS else ".2f"
    means = ", ".join(
        f"{row}{f' ({group})' if len(groups) > 1 else ''} {mean:+{digits}} (n = {n:,})"
        if n
        else f"{row} none"
        for panel, row, group, mean, n in boxes[["panel", "row", "group", "mean", "n"]].to_numpy()
        if panel == OVERALL
    )
    level = boxes["panel"].astype(str)
    factor = np.where(level == OVERALL, OVERALL, options.by or OVERALL)
    data = boxes.rename(columns={"row": "model", "group": "arm"}).assign(factor=factor, level=level)
    return theme.finish(
        plot,
        entry,
        data[["arm", "model", "factor", "level", *(column.name for column in spread.BOX)]],
        size,
        f"Mean delta and flows: {means}. {spread.VIOLIN_EXPLAINED if violins is not None else spread.EXPLAINED}",
        f"Delta is the {held_value} minus the expected value of the same flow, both in {unit} from {low:g} to "
        f"{high:g}. Flows without a {held} or without an expected value are left out.",
        _needed(entry),
    )


def _needed(entry: Entry[DeltaFigureOptions]) -> str:
    """Return in words how many valid answers a flow needs for what is compared."""
    if entry.options.of == "norms":
        return theme.thresholds_text(entry)
    t_vals = sorted({under.t_val for under in entry.thresholds.values()})
    return f"Means: flows with at least {' or '.join(map(str, t_vals))} valid answers." if any(t_vals) else ""


def _boxes(frame: pd.DataFrame, keys: Iterable[tuple[str, str, str]]) -> pd.DataFrame:
    """Return a box for each panel, row and group, also where it is empty."""
    names = ["panel", "row", "group"]
    values = {key: part.to_numpy() for key, part in frame.groupby(names, observed=True)["value"]}
    boxes = [
        {**dict(zip(names, key, strict=True)), **spread.summary(values.get(key, np.array([])))}
        for key in keys
    ]
    return pd.DataFrame(boxes).astype({"panel": frame["panel"].dtype})


def _points(frame: pd.DataFrame, rows: Sequence[str], groups: Sequence[str]) -> pd.DataFrame:
    """Return the flows of boxes with few of them, spread over the height of their box."""
    n = frame.groupby(["row", "group", "panel"], observed=True)["flow"].transform("size")
    points = spread.place(frame[n <= MOST_POINTS], rows, groups)
    # Between -0.4 and 0.4 per flow, always the same: multiples of the golden ratio.
    jitter = (points["flow"].to_numpy() * 0.618034) % 1 * 0.8 - 0.4
    return points.assign(y=points["y"] + (points["top"] - points["bottom"]) * jitter)


def deltas(
    selected: Sequence[Selected],
    entry: Entry[DeltaFigureOptions],
    vignettes: Frames,
    expected: Path | None = None,
) -> pd.DataFrame:
    """Return one row per flow that has a value and an expected value.

    With ``by`` each flow comes twice, under "all flows" and under its level of that factor.
    """
    table = bias_of_flows(selected, entry, vignettes, expected)
    frame = table.loc[table["delta_status"] == "ok", ["arm", "model", "flow", "delta"]]
    frame = frame.assign(delta=frame["delta"].astype(np.float64))
    parts = [frame.assign(panel=OVERALL)]
    by = entry.options.by
    for arm, part in frame.groupby("arm", sort=False) if by else ():
        levels = add_factors(part, vignettes[str(arm)], [str(by)])[by]
        parts.append(part.assign(panel=levels.astype(str)))
    whole = pd.concat(parts, ignore_index=True)
    return whole.assign(panel=theme.in_order(whole["panel"]))


KINDS = (
    Kind(
        name="delta",
        about="Norm or mean answer minus expected value, per model and by factor.",
        options=DeltaFigureOptions,
        function=draw,
        reads="norms",
        also=("vignettes", "expected"),
        report_section="delta",
        key=("arm", "model", "factor", "level"),
        columns=(
            *WHO,
            Column("factor", "The factor in ``by``, or all flows."),
            Column("level", "Level of the factor, or all flows."),
            *spread.BOX,
        ),
    ),
)
