"""Kinds ``distribution`` and ``norm_distribution``: stacked shares of answers and of norms, and what has no level."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.counts import ANSWER_COUNTS, answer_counts
from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfArms, OfNorms
from cinorms.figures import theme
from cinorms.figures.theme import STATUS_COLOURS, STATUS_LABELS, TEXT_SIZE, FigureOptions
from cinorms.norms import assessment

#: Columns of the data of a figure of answers.
COLUMNS = {**ANSWER_COUNTS, "segment": "Label of the bar's segment in the legend."}
#: Shares below this have no label: it would not fit.
_LABELLED = 0.04


class DistributionOptions(FigureOptions, OfArms):
    """Options of the stacked bars of answers."""

    arms: Names = Field(description="Arms whose answers are shown, one panel each.")
    models: LeftOut[Names] = Field(
        None, description="Models to show, in this order; default: all models of the arms."
    )


class NormDistributionOptions(FigureOptions, OfNorms):
    """Options of the stacked bars of norms."""

    arms: Names = Field(description="Arms whose norms are shown, one panel each.")


def draw(selected: Sequence[Selected], entry: Entry[DistributionOptions]) -> theme.Drawn:
    """Return one stacked bar per model and arm: unacceptable left, acceptable right, invalid last."""
    import plotnine as p9

    counts = segments(answer_counts(selected, entry), entry)
    totals = counts.groupby(["arm", "model"], observed=True)["count"].sum()
    models = list(dict.fromkeys(one.model for one in selected))[::-1]
    arms = list(dict.fromkeys(one.arm for one in selected))
    colours = dict(zip(counts["segment"], counts["colour"], strict=True))
    under = (
        f"n = {theme.span(totals)} answers per model, {int(totals.sum()):,} in total. Nothing is filtered."
    )
    plot = (
        p9.ggplot(counts[counts["count"] > 0], p9.aes("model", "share", fill="segment"))
        + p9.geom_col(width=0.72, color="white", size=0.3, position=p9.position_stack(reverse=True))
        + p9.geom_text(p9.aes(y="middle", label="label", color="ink"), size=7.5)
        + p9.scale_color_identity()
        + p9.coord_flip()
        + p9.scale_x_discrete(limits=models, labels=[textwrap.fill(model, 24) for model in models])
        + p9.scale_y_continuous(labels=theme.percents, expand=(0.01, 0), limits=(0, 1.0001))
        + p9.scale_fill_manual(values=colours, limits=list(colours))
        + p9.guides(fill=p9.guide_legend(ncol=5, byrow=True))
        + p9.labs(x="", y="share of all answers")
        + theme.base_theme()
    )
    if len(arms) > 1:
        plot += p9.facet_wrap("arm", ncol=1)
    data = counts[list(COLUMNS)]
    drawn = theme.finish(plot, entry, data, (9.0, 1.9 + len(arms) * (0.3 + 0.42 * len(models))), under)
    text = f"Share of each level and of each kind of invalid answer, per model, before any filtering. {under}"
    invalid = counts.assign(count=counts["count"].where(counts["status"] != "ok", 0))
    n_invalid, n = (table.groupby("model", sort=False)["count"].sum() for table in (invalid, counts))
    share = (n_invalid / n).dropna()  # over all arms
    if share.any():
        text += f" {share.idxmax()} gave the most invalid answers: {share.max():.1%}."
    return replace(drawn, caption="\n".join(filter(None, (text, entry.mark))))


def segments(counts: pd.DataFrame, entry: Entry[DistributionOptions]) -> pd.DataFrame:
    """Return counts in drawing order with segment, colour, and the label with its place and ink.

    Statuses that no answer has are left out; arms are in the order of ``counts``.
    """
    order = list(dict.fromkeys(counts.loc[counts["status"] == "ok"].sort_values("level")["outcome"]))
    present = counts[(counts["status"] != "ok") & (counts["count"] > 0)]["status"]
    order += [STATUS_LABELS.get(status, status) for status in STATUS_COLOURS if status in set(present)]
    counts = counts[(counts["status"] == "ok") | counts["status"].isin(present)]
    # What answers without a rating say is told apart in the data only.
    names = [
        outcome if status == "ok" else STATUS_LABELS.get(status, status)
        for outcome, status in zip(counts["outcome"], counts["status"], strict=True)
    ]
    by_arm = {arm: theme.level_colours(scale.binned) for arm, scale in entry.scales.items()}
    frame = counts.assign(
        arm=theme.in_order(counts["arm"]),
        segment=theme.in_order(names, order),
        colour=[
            STATUS_COLOURS[status] if status != "ok" else by_arm[arm][int(level)]
            for arm, status, level in zip(counts["arm"], counts["status"], counts["level"], strict=True)
        ],
        share=counts["share"].astype("float64"),
    ).sort_values("segment", kind="stable")
    bars = frame.groupby(["arm", "model"], sort=False, observed=True)["share"]
    return frame.assign(
        middle=bars.cumsum() - frame["share"] / 2,
        label=[f"{share:.0%}" if share >= _LABELLED else "" for share in frame["share"]],
        ink=[theme.ink_on(colour) for colour in frame["colour"]],
    )


def draw_norms(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> theme.Drawn:
    """Return a stacked bar per model: norms from the lowest level to the highest, then flows without one."""
    import plotnine as p9

    frame = bars(selected, entry)
    if frame.empty:
        return theme.empty(entry, "no flow has the levels selected.")
    models = list(dict.fromkeys(frame["model"]))
    panels = list(frame["panel"].cat.categories)
    y = -pd.Index(models).get_indexer(pd.Index(frame["model"])).astype(float)
    frame = frame.assign(y=y, bottom=y - 0.36, top=y + 0.36, x=(frame["start"] + frame["end"]) / 2)
    colours, order = (
        dict(zip(frame["segment"], frame["colour"], strict=True)),
        frame["segment"].cat.categories,
    )
    rectangle = p9.aes(xmin="start", xmax="end", ymin="bottom", ymax="top", fill="segment")
    labelled, label = frame[frame["share"] >= _LABELLED], p9.aes("x", "y", label="label", color="ink")
    plot = (
        p9.ggplot(frame[frame["flows"] > 0])
        + p9.geom_rect(rectangle, color="white", size=0.3)
        + p9.geom_text(label, labelled, size=TEXT_SIZE - 1.5)
        + p9.scale_color_identity()
        + p9.scale_fill_manual(values=colours, limits=[name for name in order if name in colours])
        + p9.guides(fill=p9.guide_legend(ncol=5, byrow=True))
        + p9.scale_x_continuous(labels=theme.percents, limits=(0, 1.0001), expand=(0.01, 0))
        + p9.scale_y_continuous(
            breaks=[-i for i in range(len(models))],
            labels=[theme.wrap(model, 1.7, TEXT_SIZE) for model in models],
            minor_breaks=[],
        )
        + p9.labs(x="share of all flows", y="")
        + theme.base_theme()
    )
    n = f"{frame['of'].max():,}"
    if len(panels) > 1:
        plot += p9.facet_wrap("panel", ncol=1)
        flows = frame.groupby("panel", observed=True)["of"].max()
        n = ", ".join(f"{count:,} ({panel})" for panel, count in flows.items())
    size = (9.0, 2.0 + len(panels) * (0.35 + 0.42 * len(models)))
    shown = frame[["panel", "model", "segment", "flows", "of", "share"]]
    data = shown.rename(columns={"panel": "arm", "segment": "outcome"})
    return theme.finish(plot, entry, data, size, f"n = {n} flows per model. {theme.thresholds_text(entry)}")


def bars(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> pd.DataFrame:
    """Return one row per arm, model and segment, in drawing order, with its start and end on the bar."""
    rows: list[dict[str, Any]] = []
    for arm, model, norms in selected:
        scale, of = entry.scales[arm].binned, len(norms)
        colours = theme.level_colours(scale)
        status = assessment.status(norms, entry.thresholds[model]).astype(str)
        held = norms["value"].where(status == "kept")
        counts = [
            (words, int((held == level).sum()), colours[level]) for level, words in scale.labels.items()
        ]
        counts += [
            (NORM_LABELS[reason], int((status == reason).sum()), theme.NORM_COLOURS[reason])
            for reason in tables.NORM_STATUSES[1:]
        ]
        end = 0
        for segment, flows, colour in counts if of else []:
            start, end = end, end + flows
            row = {"panel": arm, "model": model, "segment": segment, "flows": flows, "of": of}
            rows.append(row | {"start": start / of, "end": end / of, "colour": colour})
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    share = frame["flows"] / frame["of"]
    levels = [s for s in dict.fromkeys(frame["segment"]) if s not in NORM_LABELS.values()]
    return frame.assign(
        share=share,
        label=theme.percents(share),
        ink=[theme.ink_on(colour) for colour in frame["colour"]],
        panel=theme.in_order(frame["panel"]),
        segment=theme.in_order(frame["segment"], [*levels, *NORM_LABELS.values()]),
    )


KINDS = (
    Kind(
        name="distribution",
        about="Stacked shares of the answer levels and of the invalid answers per model, before any filtering.",
        function=draw,
        reads="answers",
        decided="block",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=COLUMNS,
    ),
    Kind(
        name="norm_distribution",
        about="Stacked shares of the norms at each level and of the flows without a norm, per model.",
        function=draw_norms,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns={
            **WHO,
            "outcome": "The words of the level, or why there is no norm.",
            "flows": "Flows with this outcome.",
            "of": "All flows of the model in the arm.",
            "share": "flows / of.",
        },
    ),
)
