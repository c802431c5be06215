"""Kinds ``ordinal_regression``, ``proportional_odds`` and ``response_regression``: cumulative link models.

A factor is one of the dataset, ``model``, ``arm``, or an attribute of these; a response also has ``template``
and ``position``. Naming the model, the arm or one of their attributes makes one regression of several models
or arms; otherwise each model in each arm has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.factors import (
    add_attributes,
    add_factors,
    position_of_highest,
    templates_of,
    usual_factors,
)
from cinorms.analyses.names import OTHER_FACTORS, POOLS_ARMS, POOLS_MODELS, RESPONSE_FACTORS
from cinorms.analyses.shared import Entry, chosen_each, held, named, stack
from cinorms.core.labels import POOLED
from cinorms.entries.kinds import Selected
from cinorms.norms.assessment import valid_levels
from cinorms.stats.clm.fit import COEFFICIENT_COLUMNS, ClmFit, fit_clm
from cinorms.study.attributes import ARM_ATTRIBUTES, MODEL_ATTRIBUTES
from cinorms.vignettes.factors import text

#: Random intercepts that ``errors`` asks for.
_INTERCEPTS = {"flow_intercept": ("flow",), "crossed_intercepts": ("flow", "variant")}

_NOT_OF_DATASET = frozenset({*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES, *OTHER_FACTORS, *RESPONSE_FACTORS})
_FIT_COLUMNS = [
    "n",
    "n_missing",
    "n_clusters",
    "log_likelihood",
    "aic",
    "mcfadden_r2",
    "sd_flow",
    "sd_variant",
]


@dataclass(frozen=True)
class Task:
    """One regression: whose it is, its rows (``value`` missing without an answer), its factors."""

    arm: str
    model: str
    frame: pd.DataFrame
    factors: list[str]


def ordinal_regression(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the regression of the norms held on the factors: a row per term, then a row per threshold.

    Columns: arm, model, term (the factor, or "threshold"), level, baseline, then as ``ClmFit.coefficients``;
    then, the same in every row of a fit: link, estimator, n, n_missing (flows without a norm), n_clusters,
    log_likelihood, aic, mcfadden_r2, sd_flow, sd_variant, fit_status, fit_reason. A fit that cannot be made is rows
    without numbers, one at least.
    """
    return stack([_table(task, _fit(task, entry), entry) for task in _norm_tasks(selected, entry, vignettes)])


def proportional_odds(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the score test of proportional odds for each regression that ``ordinal_regression`` would make.

    Columns: arm, model, n, term (the factor; missing: overall), level (missing: the whole factor), statistic,
    df, p, log10_p, status; the status of the fit where there is none.
    """
    parts = []
    for task in _norm_tasks(selected, entry, vignettes):
        fit = _fit(task, entry)
        if isinstance(fit, ClmFit) and fit.solved is not None:
            table = fit.proportional_odds_test().rename(columns={"factor": "term"})
        else:
            blank = {
                "term": None,
                "level": None,
                "statistic": np.nan,
                "df": 0,
                "p": np.nan,
                "log10_p": np.nan,
            }
            table = pd.DataFrame([blank | {"status": fit.status if isinstance(fit, ClmFit) else fit[0]}])
        n = int(task.frame["value"].notna().sum())
        parts.append(named(table, {"arm": task.arm, "model": task.model, "n": n}))
    return stack(parts)


def response_regression(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return the regression of every valid answer on the factors, the template and the order shown.

    ``template`` is the template's number, ``position`` the place at which the highest option was shown. With
    ``errors: flow_intercept`` it is the mixed model with a random intercept for the flow, with
    ``crossed_intercepts`` with one for the flow and one for the variant (then neither template nor position is
    among the factors where none are named); else (``clustered``) the standard errors are robust against what
    the answers of one flow share. Columns as of ``ordinal_regression``; ``sd_flow`` and ``sd_variant`` are the
    standard deviations of the random intercepts, ``n_clusters`` counts flows.
    """
    selected = chosen_each(selected, entry, vignettes)
    # What a template or an order does is in the variant's intercept.
    further = () if entry.get("errors") == "crossed_intercepts" else RESPONSE_FACTORS
    tasks = _tasks(selected, entry, vignettes, further, lambda one: _responses(one, prompts[one.arm]))
    return stack([_table(task, _fit(task, entry, cluster="flow"), entry) for task in tasks])


def _norm_tasks(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> list[Task]:
    selected = chosen_each(selected, entry, vignettes)
    return _tasks(selected, entry, vignettes, (), lambda one: held(one.frame, entry, one.model))


def _responses(one: Selected, prompts: pd.DataFrame) -> pd.DataFrame:
    answers = one.frame
    return pd.DataFrame(
        {
            "flow": answers["flow"],
            "variant": answers["variant"],
            "value": valid_levels(answers),
            "template": templates_of(answers, prompts),
            "position": position_of_highest(answers["order"]),
        }
    )


def _tasks(
    selected: Sequence[Selected],
    entry: Entry,
    vignettes: Mapping[str, pd.DataFrame],
    further: Sequence[str],
    rows_of: Any,
) -> list[Task]:
    """Return the regressions of an entry, in the order of its arms and models."""
    groups: dict[tuple[str, str], list[pd.DataFrame]] = {}
    factors_of: dict[tuple[str, str], list[str]] = {}
    for one in selected:
        usual = usual_factors(vignettes[one.arm], entry["design"][one.arm])
        factors = entry.get("factors") or [*usual, *further]
        arm = POOLED if POOLS_ARMS & set(factors) else one.arm
        model = POOLED if POOLS_MODELS & set(factors) else one.model
        frame = add_factors(
            rows_of(one), vignettes[one.arm], [f for f in factors if f not in _NOT_OF_DATASET]
        )
        groups.setdefault((arm, model), []).append(add_attributes(frame, factors, one.arm, one.model, entry))
        factors_of[arm, model] = list(factors)
    return [
        Task(arm, model, _joined(frames), factors_of[arm, model]) for (arm, model), frames in groups.items()
    ]


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    whole = pd.concat([frame.astype({"value": "Float64"}) for frame in frames], ignore_index=True)
    for name in set(MODEL_ATTRIBUTES + ARM_ATTRIBUTES + OTHER_FACTORS) & set(whole.columns):
        whole[name] = pd.Categorical(
            whole[name], categories=pd.Index(sorted(whole[name].unique(), key=_natural))
        )
    return whole


def _natural(level: str) -> tuple[float, str]:
    """Sort numbers by size and before words."""
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level


def _fit(task: Task, entry: Entry, cluster: str | None = None) -> Any:
    """Return the fit, or a pair (status, reason) where the entry asks for what the rows do not have."""
    used = task.frame[task.frame["value"].notna()]
    baselines = {f: text(level) for f, level in entry.get("baselines", {}).items() if f in task.factors}
    for factor, level in baselines.items():
        if len(used) and level not in set(used[factor].astype(str)):
            return "no_baseline", f"no row with an answer has the baseline {factor} = {level}"
    if cluster and len(used) > 0 and used[cluster].nunique() < 2:
        return "one_flow", "all answers are about one flow"
    link = entry.get("link", "logit")
    if entry.get("errors") in _INTERCEPTS:
        from cinorms.stats.clm.mixed import fit_clmm

        groups = _INTERCEPTS[entry["errors"]]
        few = [name for name in groups if len(used) and used[name].nunique() < 2]
        if few:
            return "one_group", f"all answers are of one {few[0]}"
        return fit_clmm(task.frame, "value", task.factors, groups, baselines, link)
    estimator = entry.get("estimator", "newton")
    return fit_clm(task.frame, "value", task.factors, baselines, link, estimator, cluster=cluster)


def _table(task: Task, fit: Any, entry: Entry) -> pd.DataFrame:
    """Return the rows of one fit: its terms, its thresholds, and in each the facts of the fit."""
    names = {"arm": task.arm, "model": task.model}
    columns = ["term", *COEFFICIENT_COLUMNS[1:]]
    facts: dict[str, Any] = {
        "link": entry.get("link", "logit"),
        "estimator": entry.get(
            "errors", "clustered" if "template" in task.frame else entry.get("estimator", "newton")
        ),
    }
    if isinstance(fit, tuple):
        blank = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
        facts |= dict.fromkeys(_FIT_COLUMNS) | {"fit_status": fit[0], "fit_reason": fit[1]}
        facts |= {
            "n": int(task.frame["value"].notna().sum()),
            "n_missing": int(task.frame["value"].isna().sum()),
        }
        return named(_typed(blank.assign(**facts)), names)
    terms = fit.coefficients.rename(columns={"factor": "term"})
    cuts = fit.thresholds.rename(columns={"threshold": "level"}).assign(term="threshold")
    table = pd.concat([part for part in (terms, cuts) if len(part)] or [terms], ignore_index=True)
    table = table.reindex(columns=columns)
    if table.empty:
        table = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
    facts |= {
        "n": fit.n,
        "n_missing": len(task.frame) - fit.n,
        "n_clusters": fit.n_clusters,
        "log_likelihood": fit.log_likelihood,
        "aic": fit.aic,
        "mcfadden_r2": getattr(fit, "mcfadden_r2", None),
        **{f"sd_{name}": getattr(fit, "sd", {}).get(name) for name in ("flow", "variant")},
        "fit_status": fit.status,
        "fit_reason": fit.reason,
    }
    return named(_typed(table.assign(**facts)), names)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Give numbers and texts their types also where all are missing, so that tables can be stacked."""
    floats = [*COEFFICIENT_COLUMNS[3:-1], *_FIT_COLUMNS[3:]]
    types = dict.fromkeys(floats, "float64") | dict.fromkeys(_FIT_COLUMNS[:3], "Int64")
    texts = dict.fromkeys(["term", "level", "baseline", "status", "fit_status", "fit_reason"], "str")
    return table.astype(types | texts)
