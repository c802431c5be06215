"""Kind ``delta``: a model's norms less the expected values, per model and by factor (PETS figure 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.factors import add_factors
from cinorms.analyses.shared import chosen, held
from cinorms.expected import from_vignettes
from cinorms.figures import boxes
from cinorms.figures.texts import wrap
from cinorms.figures.theme import (
    INK,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
    selection_said,
    thresholds_said,
)
from cinorms.kinds import Selected

OVERALL = "all flows"
#: Beyond so many flows in a box their points would cover it.
MOST_POINTS = 300


def draw(selected: Sequence[Selected], entry: dict[str, Any], vignettes: Mapping[str, pd.DataFrame]) -> Drawn:
    """Return a box with points per model, below or above 0; a panel for each level of the factor ``by``."""
    from plotnine import aes, facet_wrap, geom_point, ggplot, labs

    frame = deltas(selected, entry, vignettes)
    if frame.empty:
        return empty(entry, "no flow has both a norm and an expected value.")
    rows, groups = (
        list(dict.fromkeys(one.model for one in selected)),
        list(dict.fromkeys(one.arm for one in selected)),
    )
    panels = list(dict.fromkeys(frame["panel"].sort_values()))
    found = boxes.place(_boxes(frame, rows, groups, panels), rows, groups)
    titles = {panel: wrap(str(panel), 4.0, TEXT_SIZE, bold=True) for panel in panels}
    kind = pd.CategoricalDtype(list(titles.values()), ordered=True)
    points = boxes.place(frame.rename(columns={"model": "row", "arm": "group"}), rows, groups)
    points = points[
        points.groupby(["row", "group", "panel"], observed=True)["flow"].transform("size") <= MOST_POINTS
    ]
    points = points.assign(y=points["y"] + (points["top"] - points["bottom"]) * _jitter(points["flow"]))
    plot = (
        ggplot()
        + base_theme()
        + labs(x="norm less expected value (levels; above 0: more acceptable than expected)", y="")
    )
    for layer in boxes.layers(
        found.assign(panel=found["panel"].map(titles).astype(kind)), rows, groups, zero=True
    ):
        plot = plot + layer
    if len(points):
        points = points.assign(panel=points["panel"].map(titles).astype(kind))
        plot = plot + geom_point(aes("delta", "y"), points, size=0.9, alpha=0.45, color=INK, stroke=0)
    if len(panels) > 1:
        plot = plot + facet_wrap("panel", ncol=2)
    down = -(-len(panels) // 2) if len(panels) > 1 else 1
    size = (9.5 if len(panels) > 1 else 8.5, 1.8 + down * (boxes.height(len(rows), len(groups)) + 0.35))
    whole = found[found["panel"] == OVERALL]
    means = ", ".join(
        f"{r} {m:+.2f} (n = {n:,})" for r, m, n in zip(whole["row"], whole["mean"], whole["n"], strict=True)
    )
    return finish(
        plot,
        entry,
        size,
        f"Mean delta and flows: {means}. {boxes.EXPLAINED}",
        "Delta is the norm less the expected value of the same flow, both on the scale from -2 to 2. Flows "
        "without a norm or without an expected value are left out.",
        thresholds_said(entry),
        selection_said(entry),
    )


def deltas(
    selected: Sequence[Selected], entry: Mapping[str, Any], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one row per flow that has a norm and an expected value: arm, model, flow, delta, panel.

    With ``by`` each flow comes twice, under "all flows" and under its level of that factor.
    """
    parts = []
    for one in selected:
        norms = held(chosen(one.frame, entry, vignettes[one.arm]), entry, one.model)
        expects = from_vignettes(vignettes[one.arm], entry["design"][one.arm]["expected_range"])
        expected = expects.set_index("flow")["expected"].reindex(norms["flow"]).to_numpy(dtype=np.float64)
        frame = pd.DataFrame({"arm": one.arm, "model": one.model, "flow": norms["flow"]})
        frame["delta"] = norms["value"].to_numpy(dtype=np.float64, na_value=np.nan) - expected
        frame = frame[frame["delta"].notna()]
        parts.append(frame.assign(panel=OVERALL))
        if "by" in entry:
            levels = add_factors(frame, vignettes[one.arm], [entry["by"]])[entry["by"]]
            parts.append(frame.assign(panel=levels.astype(str)))
    whole = pd.concat(parts, ignore_index=True)
    panels = list(dict.fromkeys(whole["panel"]))
    order = [OVERALL, *(panel for panel in panels if panel != OVERALL)]
    return whole.assign(panel=pd.Categorical(whole["panel"], categories=order, ordered=True))


def _boxes(
    frame: pd.DataFrame, rows: Sequence[str], groups: Sequence[str], panels: Sequence[str]
) -> pd.DataFrame:
    found = []
    for panel in panels:
        for row in rows:
            for group in groups:
                here = (frame["panel"] == panel) & (frame["model"] == row) & (frame["arm"] == group)
                numbers = boxes.summary(frame.loc[here, "delta"].to_numpy())
                found.append({"panel": panel, "row": row, "group": group, **numbers})
    return pd.DataFrame(found)


def _jitter(flows: pd.Series[int]) -> np.ndarray[Any, Any]:
    """Return a shift between -0.4 and 0.4 per flow, always the same: multiples of the golden ratio."""
    return np.asarray((flows.to_numpy() * 0.618034) % 1 * 0.8 - 0.4)
