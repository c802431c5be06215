"""Kinds ``distribution`` and ``norm_distribution``: stacked shares of answers and of norms, and what has no level."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.counts import ANSWER_COUNTS, answer_counts
from cinorms.core import tables
from cinorms.core.labels import (
    IN_ARM,
    NORM_LABELS,
    NOT_COMPARABLE,
    STATUS_LABELS,
    model_labels,
    share_in_cell,
)
from cinorms.core.scales import spoken_of
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Models, Names, OfArms, OfNorms
from cinorms.figures import theme, titles
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
#: The segment of all answers that have no level, and the words over the reasons.
INVALID, REASONS = "no level", "why no level"
#: Width of the names of models, height of a bar, and least width of a figure with reasons, in inches.
LABELS, BAR, WITH_REASONS = 1.5, 0.34, 6.0
#: Where the reasons begin and end on an axis on which all answers are 1.
BESIDE = (1.03, 1.75)


class DistributionOptions(FigureOptions, OfArms):
    """Options of the stacked bars of answers."""

    arms: Names = Field(description="Arms whose answers are shown, one panel each.")
    models: NotRequired[Models] = None
    """Models to show, in this order; default: all models of the arms."""


class NormDistributionOptions(FigureOptions, OfNorms):
    """Options of the stacked bars of norms."""

    arms: Names = Field(description="Arms whose norms are shown, one panel each.")


def draw(selected: Sequence[Selected], entry: Entry[DistributionOptions]) -> theme.Drawn:
    """Return one stacked bar per model and arm: unacceptable left, acceptable right, invalid last."""
    counts = segments(answer_counts(selected, entry), entry)
    totals = counts.groupby(["arm", "model"], observed=True)["count"].sum()
    models = list(dict.fromkeys(one.model for one in selected))
    total = int(totals.sum())
    under = f"n = {theme.span(totals)} answers per model, {total:,} in total. Nothing is filtered."
    width = theme.room(entry, 8.0, theme.ONE_COLUMN)
    why = reasons(counts)
    beside = why if width >= WITH_REASONS else why.head(0)
    plot, size = _stacked(counts, models, width, beside)
    return theme.finish(
        plot + p9.labs(x="share of all answers", y=""),
        entry,
        counts[list(COLUMNS)],
        size,
        titles.by_model(_accepted(selected, entry), spoken_of(entry.scales.values()), "valid answers"),
        f"Share of each level and of each kind of invalid answer, per model, before any filtering. {under}",
        *([f"Why no level: {_listed(why)}."] if len(why) and not len(beside) else []),
    )


def _accepted(selected: Sequence[Selected], entry: Entry[Any]) -> "pd.Series[float]":
    """Return the share of the valid answers, or of the norms, that each model accepts; by its label."""
    labels = model_labels([one.pair for one in selected], IN_ARM)
    shares = []
    for one in selected:
        if "value" in one.frame:
            scale = entry.scales[one.arm].binned
            levels = assessment.held(one.frame, entry.thresholds[one.model])["value"].array
        else:
            scale, levels = entry.scales[one.arm], pd.array(assessment.valid_levels(one.frame))
        shares.append(titles.accepts(pd.Series(levels), scale).mean())
    return pd.Series(shares, index=labels, dtype="float64")


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
    by_arm = {arm: level_colours(scale.binned) for arm, scale in entry.scales.items()}
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


def stacked(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the segments of the bars with their start and end.

    Several kinds of invalid answers are one segment: most would be slivers that nobody can tell apart.
    """
    counts = counts[counts["count"] > 0]
    invalid = counts[counts["status"] != "ok"]
    if len(invalid["status"].unique()) > 1:
        one = invalid.groupby(["arm", "model"], observed=True, sort=False)["share"].sum().reset_index()
        one = one.assign(segment=INVALID, colour=INVALID_COLOUR)
        order = [*counts["segment"].cat.categories, INVALID]
        counts = pd.concat(
            [counts[counts["status"] == "ok"].astype({"arm": "str"}), one.astype({"arm": "str"})]
        )
        counts["segment"] = theme.in_order(counts["segment"], order)
        counts["arm"] = theme.in_order(counts["arm"], list(invalid["arm"].cat.categories))
    counts = counts.sort_values("segment", kind="stable").reset_index(drop=True)
    end = counts.groupby(["arm", "model"], observed=True)["share"].cumsum()
    return counts.assign(start=end - counts["share"], end=end)


def reasons(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the two most frequent reasons for no level of each bar, as a text, where there are several kinds."""
    invalid = counts[(counts["status"] != "ok") & (counts["count"] > 0)]
    rows = []
    for (arm, model), part in invalid.groupby(["arm", "model"], observed=True, sort=False):
        part = part.sort_values("share", ascending=False)
        named = [f"{name} {share_in_cell(of)}" for name, of in part[["segment", "share"]].head(2).to_numpy()]
        rest = part["share"].iloc[2:].sum()
        rows.append((arm, model, ", ".join([*named, *([f"other {share_in_cell(rest)}"] if rest else [])])))
    frame = pd.DataFrame(rows, columns=["arm", "model", "label"])
    frame["arm"] = theme.in_order(frame["arm"], list(invalid["arm"].cat.categories))
    return frame if len(invalid["status"].unique()) > 1 else frame.head(0)


def _listed(why: pd.DataFrame) -> str:
    """Return the reasons of all bars as one text."""
    names = why["model"] if len(set(why["arm"])) == 1 else why["model"] + " (" + why["arm"].astype(str) + ")"
    return "; ".join(names + ": " + why["label"])


def _stacked(
    counts: pd.DataFrame, models: Sequence[str], width: float, why: pd.DataFrame
) -> tuple["p9.ggplot", tuple[float, float]]:
    """Return a bar per model and a panel per arm, next to it why answers have no level, and the figure's size."""
    frame, arms = stacked(counts), len(counts["arm"].cat.categories)
    place = {model: -float(row) for row, model in enumerate(models)}
    rows = [theme.wrap(model, LABELS, TEXT_SIZE) for model in models]
    y = frame["model"].map(place)
    frame = frame.assign(
        y=y,
        bottom=y - 0.36,
        top=y + 0.36,
        x=(frame["start"] + frame["end"]) / 2,
        label=frame["share"].map(share_in_cell),
        ink=[ink_on(colour) for colour in frame["colour"]],
    )
    inches = (width - theme.widest(rows, TEXT_SIZE) - 0.3) / (BESIDE[1] if len(why) else 1)
    # A percent sign is wide.
    fits = inches * frame["share"] > frame["label"].map(lambda label: theme.width_of(label + " ", NOTE_SIZE))
    colours = dict(zip(frame["segment"], frame["colour"], strict=True))
    order = [name for name in frame["segment"].cat.categories if name in colours]
    keys = theme.key_columns(order, width - theme.widest(rows, TEXT_SIZE) - 0.2)
    plot = (
        p9.ggplot(frame)
        + p9.geom_rect(
            p9.aes(xmin="start", xmax="end", ymin="bottom", ymax="top", fill="segment"),
            color="white",
            size=0.3,
        )
        + p9.geom_text(p9.aes("x", "y", label="label", color="ink"), frame[fits], size=NOTE_SIZE)
        + p9.scale_color_identity()
        + p9.scale_fill_manual(values=colours, limits=order)
        + p9.guides(fill=p9.guide_legend(ncol=keys, byrow=True))
        + p9.scale_x_continuous(labels=theme.percents, breaks=[0, 0.25, 0.5, 0.75, 1], expand=(0.01, 0))
        + p9.scale_y_continuous(breaks=list(place.values()), labels=rows, minor_breaks=[])
        + theme.base_theme()
    )
    if len(why):
        label = why["label"].map(lambda text: theme.wrap(text, inches * (BESIDE[1] - BESIDE[0]), NOTE_SIZE))
        words = why.assign(x=BESIDE[0], y=why["model"].map(place), label=label)
        heads = words.drop_duplicates("arm").assign(y=0.7, label=REASONS)
        at = p9.aes("x", "y", label="label")
        plot += p9.geom_text(at, words, size=NOTE_SIZE, ha="left", color=WORDS)
        plot += p9.geom_text(at, heads, size=TEXT_SIZE, ha="left", color=WORDS, fontweight="bold")
        plot += [p9.expand_limits(x=BESIDE[1], y=1), p9.theme(panel_grid_major_y=p9.element_blank())]
    if arms > 1:
        plot += theme.panels("arm", 1, inches)
    return plot, (width, 1.3 + arms * (0.3 + BAR * (len(models) + bool(len(why)) / 2)))


def draw_norms(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> theme.Drawn:
    """Return a stacked bar per model: norms from the lowest level to the highest, then flows without one."""
    frame = norm_counts(selected, entry)
    if frame.empty:
        return theme.empty(entry, "no flow has the levels selected.")
    width = theme.room(entry, 8.0, theme.ONE_COLUMN)
    plot, size = _stacked(frame, list(dict.fromkeys(frame["model"])), width, pd.DataFrame())
    flows = frame.groupby("arm", observed=True)["of"].max()
    n = ", ".join(f"{n:,}" + (f" ({arm})" if len(flows) > 1 else "") for arm, n in flows.items())
    variants = {int(one.frame["n_asked"].max()) for one in selected if len(one.frame)}
    unequal = f"Asked in {min(variants)} to {max(variants)} variants: {NOT_COMPARABLE}."
    return theme.finish(
        plot + p9.labs(x="share of all flows", y=""),
        entry,
        frame[["arm", "model", "outcome", "flows", "of", "share"]],
        size,
        titles.by_model(_accepted(selected, entry), spoken_of(entry.scales.values()), "norms"),
        f"n = {n} flows per model. {theme.thresholds_text(entry)}",
        unequal if len(variants) > 1 else "",
    )


def norm_counts(selected: Sequence[Selected], entry: Entry[NormDistributionOptions]) -> pd.DataFrame:
    """Return one row per arm, model and outcome, in drawing order, with the columns of `segments`."""
    rows: list[tuple[Any, ...]] = []
    for arm, model, norms in selected:
        scale, colours = entry.scales[arm].binned, level_colours(entry.scales[arm].binned)
        status = assessment.status(norms, entry.thresholds[model]).astype(str)
        held = norms["value"].where(status == "kept")
        counts = [(words, (held == level).sum(), colours[level]) for level, words in scale.labels.items()]
        reasons = tables.NORM_STATUSES[1:]
        counts += [(NORM_LABELS[why], (status == why).sum(), NORM_COLOURS[why]) for why in reasons]
        rows += [(arm, model, len(norms), *count) for count in counts if len(norms)]
    frame = pd.DataFrame(rows, columns=["arm", "model", "of", "outcome", "flows", "colour"])
    order = dict.fromkeys(
        [*frame["outcome"][~frame["outcome"].isin(NORM_LABELS.values())], *NORM_LABELS.values()]
    )
    return frame.assign(
        arm=theme.in_order(frame["arm"]),
        segment=theme.in_order(frame["outcome"], order),
        count=frame["flows"],
        status="ok",
        share=frame["flows"] / frame["of"],
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
