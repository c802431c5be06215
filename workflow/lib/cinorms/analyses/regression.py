"""Regressions: cumulative link models of the norms, or of every answer, on the factors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from cinorms.analyses.columns import (
    BASELINE,
    LOG10_P,
    STATISTIC,
    STD_ERR,
    WHO,
    P,
    names,
)
from cinorms.analyses.options import RESPONSE_FACTORS, RegressionOptions
from cinorms.analyses.pooling import Task, norm_tasks, response_tasks
from cinorms.analyses.shared import named, stack
from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Column, Kind
from cinorms.entries.options import Names, OfFlows, OfNorms

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

#: Random intercepts, or clusters, that ``errors`` asks for.
_INTERCEPTS = {
    "flow_intercept": ("flow",),
    "template_intercept": ("own_wording",),
    "crossed_intercepts": ("flow", "own_wording"),
}
_CLUSTERS = {"clustered": ("flow", "wording"), "flow_clustered": ("flow",)}
#: What rows in common are called in statuses and columns.
_CALLED = {"flow": "flow", "wording": "template", "own_wording": "template"}
_FIT_COLUMNS = [
    "n",
    "n_missing",
    "n_flows",
    "n_templates",
    "log_likelihood",
    "aic",
    "mcfadden_r2",
    "sd_flow",
    "sd_template",
]


class NormRegressionOptions(RegressionOptions, OfNorms):
    """Options of a regression of the norms."""


class OrdinalRegressionOptions(NormRegressionOptions):
    """Options of kind ``ordinal_regression``."""

    estimator: Literal["newton", "statsmodels", "penalised"] = Field(
        "newton",
        description="newton: exact maximum likelihood; statsmodels: stops where the papers' software stops; penalised: "
        "gives finite estimates even under separation.",
    )

    errors: LeftOut[Literal["independent", "clustered"]] = Field(
        None,
        description="clustered: allows norms of several models or arms on the same flow to be correlated (newton "
        "only); independent: treats norms as independent. Default: clustered if a regression by newton has several "
        "models or arms, else independent.",
    )

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


class ResponseRegressionOptions(RegressionOptions, OfFlows):
    """Options of kind ``response_regression``."""

    factors: LeftOut[Names] = Field(
        None,
        description="Factors of the dataset, template, position, model, arm, or an attribute of a model or arm "
        "(capacity, temperature, ...); default: the dataset's factors, template and position.",
    )
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
    selected: Sequence[Selected],
    entry: Entry[OrdinalRegressionOptions],
    vignettes: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return the regression of the norms held on the factors: a row per term, then a row per threshold.

    A fit that cannot be made is rows without numbers, one at least.
    """
    tasks = norm_tasks(selected, entry, vignettes)
    return stack([_table(task, _fit(task, entry, _clusters_of_norms(task, entry)), entry) for task in tasks])


def proportional_odds(
    selected: Sequence[Selected], entry: Entry[NormRegressionOptions], vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the score test of proportional odds for each regression that ``ordinal_regression`` would make."""
    parts = []
    for task in norm_tasks(selected, entry, vignettes):
        fit = _fit(task, entry)
        fitted = not isinstance(fit, tuple)
        if fitted and fit.solved is not None:
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
            table = pd.DataFrame([blank | {"status": fit.status if fitted else fit[0]}])
        n = int(task.frame["value"].notna().sum())
        parts.append(named(table, {"arm": task.arm, "model": task.model, "n": n}))
    return stack(parts)


def response_regression(
    selected: Sequence[Selected],
    entry: Entry[ResponseRegressionOptions],
    vignettes: Mapping[str, pd.DataFrame],
    prompts: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """Return the regression of every valid answer on the factors, the template and the order shown.

    ``template`` is the template's number, ``position`` the place at which the highest option was shown. With
    ``errors: clustered`` the standard errors are robust against what the answers of one flow, and the answers in one
    template, share; with ``flow_clustered`` against the first only. ``flow_intercept`` is the mixed model with a random
    intercept for the flow, ``template_intercept`` the one for each template of each model (of people: for each rater),
    ``crossed_intercepts`` the one with both (then the template is not among the factors where none are named).
    """
    # What a template does is in its intercept.
    in_intercept = "own_wording" in _INTERCEPTS.get(entry.options.errors, ())
    further = [name for name in RESPONSE_FACTORS if not (in_intercept and name == "template")]
    tasks = response_tasks(selected, entry, vignettes, prompts, further)
    return stack(
        [_table(task, _fit(task, entry, _CLUSTERS.get(entry.options.errors, ())), entry) for task in tasks]
    )


def _clusters_of_norms(task: Task, entry: Entry[OrdinalRegressionOptions]) -> tuple[str, ...]:
    """Return what norms are clustered by: flows, where several models or arms are in one regression."""
    options = entry.options
    errors = options.errors or (
        "clustered" if task.between and options.estimator == "newton" else "independent"
    )
    return ("flow",) if errors == "clustered" else ()


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
        freedom = (
            dict.fromkeys(task.between, used["wording"].nunique() - 1.0) if "own_wording" in groups else {}
        )
        return fit_clmm(task.frame, "value", task.factors, groups, baselines, options.link, freedom=freedom)
    estimator = "newton" if clusters else options.estimation
    return fit_clm(
        task.frame, "value", task.factors, baselines, options.link, estimator, cluster=clusters or None
    )


def _table(task: Task, fit: Any, entry: Entry[RegressionOptions]) -> pd.DataFrame:
    """Return the rows of one fit: its terms, its thresholds, and in each the facts of the fit."""
    from cinorms.stats.clm import COEFFICIENT_COLUMNS

    who = {"arm": task.arm, "model": task.model}
    columns = ["term", *COEFFICIENT_COLUMNS[1:]]
    facts: dict[str, Any] = {"link": entry.options.link, "estimator": entry.options.estimation}
    if isinstance(fit, tuple):
        blank = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
        facts |= dict.fromkeys(_FIT_COLUMNS) | {"fit_status": fit[0], "fit_reason": fit[1]}
        facts |= {
            "n": int(task.frame["value"].notna().sum()),
            "n_missing": int(task.frame["value"].isna().sum()),
        }
        return named(_typed(blank.assign(**facts)), who)
    terms = fit.coefficients.rename(columns={"factor": "term"})
    cuts = fit.thresholds.rename(columns={"threshold": "level"}).assign(term="threshold")
    table = pd.concat([part for part in (terms, cuts) if len(part)] or [terms], ignore_index=True)
    table = table.reindex(columns=columns)
    if table.empty:
        table = pd.DataFrame([dict.fromkeys(columns)]).assign(status="not_estimated")
    facts |= dict.fromkeys(_FIT_COLUMNS) | {
        "n": fit.n,
        "n_missing": len(task.frame) - fit.n,
        **{f"n_{_CALLED[name]}s": n for name, n in fit.n_clusters.items()},
        "log_likelihood": fit.log_likelihood,
        "aic": fit.aic,
        "mcfadden_r2": getattr(fit, "mcfadden_r2", None),
        **{f"sd_{_CALLED[name]}": sd for name, sd in getattr(fit, "sd", {}).items()},
        "fit_status": fit.status,
        # The only group that the package can name there is an intercept without spread.
        "fit_reason": fit.reason.replace("own_wording", _CALLED["own_wording"]),
    }
    return named(_typed(table.assign(**facts)), who)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Give numbers and texts their types also where all are missing, so that tables can be stacked."""
    from cinorms.stats.clm import COEFFICIENT_COLUMNS

    floats = [*COEFFICIENT_COLUMNS[3:-1], *_FIT_COLUMNS[4:]]
    types = dict.fromkeys(floats, "float64") | dict.fromkeys(_FIT_COLUMNS[:4], "Int64")
    texts = dict.fromkeys(["term", "level", "baseline", "status", "fit_status", "fit_reason"], "str")
    return table.astype(types | texts)


_COLUMNS = (
    *WHO,
    Column("term", "Name of the factor, or threshold (between two levels of the scale)."),
    Column("level", "Level of the factor, or the two levels of the scale that the threshold separates."),
    BASELINE,
    Column("estimate", "Change from the baseline to the level, or the threshold, on the scale of the link."),
    STD_ERR,
    STATISTIC,
    P,
    LOG10_P,
    Column("odds_ratio", "exp(estimate); only for link logit."),
    Column("conf_low", "Lower end of the 95% interval of the estimate."),
    Column("conf_high", "Upper end of the 95% interval of the estimate."),
    Column("status", "ok; penalised (finite only because of the penalty); or why the term has no numbers."),
    Column("link", "Link of the cumulative model."),
    Column("estimator", "How the model was estimated: the estimator, or for responses the kind of errors."),
    Column("n", "Norms or valid answers in the fit."),
    Column("n_missing", "Flows without a norm, or invalid answers."),
    Column("n_flows", "Flows used as clusters or random intercepts; missing without them."),
    Column("n_templates", "Templates used as clusters or random intercepts; missing without them."),
    Column("log_likelihood", "Log-likelihood of the fit."),
    Column("aic", "Akaike's information criterion."),
    Column("mcfadden_r2", "McFadden's R squared; missing for mixed models."),
    Column("sd_flow", "Standard deviation of the flows' random intercepts; missing without them."),
    Column("sd_template", "Standard deviation of the templates' random intercepts; missing without them."),
    Column("fit_status", "ok, separated (some terms have no finite estimate), or why there is no fit."),
    Column("fit_reason", "The status of the fit in words; empty where it is ok."),
)
_SHOWN = (*names(*WHO), "term", "level", "baseline", "estimate", "std_err", "statistic", "p", "status")

KINDS = (
    Kind(
        name="ordinal_regression",
        about="Ordinal regression (cumulative link model) of the norms on factors: coefficients, then thresholds.",
        options=OrdinalRegressionOptions,
        function=ordinal_regression,
        reads="norms",
        also=("vignettes",),
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_COLUMNS,
        shown=_SHOWN,
    ),
    Kind(
        name="proportional_odds",
        about="Score test of proportional odds for the same regression.",
        options=NormRegressionOptions,
        function=proportional_odds,
        reads="norms",
        also=("vignettes",),
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=(
            *WHO,
            Column("n", "Norms in the test."),
            Column("term", "Name of the factor; missing for the joint test of all factors."),
            Column("level", "Level of the factor; missing for the test of the whole factor."),
            Column("statistic", "The score statistic, chi-square."),
            Column("df", "Its degrees of freedom."),
            P,
            LOG10_P,
            Column("status", "ok, or why there is no test: the status of the fit where there is no fit."),
        ),
    ),
    Kind(
        name="response_regression",
        about="Ordinal regression (cumulative link model) of all valid answers on factors, template and position.",
        options=ResponseRegressionOptions,
        function=response_regression,
        reads="answers",
        also=("vignettes", "prompts"),
        decided="block",
        report_section="factors",
        key=("arm", "model", "term", "level"),
        columns=_COLUMNS,
        shown=_SHOWN,
    ),
)
