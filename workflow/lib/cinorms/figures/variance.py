"""Kind ``variance``: how far the answers to one flow are apart, over variants, templates or answer orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO
from cinorms.analyses.shared import chosen_each
from cinorms.core.labels import variant_words
from cinorms.entries.entry import Entry, Pair, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfFlows
from cinorms.figures import boxes
from cinorms.figures.options import FigureOptions
from cinorms.figures.theme import Drawn, base_theme, empty, finish, selection_text
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import look_up, template_numbers
from cinorms.vignettes.factors import text

#: Over what the answers vary, and the column of the prompts table that is held fixed.
FIXED = {"variants": None, "templates": "order_no", "orders": "template_no"}
NAMES = {
    "variants": "variance of a flow's valid answers over all variants",
    "templates": "variance of a flow's valid answers over the templates, within one answer order",
    "orders": "variance of a flow's valid answers over the answer orders, within one template",
}
UNITS = "variance of the answers (levels squared; a level is one step of the scale)"


class VarianceOptions(FigureOptions, OfFlows):
    """Options of the boxes."""

    arms: Names = Field(description="Arms to compare; each has one box.")
    over: Literal["variants", "templates", "orders"] = Field(
        "variants",
        description="variants: over all variants; templates: within one order; orders: within one template.",
    )
    by: Literal["arm", "temperature", "paraphraser", "order", "readout", "wrapper", "layout"] = Field(
        "arm", description="How the boxes are labelled: arm (its name), or a condition of the arm."
    )


def draw(
    selected: Sequence[Selected],
    entry: Entry[VarianceOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> Drawn:
    """Return a row of boxes per model, a box for each of what is compared (arms by default)."""
    from plotnine import ggplot, labs

    over = entry.options.over
    frame = spreads(chosen_each(selected, entry, vignettes), entry, prompts)
    if not len(frame) or not frame["n"].any():
        return empty(entry, f"no flow has the two valid answers needed for the {NAMES[over]}.")
    rows, groups = list(dict.fromkeys(frame["row"])), list(dict.fromkeys(frame["group"]))
    plot = ggplot() + base_theme() + labs(x=UNITS, y="")
    for layer in boxes.layers(boxes.place(frame, rows, groups), rows, groups):
        plot += layer
    low, high = int(frame["n"].min()), int(frame["n"].max())
    each = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    what = {"variants": "flows", "templates": "flows x orders", "orders": "flows x templates"}[over]
    under = f"n = {each} {what} per box, each with at least two valid answers. {boxes.EXPLAINED}"
    under = " ".join([under, *asked_text(selected, prompts, entry.people)])
    size = (8.5, 1.7 + boxes.height(len(rows), len(groups)))
    means = ", ".join(
        f"{row} {group} {mean:.2f}"
        for row, group, mean in zip(frame["row"], frame["group"], frame["mean"], strict=True)
    )
    return finish(
        plot,
        entry,
        frame.rename(columns={"row": "model"}),
        size,
        under,
        f"{NAMES[over][0].upper()}{NAMES[over][1:]}, divided by their number. Invalid answers are left out.",
        f"Means: {means}.",
        selection_text(entry),
    )


def asked_text(
    selected: Sequence[Selected], prompts: Mapping[str, pd.DataFrame], people: Sequence[Pair] = ()
) -> list[str]:
    """Return what each model was asked, if models were asked different flows or different numbers of templates."""
    asked: dict[tuple[int, int, str], list[str]] = {}
    for one in selected:
        used = template_numbers(prompts[one.arm])[one.frame["variant"].astype(str).unique()]
        words = variant_words((one.arm, one.model) in people).many
        models = asked.setdefault((one.frame["flow"].nunique(), used.nunique(), words), [])
        if one.model not in models:
            models.append(one.model)
    if len(asked) < 2:
        return []
    most = max(asked, key=lambda key: len(asked[key]))
    parts = [
        f"{', '.join(models) if key != most else 'the others'} {key[0]:,} flows in {key[1]} {key[2]}"
        for key, models in sorted(asked.items(), key=lambda item: item[0] == most)
    ]
    return [
        f"Models were asked different flows and templates: {'; '.join(parts)}. Only compare boxes of the same model."
    ]


def spreads(
    selected: Sequence[Selected], entry: Entry[VarianceOptions], prompts: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return one row per arm and model with the numbers of its box."""
    groups = group_names(entry)
    over = entry.options.over
    rows = [
        {
            "arm": one.arm,
            "row": one.model,
            "group": groups[one.arm],
            **boxes.summary(variances(one.frame, prompts[one.arm], over)),
        }
        for one in selected
    ]
    return pd.DataFrame(rows)


def variances(answers: pd.DataFrame, prompts: pd.DataFrame, over: str) -> npt.NDArray[np.float64]:
    """Return the population variance of the valid answers of each flow (and of each order, or each template).

    NaN where there are fewer than two valid answers. Raises `DataError` for a variant not in the prompts.
    """
    levels = level_matrix(answers)
    fixed = FIXED[over]
    if fixed is None:
        return _row_variances(levels.to_numpy())
    numbers = look_up(levels.columns, prompts.set_index("variant")[fixed])
    parts = [_row_variances(levels.loc[:, numbers == one].to_numpy()) for one in np.unique(numbers)]
    return np.concatenate(parts) if parts else np.array([])


def group_names(entry: Entry[VarianceOptions]) -> dict[str, str]:
    """Return what each arm is called: by the condition that ``by`` names, and its name where two share it."""
    by, arms = entry.options.by, entry.arms
    if by == "arm":
        return {arm: arm for arm in arms}
    names = {arm: f"{by} {text(entry.conditions[arm][by])}" for arm in arms}
    return names if len(set(names.values())) == len(arms) else {arm: f"{names[arm]} ({arm})" for arm in arms}


def _row_variances(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    valid = ~np.isnan(x)
    n = valid.sum(axis=1)
    total = np.where(valid, x, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (total**2).sum(axis=1) / n - (total.sum(axis=1) / n) ** 2
    return np.where(n >= 2, np.maximum(variance, 0), np.nan)


KINDS = (
    Kind(
        name="variance",
        about="Spread of the answers to one flow over prompt variants, per model and arm.",
        options=VarianceOptions,
        function=draw,
        reads="answers",
        also=("vignettes", "prompts"),
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model"),
        columns=(
            *WHO,
            Column("group", "Label of the box in the legend: the arm, or its condition."),
            *boxes.COLUMNS,
        ),
    ),
)
