"""Kinds on how many wordings are enough: the stability of norms, and the templates needed."""

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.shared import for_each_model, held, stack
from cinorms.core.schema import Distinct, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats import budget
from cinorms.stats.wordings import (
    FEWEST_HALVED,
    ShareBetween,
    flow_intervals,
    held_share,
    level_counts,
    template_numbers,
)

#: A norm with a smaller probability of coming out the same in fresh wordings is not called stable.
STABLE = 0.95

#: With fewer templates no norm can be called stable, even where all of them agree (`wordings.most_stable`).
FEWEST_STABLE = 6

Counts = Annotated[Distinct[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1)]


class NeededOptions(OfArms):
    """Options of how many templates are needed."""

    target_se: Annotated[Distinct[Annotated[Number, Field(gt=0, le=4)]], Field(min_length=1)] = Field(
        (0.1, 0.2, 0.3), description="Target standard errors of a flow's mean, in levels."
    )
    orders: Counts = Field((1, 3, 5), description="Numbers of orders per template to try.")


@for_each_model
def stability(
    one: Selected, entry: Entry[OfNorms], norms: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return, per model, how many of its norms would be the same in other wordings."""
    levels, templates = level_matrix(one.frame), template_numbers(prompts)
    flows = flow_intervals(levels, templates, entry.scales[one.arm])
    whole = ShareBetween(np.nan)
    if len(one.frame) == levels.size and len(levels):  # else the flows are no sample of the same templates
        counts = level_counts(levels, templates, entry.scales[one.arm])
        whole = held_share(counts, entry.thresholds[one.model])[0]
    rows = held(norms, entry, one.model).merge(flows, on="flow", validate="one_to_one")
    kept = rows[rows["value"].notna()]
    judged = kept["stability"].dropna()
    few = templates.reindex(levels.columns).nunique() < FEWEST_STABLE
    row = {
        "flows": len(rows),
        "norms": len(kept),
        "share_norms": len(kept) / len(rows) if len(rows) else np.nan,
        "norms_low": whole.low,
        "norms_high": whole.high,
        "mean_stability": judged.mean(),
        "share_stable": np.nan if few or judged.empty else (judged >= STABLE).mean(),
        "mean_width": (kept["high"] - kept["low"]).mean(),
        "status": "ok",
    }
    for status, holds in (("few_templates", few), ("one_template", judged.empty), ("no_norms", kept.empty)):
        row["status"] = status if holds else row["status"]
    return pd.DataFrame([row])


@for_each_model
def budget_needed(one: Selected, entry: Entry[NeededOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return how many templates, in how many orders each, give a flow's mean each target standard error."""
    levels, templates = level_matrix(one.frame), template_numbers(prompts)
    targets, orders = entry.options.target_se, entry.options.orders
    return stack([budget.needed(levels, templates, se, orders).assign(target_se=se) for se in targets])


KINDS = (
    Kind(
        name="stability",
        about="How many of a model's norms would be the same in other wordings.",
        function=stability,
        reads="answers",
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model"),
        columns={
            **WHO,
            "flows": "Flows that were asked.",
            "norms": "Flows that hold a norm.",
            "share_norms": "norms / flows.",
            "norms_low": "Lower end of the 95% interval of that share over templates, for these flows; missing "
            f"with fewer than {FEWEST_HALVED} templates, or where a flow was not asked in all of them.",
            "norms_high": "Upper end of that interval.",
            "mean_stability": "Mean over the norms of the probability that they are the same in new wordings.",
            "share_stable": f"Share of the norms for which that probability is at least {STABLE:.0%}; missing with "
            f"fewer than {FEWEST_STABLE} templates, which can show it of no norm.",
            "mean_width": "Mean width of the 95% intervals of these flows' means, in levels.",
            "status": "ok, or why numbers are missing: few_templates (no share_stable), one_template, no_norms.",
        },
    ),
    Kind(
        name="budget_needed",
        about="Templates and orders needed for a target standard error of a flow's mean.",
        function=budget_needed,
        reads="answers",
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "target_se", "orders", "flows"),
        columns={
            **WHO,
            "target_se": "Target standard error of a flow's mean, in levels.",
            "orders": "Orders in which each template is asked.",
            "flows": "Which flow: a typical one (root mean square), or one at a percentile of the spread.",
            "spread": "Standard deviation over templates of the flow's mean in one template, in levels.",
            "templates": "Templates with a valid answer that the flow needs.",
            "ask": "Templates to ask so that this many have a valid answer, at the share seen here.",
            "variants": "Templates to ask times orders.",
            **usual("status"),
        },
    ),
)
