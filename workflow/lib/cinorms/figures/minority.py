"""Kind ``minority``: how far the answers outside a norm are from it, and from each other (PETS figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import chosen_each
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures import boxes
from cinorms.figures.options import FigureOptions
from cinorms.figures.theme import Drawn, base_theme, empty, finish, selection_text, thresholds_text
from cinorms.norms import assessment
from cinorms.stats import survivorship

#: The columns of `survivorship.minority` that are shown, and how a panel is called.
PANELS = {
    "deviation": "mean distance from the norm (levels)",
    "variance": "variance of the minority (levels squared)",
}


class MinorityOptions(FigureOptions, OfNorms):
    """Options of the boxes."""

    arms: Names = Field(description="Arms to compare; each has one box.")


def draw(
    selected: Sequence[Selected], entry: Entry[MinorityOptions], vignettes: Mapping[str, pd.DataFrame]
) -> Drawn:
    """Return a box per model in two panels: distance of minority answers from the norm, their variance."""
    from plotnine import facet_wrap, ggplot, labs, theme

    frame = deviations(chosen_each(selected, entry, vignettes), entry)
    if not len(frame) or not frame["n"].any():
        return empty(entry, "no flow with a norm has an answer outside it.")
    rows, groups = list(dict.fromkeys(frame["row"])), list(dict.fromkeys(frame["group"]))
    panels = pd.CategoricalDtype(list(PANELS.values()), ordered=True)
    placed = boxes.place(frame, rows, groups).assign(panel=frame["panel"].map(PANELS).astype(panels))
    plot = ggplot() + base_theme() + labs(x="", y="") + facet_wrap("panel", nrow=1, scales="free_x")
    for layer in boxes.layers(placed, rows, groups):
        plot += layer
    shown = frame[frame["panel"] == "deviation"]
    counts = ", ".join(
        f"{row}{' ' + group if len(groups) > 1 else ''} {n:,} of {kept:,}"
        for row, group, n, kept in zip(shown["row"], shown["group"], shown["n"], shown["kept"], strict=True)
    )
    size = (9.5, 2.2 + boxes.height(len(rows), len(groups)))
    return finish(
        plot + theme(panel_spacing_x=0.04),
        entry,
        frame.rename(columns={"row": "model", "group": "arm", "panel": "measure"}).replace(
            {"measure": PANELS}
        ),
        size,
        f"n = flows with a norm and at least one minority answer: {counts}. {boxes.EXPLAINED}",
        "A minority answer is a valid answer that differs from the flow's norm. Flows without a norm, and flows "
        "whose answers all agree, are left out.",
        thresholds_text(entry),
        selection_text(entry),
    )


def deviations(selected: Sequence[Selected], entry: Entry[MinorityOptions]) -> pd.DataFrame:
    """Return a row per arm, model and panel: row (model), group (arm), panel, kept (flows), n and its box."""
    rows = []
    for one in selected:
        kept = one.frame[assessment.status(one.frame, entry.thresholds[one.model]) == "kept"]
        found = survivorship.minority(kept)
        for panel in PANELS:
            numbers = boxes.summary(found[panel].to_numpy(dtype="float64"))
            rows.append({"row": one.model, "group": one.arm, "panel": panel, "kept": len(kept), **numbers})
    return pd.DataFrame(rows)


KINDS = (
    Kind(
        name="minority",
        about="How far minority answers are from the norm, and their variance.",
        options=MinorityOptions,
        function=draw,
        reads="norms",
        also=("vignettes",),
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "measure"),
        columns=(
            *WHO,
            Column("measure", "Which of the two numbers."),
            Column("kept", "Flows with a norm."),
            *boxes.COLUMNS,
        ),
    ),
)
