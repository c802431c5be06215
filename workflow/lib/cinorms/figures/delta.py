"""Kind ``delta``: norms or means less the expected values, by factor (PETS Figure 11)."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.deltas import bias_of_flows
from cinorms.analyses.options import Expects
from cinorms.analyses.shared import Frames, add_factors
from cinorms.core.scales import spoken_of
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names
from cinorms.entries.place import EntryLocation
from cinorms.figures import spread, theme
from cinorms.figures.theme import FigureOptions, check_factor, p9

OVERALL = "all flows"
#: With more flows in a box, their points would cover it.
MOST_POINTS = 300
#: Means have two decimals where the range of the points is no wider than this, else one.
FEW_POINTS = 10
#: What the delta compares with the expected value, as named on the axis and in the caption.
_HELD = {"norms": ("norm", "norm"), "means": ("mean answer", "mean of all valid answers")}


class DeltaFigureOptions(FigureOptions, Expects):
    """Options of the boxes or violins."""

    arms: Names = Field(description="Arms to compare; each has one box.")
    shape: Literal["box", "violin"] = "box"
    """box: quartiles; violin: quartiles and density."""
    by: NotRequired[str] = None
    """A factor of the dataset: adds a panel for each of its levels next to that for all flows."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the factor in the dataset of every arm."""
        super().check_options(place)
        for arm in self.arms if self.by else ():
            check_factor(place, "by", arm, str(self.by))


def draw(
    selected: Sequence[Selected], entry: Entry[DeltaFigureOptions], vignettes: Frames, expected: Path | None
) -> theme.Drawn:
    """Return a box or violin with points per model, round 0; a panel for each level of the factor ``by``."""
    options, (held, held_value) = entry.options, _HELD[entry.options.of]
    frame = deltas(selected, entry, vignettes, expected)
    if frame.empty:
        return theme.empty(entry, f"no flow has both a {held} and an expected value.")
    rows = list(dict.fromkeys(one.model for one in selected))
    groups = list(dict.fromkeys(one.arm for one in selected))
    frame = frame.rename(columns={"model": "row", "arm": "group", "delta": "value"})
    panels = list(frame["panel"].cat.categories)
    values = frame.groupby(["panel", "row", "group"], observed=True)["value"]
    of_box = {key: part.to_numpy() for key, part in values}
    boxes = pd.DataFrame(product(panels, rows, groups), columns=["panel", "row", "group"])
    keys = boxes.itertuples(index=False, name=None)
    numbers = [spread.summary(of_box.get(key, np.array([]))) for key in keys]
    boxes = boxes.astype({"panel": frame["panel"].dtype}).join(pd.DataFrame(numbers))
    width = theme.room(entry, 8.4 if len(panels) > 1 else 7.5, theme.ONE_COLUMN)
    across = 2 if len(panels) > 1 and width >= 6 else 1
    # What the deltas of the first arm are counted in.
    levels = entry.scales[entry.arms[0]].levels
    points = entry.factors_of[entry.arms[0]].expected_range
    low, high = (points or levels)[0], (points or levels)[-1]
    unit = "points" if points else "levels"
    violins = frame if options.shape == "violin" else None
    y = f"{held} minus expected value ({unit}; above 0: {spoken_of(entry.scales.values()).more})"
    plot = p9.ggplot() + p9.geom_hline(yintercept=0, color=theme.LINES, size=0.5) + p9.labs(x="", y=y)
    plot += spread.layers(boxes, entry, width, violins)
    if boxes["n"].max() <= MOST_POINTS:
        jitter = p9.position_jitterdodge(jitter_width=0.5, dodge_width=spread.FILLED, random_state=1)
        dots = {"shape": ".", "size": 2.2, "alpha": 0.5, "color": theme.LINES, "position": jitter}
        plot += p9.geom_point(p9.aes("row", "value", fill="group"), frame, show_legend=False, **dots)
    if len(panels) > 1:
        plot += theme.panels("panel", across, (width - 1.3) / across)
    down = -(-len(panels) // across)
    size = (width, 0.9 + down * (spread.height(boxes) + 0.35))
    return theme.finish(
        plot,
        entry,
        _data(boxes, options.by),
        size,
        _furthest(boxes, held, unit),
        f"{_means(boxes, len(groups) > 1, high - low)} "
        f"{spread.EXPLAINED if violins is None else spread.VIOLIN_EXPLAINED}",
        f"Delta is the {held_value} minus the expected value of the same flow, both in {unit} from {low:g} to "
        f"{high:g}. Flows without a {held} or without an expected value are left out.",
        theme.thresholds_text(entry) if options.of == "norms" else _enough(entry),
    )


def _enough(entry: Entry[DeltaFigureOptions]) -> str:
    """Return how many valid answers the means need, in words; nothing where they need none."""
    t_vals = sorted({under.t_val for under in entry.thresholds.values()})
    return f"Means: flows with at least {' or '.join(map(str, t_vals))} valid answers." if any(t_vals) else ""


def _data(boxes: pd.DataFrame, by: str | None) -> pd.DataFrame:
    """Return the boxes under the names that their readers know."""
    level = boxes["panel"].astype(str)
    factor = np.where(level == OVERALL, OVERALL, by or OVERALL)
    named = boxes.rename(columns={"row": "model", "group": "arm"}).assign(factor=factor, level=level)
    return named[["arm", "model", "factor", "level", *spread.BOX]]


def _means(boxes: pd.DataFrame, arms: bool, span: float) -> str:
    """Return the mean of each box over all flows, in words; with its arm where there are several."""
    digits = ".1f" if span > FEW_POINTS else ".2f"
    whole = boxes.loc[boxes["panel"] == OVERALL, ["row", "group", "mean", "n"]]
    means = (
        f"{row}{f' ({group})' if arms else ''} {mean:+{digits}} (n = {n:,})" if n else f"{row} none"
        for row, group, mean, n in whole.itertuples(index=False)
    )
    return f"Mean delta and flows: {', '.join(means)}."


def _furthest(boxes: pd.DataFrame, held: str, unit: str) -> str:
    """Return which model is furthest from the expected values on average."""
    whole = boxes[(boxes["panel"] == OVERALL) & boxes["mean"].notna()]
    far = whole.sort_values("mean", key=abs).iloc[-1]
    side = "above" if far["mean"] > 0 else "below"
    return f"On average, the {held} of {far['row']} is {abs(far['mean']):.3g} {unit} {side} what is expected"


def deltas(
    selected: Sequence[Selected],
    entry: Entry[DeltaFigureOptions],
    vignettes: Frames,
    expected: Path | None = None,
) -> pd.DataFrame:
    """Return one row per flow that has a value and an expected value.

    With ``by`` each flow comes twice, under "all flows" and under its level of that factor.
    """
    table = bias_of_flows(selected, entry, vignettes=vignettes, expected=expected)
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
        function=draw,
        reads="norms",
        report_section="delta",
        key=("arm", "model", "factor", "level"),
        columns={
            **WHO,
            "factor": "The factor in ``by``, or all flows.",
            "level": "Level of the factor, or all flows.",
            **spread.BOX,
        },
    ),
)
