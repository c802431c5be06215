"""Kind ``marginal_means``: what each level of a factor does, by the design alone."""

import numpy as np
import pandas as pd

from cinorms.analyses.columns import INTERVAL, WHO, usual
from cinorms.analyses.options import Factors, Generalises
from cinorms.analyses.shared import add_factors, factors_of, for_each_model, marked_alike, templates_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import valid_levels
from cinorms.stats import marginal_means
from cinorms.vignettes.factors import JOINT


class MeansOptions(Generalises, Factors, OfFlows):
    """Options of marginal means."""


@for_each_model
def level_means(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return the marginal mean of every level, per model: `marginal_means.marginal_means`."""
    values, factors = _values(one, entry, vignettes, prompts)
    if values.empty:
        texts = usual("factor", "level")
        row = {name: None if name in texts else np.nan for name in entry.declared.columns if name not in WHO}
        return pd.DataFrame([row | {"status": "no_flows", "reason": "no flow has the selected levels"}])
    linked = entry.factors_of[one.arm].linked
    table = marginal_means.marginal_means(values, factors, linked, entry.options.fixed_flows)
    return marked_alike(table, [one.frame], prompts, entry.scales[one.arm])


def _values(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return every answer with its factors, and these: the named ones and those linked with them, or all that vary."""
    answers, dataset = one.frame, entry.factors_of[one.arm]
    asked = {part for name in factors_of(entry, one.arm, vignettes) for part in name.split(JOINT)}
    linked = {name for group in dataset.linked if asked & set(group) for name in group}
    factors = [name for name in dataset.factors if name in asked | linked]
    rows = pd.DataFrame(
        {"flow": answers["flow"], "template": templates_of(answers, prompts), "value": valid_levels(answers)}
    )
    return add_factors(rows, vignettes, factors), factors


KINDS = (
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
            "templates": "Templates in which the level has a value.",
            "templates_missing": "Templates in which the level has no value.",
            "mean": "Mean level of the scale over these combinations, each counted once.",
            **INTERVAL,
            "status": "ok; incomplete if a combination of the other factors or a template is missing; alike_templates "
            "if the wordings are too alike for the interval to hold; or why there is no number.",
            **usual("reason"),
        },
        shown=(*WHO, "factor", "level", "n", "mean", *INTERVAL, "status"),
    ),
)
