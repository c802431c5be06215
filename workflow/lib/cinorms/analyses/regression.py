"""Regressions on the factors: cumulative link models of the answers, and the papers' of the norms.

Errors of the answers are clustered by flow and by wording, so that a term's interval holds where other wordings react
to its level in their own way, and for what the factors do not say of a flow. The norms are a selection: flows whose
answers disagree hold none. Of norms, one of each model in each arm, or one of several. A factor is one of the dataset,
``model``, ``arm``, or an attribute of these. Naming the model, the arm or one of their attributes makes one regression
of several models or arms.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.options import Baselines, Factors
from cinorms.analyses.shared import (
    Frames,
    add_factors,
    alike_words,
    answers_by_factor,
    check_same_scale,
    factors_of,
    fit_clm,
    for_each_model,
    marked_alike,
    named,
    planted_changes,
    stack,
)
from cinorms.core.labels import POOLED
from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import ARM_ATTRIBUTES, MODEL_ATTRIBUTES, Names, OfFlows, OfNorms
from cinorms.entries.place import EntryLocation
from cinorms.norms.assessment import held
from cinorms.vignettes.factors import other_flows, text

_NUMBERS = ("estimate", "std_err", "statistic", "p", "log10_p", "odds_ratio", "conf_low", "conf_high")
_COUNTS = ("n", "n_missing", "n_flows")
_MEASURES = ("log_likelihood", "aic", "mcfadden_r2")
#: These make one regression of several models, or of several arms.
_POOLS_MODELS = frozenset({"model", *MODEL_ATTRIBUTES})
_POOLS_ARMS = frozenset({"arm", *ARM_ATTRIBUTES})
#: What the errors of answers are clustered by, and what messages call it.
_CLUSTERS = {"flow": "flow", "template": "wording"}
#: More flows than a dataset has.
_MOST_FLOWS = 10**9
_NOT_OF_DATASET = _POOLS_MODELS | _POOLS_ARMS


class OrdinalRegressionOptions(Baselines, Factors, OfNorms):
    """Options of kind ``ordinal_regression``."""

    factors: NotRequired[Names] = None
    """Factors of the dataset, model, arm, or an attribute of a model or arm (capacity, temperature, ...); model, arm
    and attributes put several models or arms into one regression. Default: all factors of the dataset."""
    estimator: Literal["newton", "statsmodels"] = "newton"
    """newton: exact maximum likelihood; statsmodels: stops where the papers' software stops."""

    def check_factors(self, place: EntryLocation) -> None:
        """Look up the factors, and refuse an attribute that one of the models does not have."""
        super().check_factors(place)
        for factor in self.factors or ():
            for model in place.models(self) if factor in MODEL_ATTRIBUTES else ():
                if place.study.attributes(model)[factor] is None:
                    raise place.error(
                        "factors",
                        f"{factor!r} of model {model!r} is not known (models.yaml); name the models to compare under "
                        f"{place.key('models')}, or leave {factor!r} out",
                    )

    def allowed_factors(self, place: EntryLocation, arm: str) -> list[str]:
        """Return the factors that can be named for ``arm``."""
        further = ["model", "arm", *MODEL_ATTRIBUTES, *ARM_ATTRIBUTES]
        return list(dict.fromkeys([*super().allowed_factors(place, arm), *further]))

    def levels(self, place: EntryLocation, factor: str) -> list[str]:
        """Return the levels of a factor, also where it is not one of the dataset."""
        study, models = place.study, place.models(self)
        if factor == "model":
            return models
        if factor == "arm":
            return list(self.arms)
        if factor in MODEL_ATTRIBUTES:
            return list(dict.fromkeys(text(study.attributes(model)[factor]) for model in models))
        if factor in ARM_ATTRIBUTES:
            return list(dict.fromkeys(text(study.conditions(arm)[factor]) for arm in self.arms))
        return super().levels(place, factor)


def ordinal_regression(
    selected: Sequence[Selected], entry: Entry[OrdinalRegressionOptions], vignettes: Frames
) -> pd.DataFrame:
    """Return the regression of the norms held on the factors: a row per term, then a row per threshold.

    A fit that cannot be made is rows without numbers, one at least.
    """
    options, parts = entry.options, []
    for task in _tasks(selected, entry, vignettes):
        how: dict[str, Any] = {"estimator": options.estimator}
        # Norms of several models or arms on one flow are no independent norms.
        groups = ["flow"] if task.pools and options.estimator == "newton" else []
        how["cluster"] = "flow" if groups else None
        fit = _fit(task.frame, task.factors, options, groups, **how)
        facts: dict[str, Any] = {"estimator": options.estimator}
        facts["n_flows"] = None if isinstance(fit, tuple) else fit.n_clusters.get("flow")
        table = _rows(task.frame, fit, facts)
        parts.append(named(table, {"arm": task.arm, "model": task.model}))
    return stack(parts)


class Task(NamedTuple):
    """One regression: whose it is, its rows (``value`` missing without an answer), its factors."""

    arm: str
    model: str
    frame: pd.DataFrame
    factors: list[str]

    @property
    def pools(self) -> bool:
        """Whether it is of several models or arms."""
        return bool(_NOT_OF_DATASET.intersection(self.factors))


def _tasks(
    selected: Sequence[Selected], entry: Entry[OrdinalRegressionOptions], vignettes: Frames
) -> list[Task]:
    """Return the regressions of an entry, in the order of its arms and models."""
    groups: dict[tuple[str, str], list[pd.DataFrame]] = {}
    factors_by: dict[tuple[str, str], list[str]] = {}
    # What to add to an arm's numbers of flows, so that those of other flows are no cluster together.
    first: dict[str, int] = {}
    for arm in entry.arms:
        dataset, new = entry.factors_of[arm], len(first) * _MOST_FLOWS
        same = (
            b for b in first if not other_flows(dataset, entry.factors_of[b], vignettes[arm], vignettes[b])
        )
        first[arm] = next((first[b] for b in same), new)
    for one in selected:
        factors = factors_of(entry, one.arm, vignettes[one.arm])
        arm = POOLED if _POOLS_ARMS & set(factors) else one.arm
        model = POOLED if _POOLS_MODELS & set(factors) else one.model
        of_dataset = [factor for factor in factors if factor not in _NOT_OF_DATASET]
        frame = add_factors(held(one.frame, entry.thresholds[one.model]), vignettes[one.arm], of_dataset)
        if arm == POOLED:
            check_same_scale(entry, entry.arms)
            frame["flow"] = frame["flow"].astype("int64") + first[one.arm]
        facts = {
            **entry.conditions[one.arm],
            **entry.attributes[one.model],
            "model": one.model,
            "arm": one.arm,
        }
        frame = frame.assign(**{name: text(facts[name]) for name in factors if name in facts})
        groups.setdefault((arm, model), []).append(frame)
        factors_by[arm, model] = factors
    return [Task(*pair, _joined(frames), factors_by[pair]) for pair, frames in groups.items()]


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    whole = pd.concat([frame.astype({"value": "Float64"}) for frame in frames], ignore_index=True)
    for name in _NOT_OF_DATASET & set(whole.columns):
        levels = pd.Index(sorted(whole[name].unique(), key=_natural))
        whole[name] = pd.Categorical(whole[name], categories=levels)
    return whole


def _natural(level: str) -> tuple[float, str]:
    """Sort numbers by size and before words."""
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level


def _fit(
    frame: pd.DataFrame,
    factors: Sequence[str],
    options: "OrdinalRegressionOptions | AnswerRegressionOptions",
    groups: Iterable[str],
    **how: Any,
) -> Any:
    """Return the fit, or a pair (status, reason) where the rows lack a baseline or the others of one of ``groups``."""
    used = frame[frame["value"].notna()]
    baselines = {f: level for f, level in options.stated_baselines().items() if f in factors}
    for factor, level in baselines.items():
        if len(used) and level not in set(used[factor].astype(str)):
            return "no_baseline", f"no row with an answer has the baseline {factor} = {level}"
    for name in groups:
        if len(used) and used[name].nunique() < 2:
            return (
                f"one_{name}",
                f"all answers are in one {_CLUSTERS[name]}; nothing shows how others would differ",
            )
    return fit_clm(frame, "value", factors, baselines=baselines, **how)


def _rows(frame: pd.DataFrame, fit: Any, facts: dict[str, Any]) -> pd.DataFrame:
    """Return a row per term and threshold of a fit to ``frame``; it has the ``facts`` and those of every fit."""
    columns = ["term", "level", "baseline", *_NUMBERS, "status"]
    facts = facts | dict.fromkeys(_MEASURES)
    if isinstance(fit, tuple):
        n, table = int(frame["value"].notna().sum()), pd.DataFrame()
        facts |= {"fit_status": fit[0], "fit_reason": fit[1]}
    else:
        terms = fit.coefficients.rename(columns={"factor": "term"})
        cuts = fit.thresholds.rename(columns={"threshold": "level"}).assign(term="threshold")
        n, table = fit.n, stack([terms, cuts])
        facts |= {name: getattr(fit, name) for name in _MEASURES}
        facts |= {"fit_status": fit.status, "fit_reason": fit.reason}
    table = table.reindex(columns=columns)
    if table.empty:
        table = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
    # Numbers and texts have their types also where all are missing, so that tables can be stacked.
    types = dict.fromkeys([*_NUMBERS, *_MEASURES], "float64")
    types |= dict.fromkeys(_COUNTS, "Int64")
    types |= dict.fromkeys(["term", "level", "baseline", "status", "fit_status", "fit_reason"], "str")
    return table.assign(**facts | {"n": n, "n_missing": len(frame) - n}).astype(types)


# --- The answers


class AnswerRegressionOptions(Baselines, Factors, OfFlows):
    """Options of kind ``answer_regression``."""


@for_each_model
def answer_regression(
    one: Selected,
    entry: Entry[AnswerRegressionOptions],
    vignettes: pd.DataFrame,
    prompts: pd.DataFrame,
    coefficients: dict[str, Any] | None,
) -> pd.DataFrame:
    """Return, per model, the regression of its answers: a row per term, then a row per threshold."""
    options, factors = entry.options, factors_of(entry, one.arm, vignettes)
    frame = answers_by_factor(one.frame, vignettes, prompts, factors)
    fit = _fit(frame, factors, options, _CLUSTERS, cluster=[*_CLUSTERS])
    facts = {"n_flows": frame.loc[frame["value"].notna(), "flow"].nunique()}
    # A likelihood takes answers for independent.
    table = _rows(frame, fit, facts).drop(columns=[*_MEASURES])
    alike = alike_words(one.frame, prompts, entry.scales[one.arm])
    table = marked_alike(table, [alike], ("fit_status", "fit_reason"))
    return _with_planted(table, coefficients)


def _with_planted(table: pd.DataFrame, coefficients: dict[str, Any] | None) -> pd.DataFrame:
    """Return the table with what was planted in a respondent; missing for a model.

    The planted coefficients are of one flow in one wording, the estimates averages over flows and wordings: all are
    multiplied with the one factor that fits best.
    """
    change = planted_changes(coefficients)
    terms = table["std_err"].notna() & (table["term"] != "threshold")
    planted = np.full(len(table), np.nan)
    if change:
        planted[terms] = [
            change(*names) for names in table.loc[terms, ["term", "baseline", "level"]].to_numpy()
        ]
    weight = 1 / table["std_err"].to_numpy() ** 2
    squares = np.nansum(weight * planted**2)
    planted = planted * (
        np.nansum(weight * planted * table["estimate"].to_numpy()) / squares if squares > 0 else 1.0
    )
    inside = (table["conf_low"] <= planted) & (planted <= table["conf_high"])
    counts = {"planted_terms": int((~np.isnan(planted)).sum()), "planted_inside": int(inside.sum())}
    return table.assign(planted=planted, **(counts if change else dict.fromkeys(counts, pd.NA))).astype(
        dict.fromkeys(counts, "Int64")
    )


_COLUMNS = {
    **WHO,
    "term": "Name of the factor, or threshold (between two levels of the scale).",
    "level": "Level of the factor, or the two levels of the scale that the threshold separates.",
    **usual("baseline"),
    "estimate": "Change from the baseline to the level, or the threshold, as a logarithm of odds.",
    **usual("std_err", "statistic", "p", "log10_p"),
    "odds_ratio": "exp(estimate).",
    "conf_low": "Lower end of the 95% interval of the estimate.",
    "conf_high": "Upper end of the 95% interval of the estimate.",
    "status": "ok; few_clusters (too few flows for an error); or why the term has no numbers.",
    "estimator": "How the model was estimated.",
    "n": "Norms in the fit: flows without one are left out, so the terms describe the flows that hold one.",
    "n_missing": "Flows without a norm.",
    "n_flows": "Flows used as clusters; missing without them.",
    "log_likelihood": "Log-likelihood of the fit.",
    "aic": "Akaike's information criterion.",
    "mcfadden_r2": "McFadden's R squared.",
    "fit_status": "ok, separated (some terms have no finite estimate), or why there is no fit.",
    "fit_reason": "The status of the fit in words; empty where it is ok.",
}
#: Columns of the regression of norms that are not those of the answers, or say something else there.
_OF_NORMS = ("estimator", "n", "n_missing", "n_flows", "fit_status", *_MEASURES)
_OF_ANSWERS = {
    **{name: about for name, about in _COLUMNS.items() if name not in _OF_NORMS},
    "n": "Valid answers in the fit.",
    "n_missing": "Answers without a level.",
    "n_flows": "Flows with a valid answer.",
    "fit_status": "ok; alike_templates if the wordings are too alike for intervals and p-values to hold; or why there "
    "is no fit.",
    "planted": "Planted change from the baseline to the level, times one factor for all terms (its unit is another); "
    "only of planted respondents.",
    "planted_terms": "Terms with an interval and a planted change; missing for a model.",
    "planted_inside": "Of these, terms whose interval contains the planted change.",
}
_SHOWN = (*WHO, "term", "level", "baseline", "estimate", "std_err", "statistic", "p", "status")

KINDS = (
    Kind(
        name="answer_regression",
        about="Ordinal regression of the answers on factors (cumulative link model): coefficients, then thresholds. "
        "Errors are clustered by flow and by wording.",
        function=answer_regression,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_OF_ANSWERS,
        shown=_SHOWN,
    ),
    Kind(
        name="ordinal_regression",
        about="The papers' regression (cumulative link model) of the norms held on factors: coefficients, then "
        "thresholds. Its errors and p-values take each norm for one without error: they do not cover that other "
        "wordings could give other norms, nor flows that hold none.",
        function=ordinal_regression,
        reads="norms",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_COLUMNS,
        shown=_SHOWN,
    ),
)
