"""Kinds ``minority`` and ``variance``: how far answers to one flow are apart, and the boxes that show many numbers.

A box is of one row (a model) and group (an arm): quartiles, 5th and 95th percentile, mean.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import Frames, answer_variances
from cinorms.core.arrays import Floats
from cinorms.core.labels import variant_words
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names, OfFlows, OfNorms
from cinorms.figures import theme
from cinorms.figures.colours import SHARES, group_looks
from cinorms.figures.theme import TEXT_SIZE, FigureOptions, p9
from cinorms.norms import assessment
from cinorms.stats import survivorship
from cinorms.stats.wordings import template_numbers
from cinorms.vignettes.factors import text

#: The percentiles that a box shows, in the order of its columns.
PERCENTILES = {"low": 5, "lower": 25, "median": 50, "upper": 75, "high": 95}
#: The numbers of a box, as `summary` names them.
BOX = {
    "n": "Numbers in the box.",
    "low": "5th percentile.",
    "lower": "Lower quartile.",
    "median": "Median.",
    "upper": "Upper quartile.",
    "high": "95th percentile.",
    "mean": "Mean.",
}
DIAMOND = {"shape": "D", "fill": "white", "size": 1.6, "stroke": 0.4}
EXPLAINED = "Boxes: quartiles and median; whiskers: 5th to 95th percentile; diamonds: mean."
VIOLIN_EXPLAINED = (
    f"Outline: density of the flows (Gaussian kernel, scaled to the same peak width). {EXPLAINED}"
)
#: Width in inches of the labels of rows, and height of one row of one group.
LABEL_WIDTH, ROW_HEIGHT = 1.5, 0.22
#: Share of a row's height that its boxes take, and that of boxes within violins.
FILLED, SLIM = 0.8, 0.18

#: The columns of `survivorship.minority` that are drawn, and how a panel is called; then those in the data alone.
PANELS = {
    "deviation": "mean distance from the norm (levels)",
    "variance": "variance of the minority (levels squared)",
}
MORE = {
    "max_deviation": "largest distance from the norm (levels)",
    "n_minority": "number of minority answers",
    "share": "share of the valid answers",
}
#: Share of flows in common from which two models count as asked the same flows.
ALIKE = 0.95
NAMES = {
    "variants": "variance of a flow's valid answers over all variants",
    "templates": "variance of a flow's valid answers over the wordings that showed one answer order",
    "orders": "variance of a flow's valid answers over the answer orders, within one wording",
}
DIVIDED = {
    0: "divided by their number: fewer answers give a smaller variance",
    1: "divided by their number less 1",
}
UNITS = "variance of the answers (levels squared)"


class MinorityOptions(FigureOptions, OfNorms):
    """Options of the boxes of minority answers."""

    arms: Names = Field(description="Arms to compare; each has one box.")


class VarianceOptions(FigureOptions, OfFlows):
    """Options of the boxes of variances."""

    arms: Names = Field(description="Arms to compare; each has one box.")
    over: Literal["variants", "templates", "orders"] = "variants"
    """variants: over all variants; templates: over wordings that showed one order; orders: within one wording."""
    by: Literal["arm", "temperature", "paraphraser", "order", "readout", "wrapper", "layout"] = "arm"
    """How the boxes are labelled: arm (its name), or a condition of the arm."""
    ddof: Literal[0, 1] = 1
    """The variance divides by the number of answers less this. 1: boxes of few and of many answers can be compared; 0:
    as in the papers."""


# --- Boxes


def summary(values: Floats) -> dict[str, float]:
    """Return n, the ``PERCENTILES`` and the mean of the values that are there; NaN without any."""
    there = values[~np.isnan(values)]
    if not len(there):
        return {"n": 0, **dict.fromkeys((*PERCENTILES, "mean"), np.nan)}
    percentiles = {name: float(np.percentile(there, percent)) for name, percent in PERCENTILES.items()}
    return {"n": len(there), **percentiles, "mean": float(there.mean())}


def layers(
    boxes: pd.DataFrame, entry: Entry[FigureOptions], width: float, values: pd.DataFrame | None = None
) -> list[Any]:
    """Return the layers and scales of the boxes, in the order of their rows and groups; without numbers: "none".

    With ``values`` (columns row, group and value) the boxes are slim, within violins of these. The bandwidth is
    Silverman's, 0.9 min(standard deviation, interquartile range / 1.34) n^(-1/5).
    """
    rows, groups = (list(dict.fromkeys(boxes[name])) for name in ("row", "group"))
    several = len(groups) > 1
    colours = group_looks(groups)[0] if several else {groups[0]: SHARES[-1]}
    # Rows go upwards, so the last group is lowest.
    boxes = boxes.assign(group=theme.in_order(boxes["group"], groups[::-1]))
    none = boxes[boxes["n"] == 0].assign(value=0.0, label="none")
    dodged: dict[str, Any] = {"position": p9.position_dodge(width=FILLED), "na_rm": True}
    # Pale, so that the median is seen, on paper and in the dark.
    pale = {"alpha": 2 / 3 if several else 0.5}
    numbers = {"ymin": "low", "lower": "lower", "middle": "median", "upper": "upper", "ymax": "high"}
    box = p9.aes("row", fill="group", **numbers)
    words = {"size": theme.NOTE_SIZE, "color": theme.WORDS, "ha": "left"}
    built: list[Any] = []
    if values is not None:
        values = values.assign(group=theme.in_order(values["group"], groups[::-1]))
        density = {"scale": "width", "n": 96, "width": FILLED, "color": theme.LINES, "size": 0.3}
        built.append(
            p9.geom_violin(p9.aes("row", "value", fill="group"), values, **density, **pale, **dodged)
        )
    whole = 0.84 * FILLED if values is None else SLIM
    return [
        *built,
        p9.geom_boxplot(
            box, boxes, stat="identity", width=whole, color=theme.LINES, size=0.4, fatten=3, **pale, **dodged
        ),
        p9.geom_point(p9.aes("row", "mean", group="group"), boxes, color=theme.LINES, **DIAMOND, **dodged),
        *(
            [p9.geom_text(p9.aes("row", "value", label="label"), none, **words, **dodged)]
            if len(none)
            else []
        ),
        p9.scale_fill_manual(values=colours, limits=list(groups)),
        p9.guides(fill=p9.guide_legend(ncol=theme.key_columns(groups, width - LABEL_WIDTH))),
        p9.scale_x_discrete(
            limits=list(rows[::-1]), labels=[theme.wrap(row, LABEL_WIDTH, TEXT_SIZE) for row in rows[::-1]]
        ),
        p9.coord_flip(),
        theme.base_theme(),
        *([p9.theme(legend_position="none")] if len(groups) == 1 else []),
    ]


def height(boxes: pd.DataFrame) -> float:
    """Return the height of the rows of a panel in inches."""
    return len(set(boxes["row"])) * max(0.36, 0.1 + ROW_HEIGHT * len(set(boxes["group"])))


# --- Answers outside the norm (PETS figure 6)


def draw_minority(selected: Sequence[Selected], entry: Entry[MinorityOptions]) -> theme.Drawn:
    """Return a box per model in two panels: distance of minority answers from the norm, their variance."""
    whole = deviations(selected, entry)
    frame = whole[whole["panel"].isin(PANELS)] if len(whole) else whole
    if not len(frame) or not frame["n"].any():
        return theme.empty(entry, "no flow with a norm has an answer outside it.")
    width = theme.room(entry, 8.4, theme.ONE_COLUMN)
    across = 2 if width >= 6 else 1
    panels = theme.in_order(frame["panel"].map(PANELS), PANELS.values())
    plot = p9.ggplot() + layers(frame.assign(panel=panels), entry, width)
    plot += [
        theme.panels("panel", across, (width - LABEL_WIDTH) / across, scales="free_x"),
        p9.labs(x="", y=""),
        p9.theme(panel_spacing=0.03),
    ]
    shown = frame[frame["panel"] == "deviation"]
    names = shown["row"] + " " + shown["group"] if len(set(shown["group"])) > 1 else shown["row"]
    counts = [f"{name} {n:,} of {k:,}" for name, n, k in zip(names, shown["n"], shown["kept"], strict=True)]
    data = whole.rename(columns={"row": "model", "group": "arm", "panel": "measure"})
    return theme.finish(
        plot,
        entry,
        data.replace({"measure": PANELS | MORE}),
        (width, 0.5 + 2 // across * (height(frame) + 0.5)),
        _extremes(shown, "Minority answers are furthest from the norm with", "nearest"),
        f"n = flows with a norm and at least one minority answer: {', '.join(counts)}. {EXPLAINED}",
        "A minority answer is a valid answer that differs from the flow's norm. Flows without a norm, and flows "
        "whose answers all agree, are left out.",
        theme.thresholds_text(entry),
    )


def deviations(selected: Sequence[Selected], entry: Entry[MinorityOptions]) -> pd.DataFrame:
    """Return a row per arm, model and measure: row (model), group (arm), panel, counts of flows, n and its box."""
    rows = []
    for arm, model, norms in selected:
        kept = norms[assessment.status(norms, entry.thresholds[model]) == "kept"]
        minority = survivorship.minority(kept)
        flows = {
            "kept": len(kept),
            "unanimous": int((minority["status"] == "unanimous").sum()),
            "single_dissent": int(minority["single_dissent"].sum()),
        }
        for panel in (*PANELS, *MORE):
            numbers = summary(minority[panel].to_numpy(dtype="float64"))
            rows.append({"row": model, "group": arm, "panel": panel, **flows, **numbers})
    return pd.DataFrame(rows)


# --- The spread over variants, templates or answer orders


def draw_variance(
    selected: Sequence[Selected], entry: Entry[VarianceOptions], prompts: Frames
) -> theme.Drawn:
    """Return a row of boxes per model, a box for each of what is compared (arms by default)."""
    over = entry.options.over
    frame = spreads(selected, entry, prompts)
    if not len(frame) or not frame["n"].any():
        unknown = "; or the order shown is not known" if over == "templates" else ""
        return theme.empty(entry, f"no flow has the two valid answers needed for the {NAMES[over]}{unknown}.")
    width = theme.room(entry, 7.5, theme.ONE_COLUMN)
    plot = p9.ggplot() + layers(frame, entry, width) + p9.labs(x="", y=UNITS)
    what = {"variants": "flows", "templates": "flows x orders", "orders": "flows x wordings"}[over]
    under = f"n = {theme.span(frame['n'])} {what} per box, each with at least two valid answers. {EXPLAINED}"
    names = frame["row"] + (" " + frame["group"] if len(set(frame["group"])) > 1 else "")
    means = [f"{name} {mean:.2f}" for name, mean in zip(names, frame["mean"], strict=True)]
    return theme.finish(
        plot,
        entry,
        frame.rename(columns={"row": "model"}),
        (width, 0.9 + height(frame)),
        _extremes(frame, "Answers vary most with"),
        f"{under} {asked_text(selected, prompts, entry.people)}",
        f"{NAMES[over].capitalize()}, {DIVIDED[entry.options.ddof]}. A level is one step of the scale. "
        "Invalid answers are left out.",
        f"Means: {', '.join(means)}.",
    )


def _extremes(frame: pd.DataFrame, most: str, least: str = "least") -> str:
    """Return which row has the largest mean, and which the smallest."""
    known = frame[frame["mean"].notna()].sort_values("mean")
    several = len(set(known["group"])) > 1
    ends = [
        f"{row} ({group + '; ' if several else ''}{'mean ' if place == 0 else ''}{mean:.2f})"
        for place, (row, group, mean) in enumerate(known[["row", "group", "mean"]].iloc[[-1, 0]].to_numpy())
    ]
    return f"{most} {ends[0]}, {least} with {ends[1]}" if len(known) > 1 else f"{most} {ends[0]}"


def asked_text(selected: Sequence[Selected], prompts: Frames, people: Sequence[Pair] = ()) -> str:
    """Return which boxes can be compared: those of models that were asked the same flows in as many wordings."""
    asked: dict[str, tuple[set[int], int, str]] = {}
    for arm, model, answers in selected:
        used = template_numbers(prompts[arm])[answers["variant"].astype(str).unique()].nunique()
        flows, most, _ = asked.get(model, (set(), 0, ""))
        words = variant_words((arm, model) in people).many
        asked[model] = (flows | set(answers["flow"].unique().tolist()), max(most, used), words)
    groups: list[list[str]] = []
    for model in asked:
        alike = (group for group in groups if _asked_alike(asked[group[0]], asked[model]))
        group: list[str] = next(alike, [])
        if not group:
            groups.append(group)
        group.append(model)
    texts = []
    for group in sorted(groups, key=len, reverse=True):
        _, used, words = asked[group[0]]
        flows_of = theme.span(pd.Series([len(asked[model][0]) for model in group]))
        texts.append(f"{', '.join(group)} ({flows_of} flows in {used} {words})")
    if len(texts) == 1:
        return f"All boxes can be compared: {texts[0]}."
    return (
        f"Compare models within a group: {'; '.join(texts)}. Between groups compare with care: "
        "their flows or wordings differ, and fewer wordings give a smaller variance."
    )


def _asked_alike(a: tuple[set[int], int, str], b: tuple[set[int], int, str]) -> bool:
    """Tell whether two models were asked (nearly) the same; published answers lack some flows without a valid one."""
    return a[1:] == b[1:] and len(a[0] & b[0]) >= ALIKE * len(a[0] | b[0])


def spreads(selected: Sequence[Selected], entry: Entry[VarianceOptions], prompts: Frames) -> pd.DataFrame:
    """Return one row per arm and model with the numbers of its box."""
    groups = group_names(entry)
    rows = []
    for arm, model, answers in selected:
        of_flows = answer_variances(answers, prompts[arm], entry.options.over, entry.options.ddof)
        numbers = summary(np.asarray(of_flows, dtype=np.float64))
        rows.append({"arm": arm, "row": model, "group": groups[arm], **numbers})
    return pd.DataFrame(rows)


def group_names(entry: Entry[VarianceOptions]) -> dict[str, str]:
    """Return what each arm is called: by the condition that ``by`` names, and its name where two share it."""
    by, arms = entry.options.by, entry.arms
    if by == "arm":
        return dict(zip(arms, arms, strict=True))
    names = {arm: f"{by} {text(entry.conditions[arm][by])}" for arm in arms}
    return names if len(set(names.values())) == len(arms) else {arm: f"{names[arm]} ({arm})" for arm in arms}


KINDS = (
    Kind(
        name="minority",
        about="How far minority answers are from the norm, and their variance.",
        function=draw_minority,
        reads="norms",
        report_section="sensitivity",
        key=("arm", "model", "measure"),
        columns={
            **WHO,
            "measure": "Which number of a flow's minority answers (valid answers that differ from its norm): the two "
            "that are drawn, the largest distance from the norm, their number, and their share of the valid answers.",
            "kept": "Flows with a norm.",
            "unanimous": "Flows without a minority answer; only the number and the share include them, as 0.",
            "single_dissent": "Flows with exactly one minority answer.",
            **BOX,
        },
    ),
    Kind(
        name="variance",
        about="Spread of the answers to one flow over prompt variants, per model and arm.",
        function=draw_variance,
        reads="answers",
        report_section="sensitivity",
        key=("arm", "model"),
        columns={**WHO, "group": "Label of the box in the legend: the arm, or its condition.", **BOX},
    ),
)
