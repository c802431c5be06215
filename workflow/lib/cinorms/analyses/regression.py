"""Regressions: cumulative link models of the norms, or of every answer, on the factors.

One of each model in each arm, or one of several. A factor is one of the dataset, ``model``, ``arm``, or an attribute of
these; a response also has ``template`` and ``position``. Naming the model, the arm or one of their attributes makes one
regression of several models or arms.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.options import OTHER_FACTORS, RESPONSE_FACTORS, RegressionOptions
from cinorms.analyses.shared import (
    EntryPlace,
    Frames,
    add_attributes,
    add_factors,
    check_same_scale,
    factors_of,
    held,
    named,
    position_of_highest,
    stack,
    templates_of,
)
from cinorms.core.labels import POOLED
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import ARM_ATTRIBUTES, MODEL_ATTRIBUTES, Names, OfFlows, OfNorms
from cinorms.norms.assessment import valid_levels
from cinorms.vignettes.factors import other_flows

#: Random intercepts, or clusters, that ``errors`` asks for.
_INTERCEPTS = {
    "flow_intercept": ("flow",),
    "template_intercept": ("own_wording",),
    "crossed_intercepts": ("flow", "own_wording"),
}
_CLUSTERS = {"clustered": ("flow", "wording"), "flow_clustered": ("flow",)}
#: What rows in common are called in statuses and columns.
_CALLED = {"flow": "flow", "wording": "template", "own_wording": "template"}
#: Columns of a fit's scale part, and what they are called in the table.
_OF_SCALE = {
    **{name: name for name in ("factor", "level")},
    **{name: f"scale_{name}" for name in ("estimate", "std_err", "p", "conf_low", "conf_high")},
}
_COUNTS = ("n", "n_missing", "n_flows", "n_templates")
_MEASURES = ("log_likelihood", "aic", "mcfadden_r2", "sd_flow", "sd_template")
#: These make one regression of several models, or of several arms.
_POOLS_MODELS = frozenset({"model", *MODEL_ATTRIBUTES})
_POOLS_ARMS = frozenset({"arm", *ARM_ATTRIBUTES})
#: More flows than a dataset has.
_MOST_FLOWS = 10**9
_NOT_OF_DATASET = frozenset({*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES, *OTHER_FACTORS, *RESPONSE_FACTORS})


class ScaledRegressionOptions(RegressionOptions):
    """Options of a regression that can have a scale part."""

    scale: LeftOut[Names] = None
    """Factors, also named under factors, whose levels may spread their answers more or less over the scale (e.g.
    model). Default: all spread them alike."""

    def check(self, place: EntryPlace) -> None:
        """Look up the factors of the scale."""
        super().check(place)
        what = "factor under factors of this analysis"
        place.check_names("scale", self.scale or (), self.factors or (), what)
        if self.scale and self.estimation not in ("newton", *_CLUSTERS):
            raise place.error(
                "scale",
                f"does not work with {self.estimation!r}; use newton, or for responses clustered errors",
            )


class NormRegressionOptions(RegressionOptions, OfNorms):
    """Options of a regression of the norms."""

    errors: LeftOut[Literal["independent", "clustered"]] = None
    """clustered: allows norms of several models or arms on the same flow to be correlated (newton only); independent:
    treats norms as independent. Default: clustered if a regression by newton has several models or arms, else
    independent."""

    def clusters(self, task: "Task") -> tuple[str, ...]:
        """Return the clusters of a regression."""
        pools = task.between and self.estimation == "newton"
        return ("flow",) if (self.errors or ("clustered" if pools else "")) == "clustered" else ()


class OrdinalRegressionOptions(ScaledRegressionOptions, NormRegressionOptions):
    """Options of kind ``ordinal_regression``."""

    estimator: Literal["newton", "statsmodels", "penalised"] = "newton"
    """newton: exact maximum likelihood; statsmodels: stops where the papers' software stops; penalised: gives finite
    estimates even under separation."""

    @property
    def estimation(self) -> str:
        """How it is estimated, as the table names it."""
        return self.estimator

    def check(self, place: EntryPlace) -> None:
        """Refuse clusters with an estimator that has none."""
        super().check(place)
        if self.errors == "clustered" and self.estimator != "newton":
            raise place.error(
                "errors",
                f"'clustered' does not work with estimator {self.estimator!r}; use newton, or errors: independent",
            )


class ResponseRegressionOptions(ScaledRegressionOptions, OfFlows):
    """Options of kind ``response_regression``."""

    factors: LeftOut[Names] = None
    """Factors of the dataset, template, position, model, arm, or an attribute of a model or arm (capacity, temperature,
    ...); default: the dataset's factors, template and position."""
    errors: Literal[
        "clustered", "flow_clustered", "flow_intercept", "template_intercept", "crossed_intercepts"
    ] = Field(
        "clustered",
        description="clustered: allows answers to the same flow, and answers in the same template, to be correlated; "
        "flow_clustered: the same for flows only (does not generalise to other wordings); flow_intercept: a mixed "
        "model with a random intercept for each flow; template_intercept: one for each template of each model, or for "
        "each rater; crossed_intercepts: one for each flow and one for each template (all three take minutes).",
    )

    @property
    def estimation(self) -> str:
        """How it is estimated, as the table names it."""
        return self.errors

    def allowed_factors(self, place: EntryPlace, arm: str) -> list[str]:
        """Return the factors that can be named for ``arm``."""
        return [*super().allowed_factors(place, arm), *RESPONSE_FACTORS]

    def factors_used(self, place: EntryPlace, arm: str) -> Iterable[str]:
        """Return the factors that the regression names, or else all that it can use."""
        return [*super().factors_used(place, arm), *(() if self.factors else RESPONSE_FACTORS)]

    def levels(self, place: EntryPlace, factor: str) -> list[str]:
        """Return the levels of a factor, also of template and position."""
        if factor == "template":
            return [str(i) for i in range(max(place.study.templates(arm) for arm in self.arms))]
        if factor == "position":
            shown = max(place.study.scale(arm).n_shown for arm in self.arms)
            return [str(i) for i in range(1, shown + 1)]
        return super().levels(place, factor)


def ordinal_regression(
    selected: Sequence[Selected], entry: Entry[OrdinalRegressionOptions], vignettes: Frames
) -> pd.DataFrame:
    """Return the regression of the norms held on the factors: a row per term, then a row per threshold.

    A fit that cannot be made is rows without numbers, one at least.
    """
    tasks = _norm_tasks(selected, entry, vignettes)
    return stack([_table(task, _fit(task, entry, entry.options.clusters(task)), entry) for task in tasks])


def proportional_odds(
    selected: Sequence[Selected], entry: Entry[NormRegressionOptions], vignettes: Frames
) -> pd.DataFrame:
    """Return the score test of proportional odds for each regression that ``ordinal_regression`` would make.

    Where norms of a flow may be correlated, the flows are the units of inference.
    """
    parts = []
    for task in _norm_tasks(selected, entry, vignettes):
        clusters = entry.options.clusters(task)
        fit = _fit(task, entry, clusters)
        fitted = not isinstance(fit, tuple)
        if fitted and fit.solved is not None:
            table = fit.proportional_odds_test().rename(columns={"factor": "term"})
        else:
            blank: dict[str, Any] = {"term": None, "level": None, "statistic": np.nan, "df": 0}
            blank |= {"p": np.nan, "log10_p": np.nan, "status": fit.status if fitted else fit[0]}
            table = pd.DataFrame([blank])
        n = int(task.frame["value"].notna().sum())
        if clusters:
            flows = fit.n_clusters.get("flow") if fitted else None
            table["n_flows"] = pd.array([flows] * len(table), "Int64")
        parts.append(named(table, {"arm": task.arm, "model": task.model, "n": n}))
    return stack(parts)


def response_regression(
    selected: Sequence[Selected], entry: Entry[ResponseRegressionOptions], vignettes: Frames, prompts: Frames
) -> pd.DataFrame:
    """Return the regression of every valid answer on the factors, the template and the order shown.

    ``template`` is the template's number, ``position`` the place at which the highest option was shown.
    """
    errors = entry.options.errors
    # What a template does is in its intercept, if it has one.
    in_intercept = "own_wording" in _INTERCEPTS.get(errors, ())
    further = ["position"] if in_intercept else RESPONSE_FACTORS
    tasks = _tasks(selected, entry, vignettes, further, lambda one: _responses(one, prompts[one.arm]))
    return stack([_table(task, _fit(task, entry, _CLUSTERS.get(errors, ())), entry) for task in tasks])


def _norm_tasks(
    selected: Sequence[Selected], entry: Entry[RegressionOptions], vignettes: Frames
) -> list["Task"]:
    return _tasks(selected, entry, vignettes, (), lambda one: held(one.frame, entry, one.model))


class Task(NamedTuple):
    """One regression: whose it is, its rows (``value`` missing without an answer), its factors."""

    arm: str
    model: str
    frame: pd.DataFrame
    factors: list[str]

    @property
    def between(self) -> list[str]:
        """The factors that differ between the models or arms that it pools."""
        return [name for name in self.factors if name in _POOLS_MODELS | _POOLS_ARMS]


def _responses(one: Selected, prompts: pd.DataFrame) -> pd.DataFrame:
    answers, template = one.frame, templates_of(one.frame, prompts)
    (prompt_set,) = prompts["prompt_set"].unique()  # an arm has one
    wording = [f"{prompt_set}/{number}" for number in template.categories]
    own = [f"{one.arm}/{one.model}/{name}" for name in wording]
    return pd.DataFrame(
        {
            "flow": answers["flow"],
            "value": valid_levels(answers),
            "template": template,
            "position": position_of_highest(answers["order"]),
            # The same in all models and arms that were asked in it, and of this model in this arm alone.
            "wording": pd.Categorical.from_codes(template.codes, categories=pd.Index(wording)),
            "own_wording": pd.Categorical.from_codes(template.codes, categories=pd.Index(own)),
        }
    )


def _tasks(
    selected: Sequence[Selected],
    entry: Entry[RegressionOptions],
    vignettes: Frames,
    further: Sequence[str],
    rows_of: Callable[[Selected], pd.DataFrame],
) -> list[Task]:
    """Return the regressions of an entry, in the order of its arms and models.

    ``further`` factors count where the entry names none; ``rows_of`` gives flow and value of each row.
    """
    groups: dict[tuple[str, str], list[pd.DataFrame]] = {}
    factors_by: dict[tuple[str, str], list[str]] = {}
    # What to add to an arm's numbers of flows, so that those of other flows are no cluster together.
    first: dict[str, int] = {}
    for arm in entry.arms:
        told, own = entry.factors_of[arm], len(first) * _MOST_FLOWS
        same = (b for b in first if not other_flows(told, entry.factors_of[b], vignettes[arm], vignettes[b]))
        first[arm] = next((first[b] for b in same), own)
    for one in selected:
        factors = factors_of(entry, one.arm, vignettes[one.arm])
        factors += () if entry.options.factors else further
        arm = POOLED if _POOLS_ARMS & set(factors) else one.arm
        model = POOLED if _POOLS_MODELS & set(factors) else one.model
        of_dataset = [factor for factor in factors if factor not in _NOT_OF_DATASET]
        frame = add_factors(rows_of(one), vignettes[one.arm], of_dataset)
        if arm == POOLED:
            check_same_scale(entry, entry.arms)
            frame["flow"] = frame["flow"].astype("int64") + first[one.arm]
        groups.setdefault((arm, model), []).append(add_attributes(frame, factors, one.arm, one.model, entry))
        factors_by[arm, model] = factors
    return [Task(*pair, _joined(frames), factors_by[pair]) for pair, frames in groups.items()]


def _joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    if len(frames) == 1:
        return frames[0]
    whole = pd.concat([frame.astype({"value": "Float64"}) for frame in frames], ignore_index=True)
    for name in {*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES, *OTHER_FACTORS} & set(whole.columns):
        levels = pd.Index(sorted(whole[name].unique(), key=_natural))
        whole[name] = pd.Categorical(whole[name], categories=levels)
    return whole


def _natural(level: str) -> tuple[float, str]:
    """Sort numbers by size and before words."""
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level


def _fit(task: Task, entry: Entry[RegressionOptions], clusters: tuple[str, ...] = ()) -> Any:
    """Return the fit, or a pair (status, reason) where the entry asks for what the rows do not have."""
    used = task.frame[task.frame["value"].notna()]
    # Not above: SciPy need not be loaded to load a study.
    from cinorms.stats.clm import fit_clm, fit_clmm

    options = entry.options
    baselines = {f: level for f, level in options.stated_baselines().items() if f in task.factors}
    for factor, level in baselines.items():
        if len(used) and level not in set(used[factor].astype(str)):
            return "no_baseline", f"no row with an answer has the baseline {factor} = {level}"
    groups = _INTERCEPTS.get(options.estimation, ())
    for name in (*clusters, *groups):
        if len(used) and used[name].nunique() < 2:
            what = _CALLED[name]
            return f"one_{what}", f"all answers are in one {what}; nothing shows how others would differ"
    if groups:
        # A difference between models or arms has as many independent units as wordings, not as answers.
        pooled = task.between if "own_wording" in groups else ()
        freedom = {factor: used["wording"].nunique() - 1.0 for factor in pooled}
        return fit_clmm(task.frame, "value", task.factors, groups, baselines, options.link, freedom=freedom)
    estimator = "newton" if clusters else options.estimation
    rows, scale = task.frame, getattr(options, "scale", None) or ()
    return fit_clm(rows, "value", task.factors, baselines, options.link, estimator, clusters or None, scale)


def _table(task: Task, fit: Any, entry: Entry[RegressionOptions]) -> pd.DataFrame:
    """Return the rows of one fit: its terms, its thresholds, and in each the facts of the fit."""
    from cinorms.stats.clm import COEFFICIENT_COLUMNS

    of_scale = [*_OF_SCALE.values()][2:] if getattr(entry.options, "scale", None) else []
    columns = ["term", *COEFFICIENT_COLUMNS[1:], *of_scale]
    facts: dict[str, Any] = {"link": entry.options.link, "estimator": entry.options.estimation}
    facts |= dict.fromkeys((*_COUNTS, *_MEASURES))
    if isinstance(fit, tuple):
        n, table = int(task.frame["value"].notna().sum()), pd.DataFrame()
        facts |= {"fit_status": fit[0], "fit_reason": fit[1]}
    else:
        terms = fit.coefficients
        if getattr(fit, "scale", None) is not None:
            spread = fit.scale[list(_OF_SCALE)].rename(columns=_OF_SCALE)
            terms = terms.merge(spread, "left", ["factor", "level"])
        terms = terms.rename(columns={"factor": "term"})
        cuts = fit.thresholds.rename(columns={"threshold": "level"}).assign(term="threshold")
        n, table = fit.n, stack([terms, cuts])
        facts |= {
            **{f"n_{_CALLED[name]}s": number for name, number in fit.n_clusters.items()},
            "log_likelihood": fit.log_likelihood,
            "aic": fit.aic,
            "mcfadden_r2": getattr(fit, "mcfadden_r2", None),
            **{f"sd_{_CALLED[name]}": sd for name, sd in getattr(fit, "sd", {}).items()},
            "fit_status": fit.status,
            # The only group that the package can name there is an intercept without spread.
            "fit_reason": fit.reason.replace("own_wording", _CALLED["own_wording"]),
        }
    table = table.reindex(columns=columns)
    if table.empty:
        table = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
    # Numbers and texts have their types also where all are missing, so that tables can be stacked.
    types = dict.fromkeys([*COEFFICIENT_COLUMNS[3:-1], *of_scale, *_MEASURES], "float64")
    types |= dict.fromkeys(_COUNTS, "Int64")
    types |= dict.fromkeys(["term", "level", "baseline", "status", "fit_status", "fit_reason"], "str")
    table = table.assign(**facts | {"n": n, "n_missing": len(task.frame) - n}).astype(types)
    return named(table, {"arm": task.arm, "model": task.model})


_COLUMNS = {
    **WHO,
    "term": "Name of the factor, or threshold (between two levels of the scale).",
    "level": "Level of the factor, or the two levels of the scale that the threshold separates.",
    **usual("baseline"),
    "estimate": "Change from the baseline to the level, or the threshold, on the scale of the link.",
    **usual("std_err", "statistic", "p", "log10_p"),
    "odds_ratio": "exp(estimate); only for link logit.",
    "conf_low": "Lower end of the 95% interval of the estimate.",
    "conf_high": "Upper end of the 95% interval of the estimate.",
    "status": "ok; penalised (finite only because of the penalty); or why the term has no numbers.",
    "scale_estimate": "Logarithm of how much wider the level spreads its answers than the baseline (sigma of the "
    "latent answer); only for the factors that the option scale names.",
    "scale_std_err": "Standard error of scale_estimate.",
    "scale_p": "p-value of scale_estimate; the answers are spread alike at 0.",
    "scale_conf_low": "Lower end of the 95% interval of scale_estimate.",
    "scale_conf_high": "Upper end of the 95% interval of scale_estimate.",
    "link": "Link of the cumulative model.",
    "estimator": "How the model was estimated: the estimator, or for responses the kind of errors.",
    "n": "Norms or valid answers in the fit.",
    "n_missing": "Flows without a norm, or invalid answers.",
    "n_flows": "Flows used as clusters or random intercepts; missing without them.",
    "n_templates": "Templates used as clusters or random intercepts; missing without them.",
    "log_likelihood": "Log-likelihood of the fit.",
    "aic": "Akaike's information criterion.",
    "mcfadden_r2": "McFadden's R squared; missing for mixed models.",
    "sd_flow": "Standard deviation of the flows' random intercepts; missing without them.",
    "sd_template": "Standard deviation of the templates' random intercepts; missing without them.",
    "fit_status": "ok, separated (some terms have no finite estimate), or why there is no fit.",
    "fit_reason": "The status of the fit in words; empty where it is ok.",
}
_SHOWN = (*WHO, "term", "level", "baseline", "estimate", "std_err", "statistic", "p", "status")

KINDS = (
    Kind(
        name="ordinal_regression",
        about="Ordinal regression (cumulative link model) of the norms on factors: coefficients, then thresholds.",
        function=ordinal_regression,
        reads="norms",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_COLUMNS,
        shown=_SHOWN,
    ),
    Kind(
        name="proportional_odds",
        about="Score test of proportional odds for the same regression.",
        function=proportional_odds,
        reads="norms",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns={
            **WHO,
            "n": "Norms in the test.",
            "n_flows": "Flows in it, the units of inference; missing where each norm is one.",
            "term": "Name of the factor; missing for the joint test of all factors.",
            "level": "Level of the factor; missing for the test of the whole factor.",
            "statistic": "The score statistic: chi-square, or where flows are the units Hotelling's T squared, whose p "
            "is that of F = T squared (n_flows - df) / (df (n_flows - 1)).",
            "df": "Its degrees of freedom; those of the error are n_flows - df.",
            **usual("p", "log10_p"),
            "status": "ok, or why there is no test: the status of the fit where there is no fit.",
        },
    ),
    Kind(
        name="response_regression",
        about="Ordinal regression (cumulative link model) of all valid answers on factors, template and position.",
        function=response_regression,
        reads="answers",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_COLUMNS,
        shown=_SHOWN,
    ),
)
