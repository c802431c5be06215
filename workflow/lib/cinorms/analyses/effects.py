"""Kinds on what the factors do, by the design alone: marginal means, and each factor's part of the variance."""

import numpy as np
import pandas as pd

from cinorms.analyses.columns import INTERVAL, WHO, usual
from cinorms.analyses.options import Factors, Generalises
from cinorms.analyses.shared import (
    add_factors,
    alike_words,
    answers_by_factor,
    factors_of,
    for_each_model,
    marked_alike,
)
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import level_matrix
from cinorms.stats import marginal_means
from cinorms.stats.components import TOGETHER, components
from cinorms.stats.wordings import template_numbers
from cinorms.vignettes.factors import JOINT


class MeansOptions(Generalises, Factors, OfFlows):
    """Options of marginal means."""


@for_each_model
def level_means(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return the marginal mean of every level, per model: `marginal_means.marginal_means`."""
    dataset = entry.factors_of[one.arm]
    # The factors named and those linked with them, or all that vary.
    asked = {part for name in factors_of(entry, one.arm, vignettes) for part in name.split(JOINT)}
    linked = {name for group in dataset.linked if asked & set(group) for name in group}
    factors = [name for name in dataset.factors if name in asked | linked]
    values = answers_by_factor(one.frame, vignettes, prompts, factors)
    if values.empty:
        texts = usual("factor", "level")
        row = {name: None if name in texts else np.nan for name in entry.declared.columns if name not in WHO}
        return pd.DataFrame([row | {"status": "no_flows", "reason": "no flow has the selected levels"}])
    table = marginal_means.marginal_means(values, factors, dataset.linked, entry.options.fixed_flows)
    return marked_alike(table, [alike_words(one.frame, prompts, entry.scales[one.arm])])


class ComponentsOptions(Factors, OfFlows):
    """Options of the variance components."""


@for_each_model
def variance_components(
    one: Selected, entry: Entry[ComponentsOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return, per model, what each factor, template and single answer bring to the variance of the answers."""
    levels = level_matrix(one.frame)
    rows = pd.DataFrame({"flow": levels.index.to_numpy()})
    factors = factors_of(entry, one.arm, vignettes)
    named = add_factors(rows, vignettes, factors)
    codes = {
        name: np.unique(named[name].astype(str), return_inverse=True)[1] for name in factors if len(named)
    }
    return components(levels, template_numbers(prompts), codes).assign(flows=len(levels))


KINDS = (
    Kind(
        name="variance_components",
        about="What decides the answers: the share of their variance from each factor, from what factors do together, "
        "from the wording, and from the single answer.",
        function=variance_components,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "source"),
        columns={
            **WHO,
            "source": f"Name of the factor; {TOGETHER}; flow (in place of these, where not every combination of levels "
            "is asked); template; flow x template; order and single answer.",
            "variance": "Variance of its effects, in levels squared; below 0 by chance.",
            "share": "Share of the sum of all, a negative variance counting as 0.",
            "flows": "Flows that were asked.",
            "status": "ok; negative; incomplete (flows without an answer were filled in with what their levels do "
            "elsewhere); not_crossed (a combination of levels is missing); or why there is no number.",
        },
    ),
    Kind(
        name="marginal_means",
        about="The mean answer at each level of each factor, averaged evenly over the design (no regression model).",
        function=level_means,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns={
            **usual("arm", "model", "factor", "level"),
            "n": "Combinations of the other factors in which the level has a value.",
            "n_missing": "Combinations of the other factors in which the level has no value.",
            "templates": "Wordings in which the level has a value.",
            "templates_missing": "Wordings in which the level has no value.",
            "mean": "Mean level of the scale over these combinations, each counted once.",
            **INTERVAL,
            "status": "ok; incomplete if a combination of the other factors or a wording is missing; alike_templates "
            "if the wordings are too alike for the interval to hold; or why there is no number.",
            **usual("reason"),
        },
        shown=(*WHO, "factor", "level", "n", "mean", *INTERVAL, "status"),
    ),
)
