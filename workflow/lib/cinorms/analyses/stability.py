"""Kinds on how many wordings are enough: intervals of norms, their stability, and the budget."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import INTERVAL, STATUS, WHO
from cinorms.analyses.shared import for_each_model, held
from cinorms.core.schema import Distinct, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfArms, OfNorms
from cinorms.norms.assessment import level_matrix
from cinorms.stats import budget, reliability
from cinorms.stats.wordings import flow_intervals, template_numbers

#: Numbers of templates at which the budget is shown, if fewer than were asked.
KS = (1, 2, 3, 5, 7, 9, 11, 15, 22, 33)
#: A norm with a smaller probability of coming out the same in fresh wordings is not called stable.
STABLE = 0.95

Counts = Annotated[Distinct[Annotated[int, Field(ge=1, le=1_000_000)]], Field(min_length=1)]


class NeededOptions(OfArms):
    """Options of how many templates are needed."""

    target_se: Annotated[Distinct[Annotated[Number, Field(gt=0, le=4)]], Field(min_length=1)] = Field(
        (0.1, 0.2, 0.3), description="Target standard errors of a flow's mean, in levels."
    )
    orders: Counts = Field((1, 3, 5), description="Numbers of orders per template to try.")


class GridOptions(OfArms):
    """Options of numbers of templates and orders."""

    templates: Counts = Field((1, 3, 5, 11, 22), description="Numbers of templates to try.")
    orders: Counts = Field((1, 3, 5), description="Numbers of orders per template to try.")


def _norm_intervals(
    one: Selected, entry: Entry[OfNorms], norms: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return an interval of the mean level and the stability of the norm for every flow."""
    values = held(norms, entry, one.model)
    values["norm_status"] = np.where(values["value"].notna(), "kept", "none")
    templates = template_numbers(prompts)
    found = flow_intervals(level_matrix(one.frame), templates, entry.scales[one.arm])
    found = found.rename(columns={"low": "conf_low", "high": "conf_high"})
    return values.merge(found, on="flow", validate="one_to_one")


norm_intervals = for_each_model(_norm_intervals)


@for_each_model
def stability(
    one: Selected, entry: Entry[OfNorms], norms: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return, per model, how many of its norms would be the same in other wordings."""
    rows = _norm_intervals(one, entry, norms, prompts)
    kept = rows[rows["norm_status"] == "kept"]
    judged = kept["stability"].dropna()
    status = "no_norms" if kept.empty else ("one_template" if judged.empty else "ok")
    row: dict[str, float] = {"flows": len(rows), "norms": len(kept)}
    row |= {
        "mean_stability": judged.mean(),
        "share_stable": (judged >= STABLE).mean() if len(judged) else np.nan,
    }
    width = (kept["conf_high"] - kept["conf_low"]).mean()
    return pd.DataFrame([row | {"mean_width": width, "status": status}])


@for_each_model
def budget_curve(one: Selected, entry: Entry[OfArms], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return the predicted and the observed error of a flow's mean over k templates against that over all."""
    levels, templates = level_matrix(one.frame), template_numbers(prompts)
    asked = templates[levels.columns].nunique()
    ks = [k for k in KS if k < asked] or [1]
    table = budget.predicted(levels, templates, ks, asked).rename(columns={"rmse": "predicted"})
    table["observed"] = budget.observed(levels, templates, ks, entry.seed)["rmse"]
    table["predicted_any"] = budget.predicted(levels, templates, ks)["rmse"]
    table.insert(1, "of", asked)
    return table[["k", "of", "n_flows", "predicted", "observed", "predicted_any", "status"]]


@for_each_model
def budget_needed(one: Selected, entry: Entry[NeededOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return how many templates, in how many orders each, give a flow's mean each target standard error."""
    levels, templates = level_matrix(one.frame), template_numbers(prompts)
    parts = [
        budget.needed(levels, templates, se, entry.options.orders).assign(target_se=se)
        for se in entry.options.target_se
    ]
    table = pd.concat(parts, ignore_index=True)
    return table[["target_se", *[c for c in table if c != "target_se"]]]


@for_each_model
def budget_design(one: Selected, entry: Entry[GridOptions], prompts: pd.DataFrame) -> pd.DataFrame:
    """Return the standard error of a flow's mean by numbers of templates and orders: `budget.design_grid`."""
    shares = reliability.variance_shares(level_matrix(one.frame), template_numbers(prompts))
    return budget.design_grid(shares, entry.options.templates, entry.options.orders)


KINDS = (
    Kind(
        name="norm_intervals",
        about="For every flow, the interval of its mean and the stability of its norm under other wordings.",
        options=OfNorms,
        function=norm_intervals,
        reads="answers",
        also=("norms", "vignettes", "prompts"),
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model", "flow"),
        columns=(
            *WHO,
            Column("flow", "Number of the flow."),
            Column("value", "The norm, a level of the scale; missing where there is none."),
            Column("norm_status", "kept where there is a norm, else none."),
            Column("estimate", "Mean level of the flow's valid answers."),
            *INTERVAL,
            Column(
                "stability",
                "Probability of the same most frequent level in equally many new templates; missing for a tie.",
            ),
            Column("n_valid", "Valid answers of the flow."),
            Column("n_templates", "Templates in which the flow has a valid answer."),
            STATUS,
        ),
    ),
    Kind(
        name="stability",
        about="How many of a model's norms would be the same in other wordings.",
        options=OfNorms,
        function=stability,
        reads="answers",
        also=("norms", "vignettes", "prompts"),
        decided="pilot",
        report_section="sensitivity",
        key=("arm", "model"),
        columns=(
            *WHO,
            Column("flows", "Flows that were asked."),
            Column("norms", "Flows that hold a norm."),
            Column(
                "mean_stability",
                "Mean over the norms of the probability that they are the same in new wordings.",
            ),
            Column(
                "share_stable",
                f"Share of the norms for which that probability is at least {STABLE:.0%}.",
            ),
            Column("mean_width", "Mean width of the 95% intervals of these flows' means, in levels."),
            STATUS,
        ),
    ),
    Kind(
        name="budget",
        about="Predicted and observed error of a flow's mean over k templates.",
        options=OfArms,
        function=budget_curve,
        reads="answers",
        also=("prompts",),
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "k"),
        columns=(
            *WHO,
            Column("k", "Number of templates drawn at random, each with all of its orders."),
            Column("of", "Templates that were asked."),
            Column("n_flows", "Flows in the errors: those with a valid answer in at least two templates."),
            Column(
                "predicted",
                "Predicted root mean square difference from the mean over all templates asked.",
            ),
            Column("observed", "The same difference, observed by drawing templates, in levels."),
            Column(
                "predicted_any",
                "Predicted difference from the mean over all possible templates.",
            ),
            STATUS,
        ),
    ),
    Kind(
        name="budget_needed",
        about="Templates and orders needed for a target standard error of a flow's mean.",
        options=NeededOptions,
        function=budget_needed,
        reads="answers",
        also=("prompts",),
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "target_se", "orders", "flows"),
        columns=(
            *WHO,
            Column("target_se", "Target standard error of a flow's mean, in levels."),
            Column("orders", "Orders in which each template is asked."),
            Column(
                "flows", "Which flow: a typical one (root mean square), or one at a percentile of the spread."
            ),
            Column(
                "spread", "Standard deviation over templates of the flow's mean in one template, in levels."
            ),
            Column("templates", "Templates with a valid answer that the flow needs."),
            Column("ask", "Templates to ask so that this many have a valid answer, at the share seen here."),
            Column("variants", "Templates to ask times orders."),
            STATUS,
        ),
    ),
    Kind(
        name="budget_design",
        about="Standard error of a flow's mean for different numbers of templates and orders.",
        options=GridOptions,
        function=budget_design,
        reads="answers",
        also=("prompts",),
        decided="pilot",
        report_section="reliability",
        key=("arm", "model", "templates", "orders"),
        columns=(
            *WHO,
            Column("templates", "Number of templates."),
            Column("orders", "Number of orders per template."),
            Column("variants", "Templates times orders."),
            Column("relative", "Standard error for comparing flows of one study, in levels."),
            Column("absolute", "Standard error of a flow's level on the scale, in levels."),
            STATUS,
        ),
    ),
)
