"""Kind ``distribution``: the share of each answer level and of each invalid status, before any filtering."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
from pydantic import Field

from cinorms.analyses.counts import ANSWER_COUNTS, answer_counts
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfArms
from cinorms.figures.options import FigureOptions
from cinorms.figures.theme import (
    STATUS_COLOURS,
    STATUS_LABELS,
    Drawn,
    base_theme,
    ink_on,
    level_colours,
    note,
)

#: Columns of the figure's data.
COLUMNS = (*ANSWER_COUNTS, Column("segment", "Label of the bar's segment in the legend."))


class DistributionOptions(FigureOptions, OfArms):
    """Options of the stacked bars."""

    arms: Names = Field(description="Arms whose answers are shown, one panel each.")
    models: LeftOut[Names] = Field(
        None, description="Models to show, in this order; default: all models of the arms."
    )


def draw(selected: Sequence[Selected], entry: Entry[DistributionOptions]) -> Drawn:
    """Return one stacked bar per model and arm: unacceptable left, acceptable right, invalid last."""
    from plotnine import (
        aes,
        coord_flip,
        facet_wrap,
        geom_col,
        geom_text,
        ggplot,
        guide_legend,
        guides,
        labs,
        position_stack,
        scale_color_identity,
        scale_fill_manual,
        scale_x_discrete,
        scale_y_continuous,
        theme,
    )

    counts = segments(answer_counts(selected, entry), entry)
    totals = counts.groupby(["arm", "model"], observed=True)["count"].sum()
    models = list(dict.fromkeys(one.model for one in selected))
    arms = list(dict.fromkeys(one.arm for one in selected))
    labels = {model: textwrap.fill(model, 24) for model in models}
    colours = dict(zip(counts["segment"], counts["colour"], strict=True))
    shown = counts[counts["count"] > 0]
    caption = _caption(counts, totals, entry)
    plot = (
        ggplot(shown, aes("model", "share", fill="segment"))
        + geom_col(width=0.72, color="white", size=0.3, position=position_stack(reverse=True))
        + geom_text(aes(y="middle", label="label", color="ink"), size=7.5)
        + scale_color_identity()
        + coord_flip()
        + scale_x_discrete(limits=models[::-1], labels=[labels[m] for m in models[::-1]])
        + scale_y_continuous(
            labels=lambda values: [f"{v:.0%}" for v in values], expand=(0.01, 0), limits=(0, 1.0001)
        )
        + scale_fill_manual(values=colours, limits=list(colours))
        + guides(fill=guide_legend(ncol=5, byrow=True))
        + labs(
            x="",
            y="share of all answers",
            title=entry.options.title,
            caption=note(entry.mark, _numbers(totals)),
        )
        + base_theme()
        + theme(figure_size=_size(entry.options, len(models), len(arms)))
    )
    if len(arms) > 1:
        plot += facet_wrap("arm", ncol=1)
    width, height = _size(entry.options, len(models), len(arms))
    names = [column.name for column in COLUMNS]
    return Drawn(plot, width, height, caption, counts[names])


def segments(counts: pd.DataFrame, entry: Entry[DistributionOptions]) -> pd.DataFrame:
    """Return counts in drawing order with segment, colour, and the label with its place and ink.

    Statuses that no answer has are left out; arms are in the order of ``counts``.
    """
    order = list(dict.fromkeys(counts.loc[counts["status"] == "ok"].sort_values("level")["outcome"]))
    present = counts[(counts["status"] != "ok") & (counts["count"] > 0)]["status"]
    order += [STATUS_LABELS.get(s, s) for s in STATUS_COLOURS if s in set(present)]
    counts = counts[(counts["status"] == "ok") | counts["status"].isin(present)]
    names = [STATUS_LABELS.get(name, name) for name in counts["outcome"]]
    by_arm = {arm: level_colours(scale.binned) for arm, scale in entry.scales.items()}
    colours = [
        STATUS_COLOURS[status] if status != "ok" else by_arm[arm][int(level)]
        for arm, status, level in zip(counts["arm"], counts["status"], counts["level"], strict=True)
    ]
    frame = counts.assign(
        arm=pd.Categorical(counts["arm"], categories=list(dict.fromkeys(counts["arm"]))),
        segment=pd.Categorical(names, categories=order, ordered=True),
        colour=colours,
        share=counts["share"].astype("float64"),
    )
    frame = frame.sort_values("segment", kind="stable")
    bars = frame.groupby(["arm", "model"], sort=False, observed=True)["share"]
    return frame.assign(
        middle=bars.cumsum() - frame["share"] / 2,
        label=[f"{s:.0%}" if s >= 0.04 else "" for s in frame["share"]],
        ink=[ink_on(c) for c in frame["colour"]],
    )


def _size(options: DistributionOptions, models: int, arms: int) -> tuple[float, float]:
    return options.width or 9.0, options.height or 1.9 + arms * (0.3 + 0.42 * models)


def _numbers(totals: pd.Series) -> str:
    low, high = int(totals.min()), int(totals.max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"n = {each} answers per model, {int(totals.sum()):,} in total. Nothing is filtered."


def _caption(counts: pd.DataFrame, totals: pd.Series, entry: Entry[DistributionOptions]) -> str:
    of_model = counts["count"].groupby(counts["model"], sort=False).sum()
    without_level = (
        counts["count"].where(counts["status"] != "ok", 0).groupby(counts["model"], sort=False).sum()
    )
    invalid = (without_level / of_model).dropna()  # over all arms; nothing for a model without answers
    worst = invalid.idxmax() if len(invalid) else ""
    most = f" {worst} gave the most invalid answers: {invalid.max():.1%}." if worst and invalid.max() else ""
    return note(
        entry.mark,
        "Share of each level and of each kind of invalid answer, per model, before any filtering. "
        + _numbers(totals)
        + most,
    )


KINDS = (
    Kind(
        name="distribution",
        about="Stacked shares of the answer levels and of the invalid answers per model, before any filtering.",
        options=DistributionOptions,
        function=draw,
        reads="answers",
        decided="block",
        report_section="answers",
        key=("arm", "model", "outcome"),
        columns=COLUMNS,
    ),
)
