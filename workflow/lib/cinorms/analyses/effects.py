"""Kinds ``marginal_means`` and ``amce``: what each level of a factor does, by the design alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cinorms.analyses.columns import BASELINE, FACTOR, INTERVAL, LEVEL, REASON, STATUS, WHO, names
from cinorms.analyses.options import Baselines, Factors, Generalises
from cinorms.analyses.shared import add_factors, factors_of, for_each_model, templates_of
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import OfFlows
from cinorms.norms.assessment import valid_levels
from cinorms.stats import marginal_means
from cinorms.vignettes.factors import JOINT

_INCOMPLETE = Column(
    "status",
    "ok; incomplete if a combination of the other factors or a template is missing; or why there is no number.",
)
_N_CELLS = Column("n", "Combinations of the other factors in which the level has a value.")
_NO_TEMPLATES = Column("templates_missing", "Templates in which the level has no value.")
_MEAN = Column("mean", "Mean level of the scale over these combinations, each counted once.")
_OF_MEANS = (
    FACTOR,
    LEVEL,
    _N_CELLS,
    Column("n_missing", "Combinations of the other factors in which the level has no value."),
    Column("templates", "Templates in which the level has a value."),
    _NO_TEMPLATES,
    _MEAN,
    *INTERVAL,
    _INCOMPLETE,
    REASON,
)
_N_PAIRS = Column(
    "n", "Combinations of the other factors in which at least one template compares level and baseline."
)
_EFFECT = Column("estimate", "Mean of level minus baseline within a combination and template, in levels.")
_OF_EFFECTS = (
    FACTOR,
    LEVEL,
    BASELINE,
    _N_PAIRS,
    Column("n_missing", "Combinations of the other factors in which no template compares the two."),
    Column("templates", "Templates that compare level and baseline."),
    Column("templates_missing", "Templates that do not, because level or baseline has no value there."),
    _EFFECT,
    *INTERVAL,
    _INCOMPLETE,
    REASON,
)
_TEXTS = names(FACTOR, LEVEL, BASELINE)


class MeansOptions(Generalises, Factors, OfFlows):
    """Options of marginal means."""


class EffectsOptions(Baselines, MeansOptions):
    """Options of average marginal component effects."""


@for_each_model
def level_means(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return the marginal mean of every level, per model: `marginal_means.marginal_means`."""
    values = _values(one, entry, vignettes, prompts)
    if values.empty:
        return _nothing(_OF_MEANS, "no_flows", "no flow has the selected levels")
    return marginal_means.marginal_means(
        values,
        _factors(entry, one.arm, vignettes),
        entry.factors_of[one.arm].linked,
        entry.options.fixed_flows,
    )


@for_each_model
def level_effects(
    one: Selected, entry: Entry[EffectsOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    """Return the average marginal component effect of every level, per model: `marginal_means.amce`."""
    baselines = entry.options.stated_baselines()
    values = _values(one, entry, vignettes, prompts)
    if values.empty:
        return _nothing(_OF_EFFECTS, "no_flows", "no flow has the selected levels")
    for factor, level in baselines.items():
        if level not in _levels(values, factor):
            return _nothing(_OF_EFFECTS, "no_baseline", f"no flow has the baseline {factor} = {level}")
    return marginal_means.amce(
        values,
        _factors(entry, one.arm, vignettes),
        baselines,
        entry.factors_of[one.arm].linked,
        entry.options.fixed_flows,
    )


def _factors(entry: Entry[MeansOptions], arm: str, vignettes: pd.DataFrame) -> list[str]:
    """Return the named factors and those linked with them; all varying factors if none is named."""
    dataset = entry.factors_of[arm]
    stated = factors_of(entry, arm, vignettes)
    asked = {part for name in stated for part in name.split(JOINT)}
    linked = [name for group in dataset.linked if asked & set(group) for name in group]
    return [name for name in dataset.factors if name in {*asked, *linked}]


def _values(
    one: Selected, entry: Entry[MeansOptions], vignettes: pd.DataFrame, prompts: pd.DataFrame
) -> pd.DataFrame:
    answers = one.frame
    rows = pd.DataFrame(
        {"flow": answers["flow"], "template": templates_of(answers, prompts), "value": valid_levels(answers)}
    )
    return add_factors(rows, vignettes, _factors(entry, one.arm, vignettes))


def _levels(values: pd.DataFrame, factor: str) -> set[str]:
    return set(values[factor.split(JOINT)].drop_duplicates().astype(str).agg(JOINT.join, axis=1))


def _nothing(columns: Sequence[Column], status: str, reason: str) -> pd.DataFrame:
    """Return one row without numbers, for a table that would have none."""
    row = {name: None if name in _TEXTS else np.nan for name in names(*columns)}
    return pd.DataFrame([row | {"status": status, "reason": reason}])


KINDS = (
    Kind(
        name="marginal_means",
        about="The mean answer at each level of each factor, averaged evenly over the design (no regression model).",
        options=MeansOptions,
        function=level_means,
        reads="answers",
        also=("vignettes", "prompts"),
        decided="block",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns=(*WHO, *_OF_MEANS),
        shown=names(*WHO, FACTOR, LEVEL, _N_CELLS, _MEAN, *INTERVAL, STATUS),
    ),
    Kind(
        name="amce",
        about="The average marginal component effect of each level of each factor, relative to its baseline.",
        options=EffectsOptions,
        function=level_effects,
        reads="answers",
        also=("vignettes", "prompts"),
        decided="block",
        report_section="factors",
        key=("arm", "model", "factor", "level"),
        columns=(*WHO, *_OF_EFFECTS),
        shown=names(*WHO, FACTOR, LEVEL, BASELINE, _N_PAIRS, _EFFECT, *INTERVAL, STATUS),
    ),
)
