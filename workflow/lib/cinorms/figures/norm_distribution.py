"""Kind ``norm_distribution``: share of norms at each level, and of flows without one (LLM-CI figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import chosen_each
from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfNorms
from cinorms.figures.options import FigureOptions
from cinorms.figures.texts import wrap
from cinorms.figures.theme import (
    NORM_COLOURS,
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

#: Shares below this have no label: it would not fit.
_LABELLED = 0.04


class NormDistributionOptions(FigureOptions, OfNorms):
    """Options of the stacked bars."""

    arms: Names = Field(description="Arms whose norms are shown, one panel each.")


def draw(
    selected: Sequence[Selected], entry: Entry[NormDistributionOptions], vignettes: Mapping[str, pd.DataFrame]
) -> Drawn:
    """Return a stacked bar per model: norms from the lowest level to the highest, then flows without one."""
    from plotnine import (
        aes,
        facet_wrap,
        geom_rect,
        geom_text,
        ggplot,
        guide_legend,
        guides,
        labs,
        scale_color_identity,
        scale_fill_manual,
        scale_x_continuous,
        scale_y_continuous,
    )

    frame = bars(chosen_each(selected, entry, vignettes), entry)
    if frame.empty:
        return empty(entry, "no flow has the levels selected.")
    models = list(dict.fromkeys(frame["model"]))
    panels = list(frame["panel"].cat.categories)
    middle = -pd.Index(models).get_indexer(pd.Index(frame["model"])).astype(float)
    frame = frame.assign(
        bottom=middle - 0.36, top=middle + 0.36, y=middle, x=(frame["start"] + frame["end"]) / 2
    )
    shown, labelled = frame[frame["flows"] > 0], frame[frame["share"] >= _LABELLED]
    colours = dict(zip(frame["segment"], frame["colour"], strict=True))
    segments = [name for name in frame["segment"].cat.categories if name in colours]
    plot = (
        ggplot(shown)
        + geom_rect(
            aes(xmin="start", xmax="end", ymin="bottom", ymax="top", fill="segment"), color="white", size=0.3
        )
        + geom_text(aes("x", "y", label="label", color="ink"), labelled, size=TEXT_SIZE - 1.5)
        + scale_color_identity()
        + scale_fill_manual(values=colours, limits=segments)
        + guides(fill=guide_legend(ncol=5, byrow=True))
        + scale_x_continuous(
            labels=lambda shares: [f"{s:.0%}" for s in shares], limits=(0, 1.0001), expand=(0.01, 0)
        )
        + scale_y_continuous(
            breaks=[-i for i in range(len(models))],
            labels=[wrap(m, 1.7, TEXT_SIZE) for m in models],
            minor_breaks=[],
        )
        + labs(x="share of all flows", y="")
        + base_theme()
    )
    if len(panels) > 1:
        plot += facet_wrap("panel", ncol=1)
    size = (9.0, 2.0 + len(panels) * (0.35 + 0.42 * len(models)))
    flows = frame.groupby("panel", observed=True)["of"].max()
    each = (
        ", ".join(f"{n:,} ({panel})" for panel, n in flows.items())
        if len(panels) > 1
        else f"{flows.iloc[0]:,}"
    )
    return finish(
        plot,
        entry,
        _data(frame),
        size,
        f"n = {each} flows per model. {thresholds_text(entry)}",
        selection_text(entry),
    )


def _data(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the bars under the names that their readers know."""
    named = frame.rename(columns={"panel": "arm", "segment": "outcome"})
    return named[["arm", "model", "outcome", "flows", "of", "share"]]


def bars(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> pd.DataFrame:
    """Return one row per arm, model and segment, in drawing order, with its start and end on the bar."""
    rows: list[dict[str, Any]] = []
    for one in selected:
        scale = entry.scales[one.arm]
        colours = level_colours(scale.binned)
        status = assessment.status(one.frame, entry.thresholds[one.model]).astype(str)
        held = one.frame["value"].where(status == "kept").value_counts()
        gone = status.value_counts()
        counts = [(o, int(held.get(v, 0)), colours[v]) for v, o in scale.binned.labels.items()]
        counts += [(NORM_LABELS[s], int(gone.get(s, 0)), NORM_COLOURS[s]) for s in tables.NORM_STATUSES[1:]]
        end = 0
        for segment, flows, colour in counts if len(one.frame) else []:
            start, end = end, end + flows
            rows.append(
                {
                    "panel": one.arm,
                    "model": one.model,
                    "segment": segment,
                    "flows": flows,
                    "of": len(one.frame),
                }
                | {"start": start / len(one.frame), "end": end / len(one.frame), "colour": colour}
            )
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows)
    share = frame["flows"] / frame["of"]
    levels = [s for s in dict.fromkeys(frame["segment"]) if s not in NORM_LABELS.values()]
    return frame.assign(
        share=share,
        label=[f"{s:.0%}" for s in share],
        ink=[ink_on(c) for c in frame["colour"]],
        panel=pd.Categorical(frame["panel"], categories=list(dict.fromkeys(frame["panel"]))),
        segment=pd.Categorical(frame["segment"], categories=[*levels, *NORM_LABELS.values()], ordered=True),
    )


KINDS = (
    Kind(
        name="norm_distribution",
        about="Stacked shares of the norms at each level and of the flows without a norm, per model.",
        options=NormDistributionOptions,
        function=draw,
        reads="norms",
        also=("vignettes",),
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=(
            *WHO,
            Column("outcome", "The words of the level, or why there is no norm."),
            Column("flows", "Flows with this outcome."),
            Column("of", "All flows of the model in the arm."),
            Column("share", "flows / of."),
        ),
    ),
)
