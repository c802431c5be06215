"""Kinds ``distribution`` and ``norm_distribution``: stacked shares of answers and of norms, and what has no level."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.counts import ANSWER_COUNTS, answer_counts
from cinorms.core import tables
from cinorms.core.labels import NORM_LABELS, NOT_COMPARABLE, STATUS_LABELS
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfArms, OfNorms
from cinorms.figures import theme
from cinorms.figures.colours import (
    INVALID_COLOUR,
    NORM_COLOURS,
    STATUS_COLOURS,
    ink_on,
    level_colours,
)
from cinorms.figures.theme import NOTE_SIZE, TEXT_SIZE, WORDS, FigureOptions, p9
from cinorms.norms import assessment

#: Columns of the data of a figure of answers.
COLUMNS = {**ANSWER_COUNTS, "segment": "Label of the bar's segment in the legend."}
#: The panels of a figure of answers, and the segment of all that have no level.
ALL, REASONS, INVALID = "all answers", "why no level", "no level"
#: Where the panel of reasons has its words: beyond the marks of its axis.
AT = 10.0
#: Width of the names of models in inches.
LABELS = 1.7


class DistributionOptions(FigureOptions, OfArms):
    """Options of the stacked bars of answers."""

    arms: Names = Field(description="Arms whose answers are shown, one panel each.")
    models: LeftOut[Names] = None
    """Models to show, in this order; default: all models of the arms."""


class NormDistributionOptions(FigureOptions, OfNorms):
    """Options of the stacked bars of norms."""

    arms: Names = Field(description="Arms whose norms are shown, one panel each.")


def draw(selected: Sequence[Selected], entry: Entry[DistributionOptions]) -> theme.Drawn:
    """Return one stacked bar per model and arm: unacceptable left, acceptable right, invalid last."""
    counts = segments(answer_counts(selected, entry), entry)
    totals = counts.groupby(["arm", "model"], observed=True)["count"].sum()
    models = list(dict.fromkeys(one.model for one in selected))
    arms = list(dict.fromkeys(one.arm for one in selected))
    total = int(totals.sum())
    under = f"n = {theme.span(totals)} answers per model, {total:,} in total. Nothing is filtered."
    width = theme.room(entry, 9.0, theme.ONE_COLUMN)
    frame = in_panels(counts)
    reasons = bool(frame["panel"].eq(REASONS).any())
    beside = reasons and width >= 7
    part = np.where(frame["panel"] == REASONS, 0.4, 0.6) if beside else 1
    plot = _stacked(frame, models, width, part * width) + p9.labs(x="share of all answers", y="")
    rows = len(arms) * (2 if reasons and not beside else 1)
    if beside:
        plot += p9.theme(panel_spacing_x=0.045)
        down = "arm" if len(arms) > 1 else "."
        space: Any = {"x": [3, 2], "y": [1] * len(arms)}
        plot += p9.facet_grid(f"{down} ~ panel", scales="free_x", space=space)
    elif rows > 1:
        panels = ["arm"] * (len(arms) > 1) + ["panel"] * reasons
        plot += p9.facet_wrap(panels, ncol=1, scales="free_x" if reasons else "fixed")
    invalid = counts.assign(count=counts["count"].where(counts["status"] != "ok", 0))
    n_invalid, n = (table.groupby("model", sort=False)["count"].sum() for table in (invalid, counts))
    share = (n_invalid / n).dropna()  # over all arms
    return theme.finish(
        plot,
        entry,
        counts[list(COLUMNS)],
        (width, 2.1 + rows * (0.3 + 0.42 * len(models))),
        f"{share.idxmax()} gives the most invalid answers ({share.max():.1%})" if share.any() else "",
        f"Share of each level and of each kind of invalid answer, per model, before any filtering. {under}",
    )


def segments(counts: pd.DataFrame, entry: Entry[DistributionOptions]) -> pd.DataFrame:
    """Return counts in drawing order with segment and colour.

    Statuses that no answer has are left out; arms are in the order of ``counts``.
    """
    order = list(dict.fromkeys(counts.loc[counts["status"] == "ok"].sort_values("level")["outcome"]))
    present = counts[(counts["status"] != "ok") & (counts["count"] > 0)]["status"]
    order += [STATUS_LABELS[status] for status in STATUS_COLOURS if status in set(present)]
    counts = counts[(counts["status"] == "ok") | counts["status"].isin(present)]
    # What answers without a rating say is told apart in the data only.
    names = [
        outcome if status == "ok" else STATUS_LABELS[status]
        for outcome, status in zip(counts["outcome"], counts["status"], strict=True)
    ]
    by_arm = {arm: level_colours(scale.binned, entry) for arm, scale in entry.scales.items()}
    frame = counts.assign(
        arm=theme.in_order(counts["arm"]),
        segment=theme.in_order(names, order),
        colour=[
            STATUS_COLOURS[status] if status != "ok" else by_arm[arm][int(level)]
            for arm, status, level in zip(counts["arm"], counts["status"], counts["level"], strict=True)
        ],
        share=counts["share"].astype("float64"),
    ).sort_values("segment", kind="stable")
    return frame


def in_panels(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the segments of the bars with their panel, start and end.

    Of several kinds of invalid answers, most would be slivers at the end of a bar that nobody can tell apart. There
    they are one segment, and a second panel names the reasons.
    """
    counts = counts[counts["count"] > 0].assign(panel=ALL)
    invalid = counts[counts["status"] != "ok"]
    if len(invalid["status"].unique()) > 1:
        order = [*counts["segment"].cat.categories]
        at = int(invalid["segment"].cat.codes.min())
        one = invalid.groupby(["arm", "model"], observed=True, sort=False)["share"].sum().reset_index()
        one = one.assign(panel=ALL, segment=INVALID, colour=INVALID_COLOUR)
        counts = pd.concat([counts[counts["status"] == "ok"], one, invalid.assign(panel=REASONS)])
        counts["segment"] = theme.in_order(counts["segment"], [*order[:at], INVALID, *order[at:]])
        counts["arm"] = theme.in_order(counts["arm"])
    counts = counts.sort_values("segment", kind="stable").reset_index(drop=True)
    end = counts.groupby(["panel", "arm", "model"], observed=True)["share"].cumsum()
    panels = theme.in_order(counts["panel"], [ALL, REASONS])
    return counts.assign(start=end - counts["share"], end=end, panel=panels)


def _stacked(frame: pd.DataFrame, models: Sequence[str], width: float, inches: Any) -> "p9.ggplot":
    """Return a bar per model; ``inches`` is the width of a segment's panel, to tell whether its label fits."""
    y = -pd.Index(models).get_indexer(pd.Index(frame["model"])).astype(float)
    rows = [theme.wrap(model, LABELS, TEXT_SIZE) for model in models]
    frame = frame.assign(
        y=y,
        bottom=y - 0.36,
        top=y + 0.36,
        x=(frame["start"] + frame["end"]) / 2,
        label=[f"{share:.0%}" for share in frame["share"]],
        ink=[ink_on(colour) for colour in frame["colour"]],
    )
    rectangle = p9.aes(xmin="start", xmax="end", ymin="bottom", ymax="top", fill="segment")
    room = inches - theme.widest(rows, TEXT_SIZE) * inches / width - 0.8
    reasons = frame["panel"] == REASONS
    levels, words = (
        frame[~reasons],
        _reasons(frame[reasons], np.broadcast_to(room + 0.5, len(frame))[reasons]),
    )
    fits = np.broadcast_to(room, len(frame))[~reasons] * levels["share"] > [
        theme.width_of(label, NOTE_SIZE) for label in levels["label"]
    ]
    colours = dict(zip(levels["segment"], levels["colour"], strict=True))
    order = [name for name in frame["segment"].cat.categories if name in colours]
    across = theme.key_columns(order, width - theme.widest(rows, TEXT_SIZE))
    plot = (
        p9.ggplot(frame)
        + p9.geom_rect(rectangle, levels, color="white", size=0.3)
        + p9.geom_text(p9.aes("x", "y", label="label", color="ink"), levels[fits], size=NOTE_SIZE)
        + p9.scale_color_identity()
        + p9.scale_fill_manual(values=colours, limits=order)
        + p9.guides(fill=p9.guide_legend(ncol=across, byrow=True))
        + p9.scale_x_continuous(labels=theme.percents, breaks=[0, 0.25, 0.5, 0.75, 1], expand=(0.01, 0))
        + p9.scale_y_continuous(breaks=[-i for i in range(len(models))], labels=rows, minor_breaks=[])
        + theme.base_theme()
    )
    if len(words):
        plot += p9.geom_text(p9.aes("x", "y", label="label"), words, size=NOTE_SIZE, ha="left", color=WORDS)
        plot += p9.geom_blank(p9.aes("x + 1", "y"), words)
        plot += p9.theme(panel_grid_major_y=p9.element_blank())
    return plot


def _reasons(frame: pd.DataFrame, room: Any) -> pd.DataFrame:
    """Return a text per bar: its most frequent reasons for no level, as many as fit into its ``room`` in inches."""
    rows: list[pd.DataFrame] = []
    if frame.empty:
        return frame
    for _, part in frame.assign(room=room).groupby(["arm", "model"], observed=True, sort=False):
        shares = part.sort_values("share", ascending=False)
        texts = [
            f"{name} {100 * share:.2g}%"
            for name, share in zip(shares["segment"], shares["share"], strict=True)
        ]
        named = len(texts)
        while True:
            rest = shares["share"].iloc[named:].sum()
            text = ", ".join([*texts[:named], *([f"other {100 * rest:.2g}%"] if rest else [])])
            if named == 1 or theme.width_of(text, NOTE_SIZE) <= part["room"].iloc[0]:
                break
            named -= 1
        rows.append(part.iloc[:1].assign(x=AT, label=text))
    return pd.concat(rows)


def draw_norms(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> theme.Drawn:
    """Return a stacked bar per model: norms from the lowest level to the highest, then flows without one."""
    frame = bars(selected, entry)
    if frame.empty:
        return theme.empty(entry, "no flow has the levels selected.")
    models = list(dict.fromkeys(frame["model"]))
    panels = list(frame["panel"].cat.categories)
    width = theme.room(entry, 9.0, theme.ONE_COLUMN)
    plot = _stacked(frame[frame["flows"] > 0], models, width, width) + p9.labs(x="share of all flows", y="")
    n = f"{frame['of'].max():,}"
    if len(panels) > 1:
        plot += p9.facet_wrap("panel", ncol=1)
        flows = frame.groupby("panel", observed=True)["of"].max()
        n = ", ".join(f"{count:,} ({panel})" for panel, count in flows.items())
    size = (width, 2.0 + len(panels) * (0.35 + 0.42 * len(models)))
    shown = frame[["panel", "model", "segment", "flows", "of", "share"]]
    data = shown.rename(columns={"panel": "arm", "segment": "outcome"})
    variants = {int(one.frame["n_asked"].max()) for one in selected if len(one.frame)}
    unequal = (
        f"Asked in {min(variants)} to {max(variants)} variants: {NOT_COMPARABLE}."
        if len(variants) > 1
        else ""
    )
    caption = f"n = {n} flows per model. {theme.thresholds_text(entry)}"
    missing = shown[shown["segment"].isin(NORM_LABELS.values())]
    held = (
        missing.groupby(["panel", "model"], observed=True)["share"]
        .sum()
        .rsub(1)
        .reset_index()
        .sort_values("share")
    )
    (model, share), (other, lowest) = held.iloc[[-1, 0]][["model", "share"]].to_numpy()
    finding = f"{model} holds a norm on {share:.0%} of the flows"
    finding += f", {other} on {lowest:.0%}" if len(held) > 1 else ""
    return theme.finish(plot, entry, data, size, finding, caption, unequal)


def bars(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> pd.DataFrame:
    """Return one row per arm, model and segment, in drawing order, with its start and end on the bar."""
    rows: list[dict[str, Any]] = []
    for arm, model, norms in selected:
        scale, of = entry.scales[arm].binned, len(norms)
        colours = level_colours(scale, entry)
        status = assessment.status(norms, entry.thresholds[model]).astype(str)
        held = norms["value"].where(status == "kept")
        counts = [
            (words, int((held == level).sum()), colours[level]) for level, words in scale.labels.items()
        ]
        counts += [
            (NORM_LABELS[reason], int((status == reason).sum()), NORM_COLOURS[reason])
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
        panel=theme.in_order(frame["panel"]),
        segment=theme.in_order(frame["segment"], [*levels, *NORM_LABELS.values()]),
    )


KINDS = (
    Kind(
        name="distribution",
        about="Stacked shares of the answer levels and of the invalid answers per model, before any filtering.",
        function=draw,
        reads="answers",
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
