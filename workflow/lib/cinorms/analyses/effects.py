"""Kinds ``marginal_means`` and ``amce``: what each level of a factor does, by the design alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cinorms.analyses.factors import add_factors, templates_of, usual_factors
from cinorms.analyses.shared import Entry, chosen_each, for_each
from cinorms.entries.kinds import Selected
from cinorms.norms.assessment import valid_levels
from cinorms.stats import marginal_means
from cinorms.vignettes.factors import JOINT, text


def level_means(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return the marginal mean of every level, per model; columns as `marginal_means.marginal_means`.

    The intervals draw combinations of the other factors and templates.
    """

    def make(one: Selected) -> pd.DataFrame:
        design = entry["design"][one.arm]
        values = _values(one, entry, vignettes[one.arm], prompts[one.arm])
        if values.empty:
            return _nothing("no_flows", "no flow has the selected levels")
        return marginal_means.marginal_means(
            values,
            _factors(entry, one.arm, vignettes[one.arm]),
            entry["seed"],
            design["linked"],
            entry.get("resample", "both"),
            entry.get("draws", 2000),
        )

    return for_each(chosen_each(selected, entry, vignettes), make)


def level_effects(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return the average marginal component effect of every level; columns as `marginal_means.amce`."""

    def make(one: Selected) -> pd.DataFrame:
        design = entry["design"][one.arm]
        values = _values(one, entry, vignettes[one.arm], prompts[one.arm])
        if values.empty:
            return _nothing("no_flows", "no flow has the selected levels")
        baselines = {factor: text(level) for factor, level in entry.get("baselines", {}).items()}
        for factor, level in baselines.items():
            if level not in _levels(values, factor):
                return _nothing("no_baseline", f"no flow has the baseline {factor} = {level}")
        return marginal_means.amce(
            values,
            _factors(entry, one.arm, vignettes[one.arm]),
            baselines,
            entry["seed"],
            design["linked"],
            entry.get("resample", "both"),
            entry.get("draws", 2000),
        )

    return for_each(chosen_each(selected, entry, vignettes), make)


def _factors(entry: Entry, arm: str, vignettes: pd.DataFrame) -> list[str]:
    """Return the factors asked for, those linked with one of them added; all that vary without any."""
    design = entry["design"][arm]
    asked = {part for name in entry["factors"] for part in name.split(JOINT)} if "factors" in entry else set()
    asked = asked or {part for name in usual_factors(vignettes, design) for part in name.split(JOINT)}
    linked = [name for group in design["linked"] if asked & set(group) for name in group]
    return [name for name in design["factors"] if name in {*asked, *linked}]


def _values(one: Selected, entry: Entry, vignettes: pd.DataFrame, prompts: pd.DataFrame) -> pd.DataFrame:
    answers = one.frame
    rows = pd.DataFrame(
        {"flow": answers["flow"], "variant": templates_of(answers, prompts), "value": valid_levels(answers)}
    )
    return add_factors(rows, vignettes, _factors(entry, one.arm, vignettes))


def _levels(values: pd.DataFrame, factor: str) -> set[str]:
    return set(values[factor.split(JOINT)].drop_duplicates().astype(str).agg(JOINT.join, axis=1))


def _nothing(status: str, reason: str) -> pd.DataFrame:
    """Return one row without numbers, for a table that would have none."""
    texts = dict.fromkeys(["factor", "level", "baseline"])
    numbers = dict.fromkeys(
        ["n", "n_missing", "mean", "estimate", "std_err", "conf_low", "conf_high"], np.nan
    )
    return pd.DataFrame([texts | numbers | {"status": status, "reason": reason}])
