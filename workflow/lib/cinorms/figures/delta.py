"""Kind ``delta``: a model's norms or means minus the expected values, per model and by factor (PETS figure 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.deltas import bias_of_flows
from cinorms.analyses.factors import add_factors
from cinorms.analyses.options import Expects
from cinorms.core.scales import spoken_of
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names
from cinorms.figures import boxes
from cinorms.figures.options import FigureOptions, check_factor
from cinorms.figures.texts import wrap
from cinorms.figures.theme import (
    INK,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
    selection_text,
    thresholds_text,
)

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

OVERALL = "all flows"
#: Beyond so many flows in a box their points would cover it.
MOST_POINTS = 300
#: Means have two decimals where the range of the points is no wider than this, else one.
FEW_POINTS = 10
#: What the delta compares with the expected value, as named on the axis and in the caption.
_HELD = {"norms": ("norm", "norm"), "means": ("mean answer", "mean of all valid answers")}


class DeltaOptions(FigureOptions, Expects):
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
    selected: Sequence[Selected],
    entry: Entry[DeltaOptions],
    vignettes: Mapping[str, pd.DataFrame],
    expected: Path | None,
) -> Drawn:
    """Return a box or violin with points per model, round 0; a panel for each level of the factor ``by``."""
    from plotnine import aes, facet_wrap, geom_point, ggplot, labs

    frame = deltas(selected, entry, vignettes, expected)
    if frame.empty:
        return empty(entry, f"no flow has both a {_HELD[entry.options.of][0]} and an expected value.")
    rows = list(dict.fromkeys(one.model for one in selected))
    groups = list(dict.fromkeys(one.arm for one in selected))
    frame = frame.rename(columns={"model": "row", "arm": "group", "delta": "value"})
    data = _shown(_boxes(frame, rows, groups), entry)
    panels = list(frame["panel"].cat.categories)
    titles = {panel: wrap(str(panel), 4.0, TEXT_SIZE, bold=True) for panel in panels}
    frame = frame.assign(panel=frame["panel"].cat.rename_categories(titles))
    placed = boxes.place(_boxes(frame, rows, groups), rows, groups)
    violins = (
        boxes.outlines(frame, placed, ["row", "group", "panel"]) if entry.options.shape == "violin" else None
    )
    unit = _unit(entry)
    above = spoken_of(entry.scales.values()).more
    axis = f"{_HELD[entry.options.of][0]} minus expected value ({unit.split()[0]}; above 0: {above})"
    plot = ggplot(placed) + base_theme() + labs(x=axis, y="")
    for layer in boxes.layers(placed, rows, groups, zero=True, violins=violins):
        plot += layer
    points = _points(frame, rows, groups)
    if len(points):
        plot += geom_point(aes("value", "y"), points, size=1.2, alpha=0.5, color=INK, stroke=0)
    if len(panels) > 1:
        plot += facet_wrap("panel", ncol=2)
    down = -(-len(panels) // 2) if len(panels) > 1 else 1
    size = (9.5 if len(panels) > 1 else 8.5, 1.8 + down * (boxes.height(len(rows), len(groups)) + 0.35))
    return finish(plot, entry, data, size, _said(placed, entry, len(groups) > 1), *_more(entry, unit))


def _shown(found: pd.DataFrame, entry: Entry[DeltaOptions]) -> pd.DataFrame:
    """Return the boxes under the names that their readers know."""
    level = found["panel"].astype(str)
    factor = np.where(level == OVERALL, OVERALL, entry.options.by or OVERALL)
    named = found.rename(columns={"row": "model", "group": "arm", "panel": "level"})
    names = ["arm", "model", "factor", "level", *(column.name for column in boxes.COLUMNS)]
    return named.assign(factor=factor, level=level)[names]


def _range(entry: Entry[DeltaOptions]) -> tuple[float, float] | None:
    """Return the range of the points that the deltas of the first arm are counted in; None: of levels."""
    points = entry.options.embedding
    return (points[0], points[-1]) if points else entry.factors_of[entry.arms[0]].expected_range


def _ends(entry: Entry[DeltaOptions]) -> tuple[float, float]:
    levels = entry.scales[entry.arms[0]].levels
    return levels[0], levels[-1]


def _unit(entry: Entry[DeltaOptions]) -> str:
    """Return what the deltas of the first arm are counted in."""
    between = _range(entry)
    low, high = between or _ends(entry)
    return f"{'points' if between else 'levels'} from {low:g} to {high:g}"


def _said(placed: pd.DataFrame, entry: Entry[DeltaOptions], arms: bool) -> str:
    whole = placed[placed["panel"] == placed["panel"].cat.categories[0]]
    low, high = _range(entry) or _ends(entry)
    digits = ".1f" if high - low > FEW_POINTS else ".2f"
    means = ", ".join(
        f"{row}{f' ({group})' if arms else ''} {mean:+{digits}} (n = {n:,})" if n else f"{row} none"
        for row, group, mean, n in whole[["row", "group", "mean", "n"]].itertuples(index=False)
    )
    shape = boxes.VIOLIN_EXPLAINED if entry.options.shape == "violin" else boxes.EXPLAINED
    return f"Mean delta and flows: {means}. {shape}"


def _more(entry: Entry[DeltaOptions], unit: str) -> tuple[str, ...]:
    what = _HELD[entry.options.of][1]
    t_vals = sorted({under.t_val for under in entry.thresholds.values()})
    enough = (
        f"Means: flows with at least {' or '.join(map(str, t_vals))} valid answers." if any(t_vals) else ""
    )
    return (
        f"Delta is the {what} minus the expected value of the same flow, both in {unit}. Flows without a "
        f"{_HELD[entry.options.of][0]} or without an expected value are left out.",
        thresholds_text(entry) if entry.options.of == "norms" else enough,
        selection_text(entry),
    )


def deltas(
    selected: Sequence[Selected],
    entry: Entry[DeltaOptions],
    vignettes: Mapping[str, pd.DataFrame],
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
    order = list(dict.fromkeys([OVERALL, *whole["panel"]]))
    return whole.assign(panel=pd.Categorical(whole["panel"], categories=order, ordered=True))


def _points(frame: pd.DataFrame, rows: Sequence[str], groups: Sequence[str]) -> pd.DataFrame:
    """Return the flows of boxes with few of them, spread over the height of their box."""
    n = frame.groupby(["row", "group", "panel"], observed=True)["flow"].transform("size")
    points = boxes.place(frame[n <= MOST_POINTS], rows, groups)
    return points.assign(y=points["y"] + (points["top"] - points["bottom"]) * _jitter(points["flow"]))


def _boxes(frame: pd.DataFrame, rows: Sequence[str], groups: Sequence[str]) -> pd.DataFrame:
    found = []
    for panel in frame["panel"].cat.categories:
        for row in rows:
            for group in groups:
                here = (frame["panel"] == panel) & (frame["row"] == row) & (frame["group"] == group)
                numbers = boxes.summary(frame.loc[here, "value"].to_numpy())
                found.append({"panel": panel, "row": row, "group": group, **numbers})
    return pd.DataFrame(found).astype({"panel": frame["panel"].dtype})


def _jitter(flows: pd.Series[int]) -> np.ndarray[Any, Any]:
    """Return a shift between -0.4 and 0.4 per flow, always the same: multiples of the golden ratio."""
    return np.asarray((flows.to_numpy() * 0.618034) % 1 * 0.8 - 0.4)


KINDS = (
    Kind(
        name="delta",
        about="Norm or mean answer minus expected value, per model and by factor.",
        options=DeltaOptions,
        function=draw,
        reads="norms",
        also=("vignettes", "expected"),
        report_section="delta",
        key=("arm", "model", "factor", "level"),
        columns=(
            *WHO,
            Column("factor", "The factor in ``by``, or all flows."),
            Column("level", "Level of the factor, or all flows."),
            *boxes.COLUMNS,
        ),
    ),
)
