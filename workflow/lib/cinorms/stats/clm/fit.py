"""Cumulative link models: ordinal regression of norms or answers on the factors of a dataset.

P(Y <= k | x) = F(theta_k - x'beta): a positive coefficient moves answers towards the higher levels. A fit has its
tables and statuses, and what can be asked of it later.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from cinorms.core import tails
from cinorms.core.errors import ConfigError, DataError
from cinorms.stats.arrays import Bools, Floats, Ints, clustered, group_rows
from cinorms.stats.clm.coding import Coding, Crossproducts, aliased_terms, code_factors
from cinorms.stats.clm.information import maximise_penalised
from cinorms.stats.clm.likelihood import LINKS, Maximum, Problem, evaluate, scores, solve, start, with_scale

ESTIMATORS = ("newton", "statsmodels", "penalised")


def fit_clm(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    baselines: dict[str, str] | None = None,
    link: str = "logit",
    estimator: str = "newton",
    cluster: str | tuple[str, ...] | None = None,
    scale: Sequence[str] = (),
) -> "ClmFit":
    """Fit P(Y <= k) = F(theta_k - x'beta) to the rows of ``frame`` that have an ``outcome``.

    ``outcome`` is an integer column; levels without a row are dropped. ``factors`` are dummy-coded against
    ``baselines`` (default: the level that sorts first). ``link`` is logit, probit or cloglog.
    ``estimator``: ``newton`` is the maximum likelihood fit; ``statsmodels`` stops where OrderedModel with
    BFGS does, a little short of the maximum (the published tables); ``penalised`` maximises the likelihood
    times Jeffreys' prior and is finite under separation too. ``cluster`` names a column whose groups are
    independent of each other, for sandwich standard errors, or two that cross (flow and template). Statistics
    then refer to Student's t. ``scale`` names some of the factors: F((theta_k - x'beta)/sigma), log sigma = z'zeta, z
    their levels (``newton`` only).

    Data that cannot be fitted give a status, not an exception; ConfigError and DataError are for columns,
    settings and values that cannot be used.
    """
    by = (cluster,) if isinstance(cluster, str) else cluster or ()
    _check(frame, outcome, factors, estimator, by, scale)
    y = frame[outcome].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(y).any():
        raise DataError(f"outcome {outcome}: some answers are infinite; answers are whole numbers (levels)")
    used, y = frame[~np.isnan(y)], y[~np.isnan(y)]
    if (y != np.round(y)).any():
        raise DataError(f"outcome {outcome}: answers are whole numbers (levels), some here are not")
    distinct, codes = np.unique(y, return_inverse=True)
    levels = tuple(int(level) for level in distinct)
    coding, slots = code_factors(used, list(factors), baselines if len(used) else None)
    request = _Request(link, levels, len(used), int(frame[outcome].isna().sum()), estimator, coding)
    if len(levels) < 2 or not len(coding.term_slots):
        status, reason = "constant_factor", "no factor has two levels in the data"
        if not len(used):
            status, reason = "no_data", f"no row has an answer ({request.n_missing} rows without one)"
        elif len(levels) == 1:
            status, reason = "one_level", f"every answer has the level {levels[0]}"
        return request.without_numbers(status, reason)
    clusters = {name: _clusters(used, name) for name in by}
    first, group = group_rows([codes, *slots.T, *clusters.values()])
    if link not in LINKS:
        raise ConfigError(f"link {link!r} is not known; choose one of {sorted(LINKS)}")
    cross = Crossproducts(coding, slots[first])
    terms = coding.term_slots[~aliased_terms(cross, coding.term_slots)]
    y, weights, top = codes[first], np.bincount(group).astype(np.float64), len(levels) - 1
    null = np.zeros((top + len(terms), 0))
    problem = Problem(cross, terms, y, weights, len(levels), LINKS[link], y < top, y > 0, null)
    solved, best = solve(problem)
    lost = np.asarray(np.linalg.norm(solved.null, axis=1) > 1e-6)  # parameters without a finite value
    if estimator == "penalised":
        solved, best = problem, maximise_penalised(problem, start(problem))
    elif estimator == "statsmodels":
        best = _fit_statsmodels(problem, slots, codes, coding)
    elif scale and best.converged:
        of_scale = [slot for slot in terms if coding.slot_names()[slot][0] in scale]
        solved, best = with_scale(solved, best, np.array(of_scale, dtype=np.int64))
    return request.fitted(solved, best, lost, {name: of_rows[first] for name, of_rows in clusters.items()})


def _check(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    estimator: str,
    by: tuple[str, ...],
    scale: Sequence[str],
) -> None:
    """Raise ``ConfigError`` or ``DataError`` for columns and settings that cannot be used."""
    for name in (outcome, *by):
        if name not in frame.columns:
            raise ConfigError(f"no column {name!r} in the data; columns are {list(frame.columns)}")
    if not factors:
        raise ConfigError("no factors are given; name at least one column of levels")
    if estimator not in ESTIMATORS:
        raise ConfigError(f"estimator {estimator!r} is not known; choose one of {list(ESTIMATORS)}")
    if estimator == "statsmodels" and by:
        raise ConfigError("estimator 'statsmodels' has no clusters; use 'newton'")
    if scale and (estimator != "newton" or not set(scale) <= set(factors)):
        raise ConfigError(
            f"scale {list(scale)}: only estimator 'newton', and only factors of {list(factors)}"
        )
    if not pd.api.types.is_numeric_dtype(frame[outcome]) and not frame[outcome].isna().all():
        raise DataError(f"outcome {outcome}: answers are numbers (levels), not {frame[outcome].dtype}")


def _clusters(rows: pd.DataFrame, name: str) -> Ints:
    codes, names = pd.factorize(rows[name])
    if (codes < 0).any():
        raise DataError(
            f"cluster {name}: {int((codes < 0).sum())} rows belong to no cluster; drop or name them"
        )
    if len(names) < 2:
        raise DataError(f"cluster {name}: all rows are in one cluster; at least two are needed")
    return codes.astype(np.int64)


class _Request(NamedTuple):
    """What is asked and what the rows hold; words the result of a fit or the lack of one."""

    link: str
    levels: tuple[int, ...]
    n: int
    n_missing: int
    estimator: str
    coding: Coding

    def without_numbers(self, status: str, reason: str) -> "ClmFit":
        """Return the result for data that cannot be fitted."""
        blank = (
            (np.full(n, np.nan), np.full(n, np.nan), ["not_estimated"] * n)
            for n in (len(self.coding.term_slots), max(len(self.levels) - 1, 0))
        )
        coefficients, thresholds = self._coefficients(*next(blank)), self._thresholds(*next(blank))
        return ClmFit(status, reason, coefficients, thresholds, *self[:4])

    def fitted(self, problem: Problem, best: Maximum, lost: Bools, clusters: dict[str, Ints]) -> "ClmFit":
        """Return the result at ``best``; ``lost`` marks parameters without a finite maximum."""
        variance, freedom = np.diag(best.covariance), np.full(len(best.covariance), np.inf)
        if clusters:
            # The sandwich: what the scores of a cluster add to each parameter.
            of_groups = scores(problem, best.point.parameters)
            ways = [*clusters.values()]
            variance, freedom = clustered(ways, lambda codes: of_groups(codes) @ best.covariance)
        std_err = np.sqrt(variance)
        if not best.converged:
            reason = f"no maximum was reached in {best.iterations} steps"
            if len(problem.scale):
                reason += " (with a scale part: the answers of some level may be all alike)"
            return self.without_numbers("not_converged", reason)
        k = len(self.levels) - 1
        penalised = self.estimator == "penalised"
        lost = np.append(lost, np.zeros(len(problem.scale), dtype=np.bool_))
        word = np.where(lost, "penalised" if penalised else "separated", "ok")
        hidden = lost & (not penalised)
        estimate, std_err = np.where(hidden, np.nan, best.point.parameters), np.where(hidden, np.nan, std_err)
        ends_at = problem.n_location
        table = self._of_terms(problem.terms, *(x[k:ends_at] for x in (estimate, std_err, word, freedom)))
        of_scale = None
        if len(problem.scale):
            found = (x[ends_at:] for x in (estimate, std_err, word, freedom))
            of_scale = self._of_terms(problem.scale, *found).drop(columns="odds_ratio")
            names = {self.coding.slot_names()[slot][0] for slot in problem.scale}
            of_scale = of_scale[of_scale["factor"].isin(names)].reset_index(drop=True)
        counts = np.bincount(problem.y, problem.w, problem.n_levels)
        # The maximum without terms is the same for every link.
        ll, ll0 = best.point.log_likelihood, float(np.sum(counts * np.log(counts / counts.sum())))
        return ClmFit(
            "separated" if hidden.any() else "ok",
            _reason(table),
            table,
            self._thresholds(estimate[:k], std_err[:k], list(word[:k])),
            *self[:4],
            n_clusters={name: int(codes.max()) + 1 for name, codes in clusters.items()},
            log_likelihood=ll,
            aic=2 * problem.n_parameters - 2 * ll,
            mcfadden_r2=1 - ll / ll0,
            solved=Solved(self.coding, problem, best.point.parameters, clusters),
            scale=of_scale,
        )

    def _of_terms(
        self, slots: Ints, estimate: Floats, std_err: Floats, word: Any, freedom: Floats
    ) -> pd.DataFrame:
        """Return the table of terms with numbers at ``slots``; the others repeat earlier terms."""
        n_terms, at = len(self.coding.term_slots), np.searchsorted(self.coding.term_slots, slots)
        values, errors, of_freedom = np.full((3, n_terms), np.nan)
        statuses = np.full(n_terms, "aliased", dtype=object)
        values[at], errors[at], statuses[at], of_freedom[at] = estimate, std_err, word, freedom
        return self._coefficients(values, errors, list(statuses), of_freedom)

    def _coefficients(
        self, estimate: Floats, std_err: Floats, status: list[str], freedom: Floats | None = None
    ) -> pd.DataFrame:
        """Return the table of terms, and a row without numbers for every factor that has one level."""
        names = self.coding.slot_names()
        constant = [o for o, size in zip(self.coding.offsets, self.coding.sizes, strict=True) if size == 1]
        slots = np.concatenate([self.coding.term_slots, constant]).astype(np.int64)
        order = np.argsort(slots)
        blank = np.full(len(constant), np.nan)
        estimate, std_err = np.append(estimate, blank)[order], np.append(std_err, blank)[order]
        freedom = None if freedom is None else np.append(freedom, blank)[order]
        words = [*status, *["constant_factor"] * len(constant)]
        columns: dict[str, object] = {
            name: [names[slot][i] for slot in slots[order]] for i, name in enumerate(COEFFICIENT_COLUMNS[:3])
        }
        columns |= inference(estimate, std_err, self.link, freedom)
        return pd.DataFrame(columns | {"status": [words[i] for i in order]})

    def _thresholds(self, estimate: Floats, std_err: Floats, status: list[str]) -> pd.DataFrame:
        names = [f"{low}|{high}" for low, high in zip(self.levels[:-1], self.levels[1:], strict=True)]
        return pd.DataFrame({"threshold": names, "estimate": estimate, "std_err": std_err, "status": status})


def _reason(coefficients: pd.DataFrame) -> str:
    """Return which terms have no ordinary estimate, and why."""
    why = {
        "separated": "perfectly separated, so without a finite estimate",
        "penalised": "finite only because of the penalty",
        "aliased": "repeats earlier terms (linked factors)",
        "constant_factor": "the factor has one level",
    }
    rows = list(zip(coefficients["status"], coefficients["factor"], coefficients["level"], strict=True))
    parts = []
    for status, words in why.items():
        terms = [f"{factor} = {level}" for found, factor, level in rows if found == status]
        if terms:
            parts.append(f"{words}: {', '.join(terms)}")
    return "; ".join(parts)


def _fit_statsmodels(problem: Problem, slots: Ints, y: Ints, coding: Coding) -> Maximum:
    """Return where ``OrderedModel(y, X, distr).fit(method="bfgs")`` stops, on the ungrouped rows.

    The columns of a factor are in the alphabetical order of their levels, as statsmodels' formulas put
    them: the optimiser's stop depends on it (in PETS section 5.2 a z is 20.3049 so, 20.3051 otherwise).
    statsmodels estimates log increments of the thresholds; the delta method carries their covariance over.
    Its standard errors come from a numerical Hessian of the log-likelihood. Iterations are gradient calls.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    if problem.link.name not in ("logit", "probit"):
        raise ConfigError(
            f"estimator 'statsmodels' has no link {problem.link.name!r}; choose logit or probit"
        )
    design = np.zeros((len(y), problem.cross.n_slots))
    design[np.arange(len(y))[:, None], slots] = 1.0
    names = coding.slot_names()
    factor_of = np.searchsorted(coding.offsets, problem.terms, side="right")
    order = np.lexsort(([names[slot][1] for slot in problem.terms], factor_of))
    with warnings.catch_warnings():
        # It warns of non-convergence and of a Hessian that cannot be inverted; both are a status here.
        warnings.simplefilter("ignore")
        model = OrderedModel(y, design[:, problem.terms[order]], distr=problem.link.name)
        # The same function to the last bit, without SciPy's checks of its arguments: most of the time went there.
        model.cdf = problem.link.cdf
        result = model.fit(method="bfgs", disp=False)
        raw = np.asarray(result.params)
        invertible = result.normalized_cov_params is not None
        covariance = np.asarray(result.cov_params()) if invertible else np.full((len(raw), len(raw)), np.nan)
    p = len(problem.terms)
    back = np.append(np.argsort(order), np.arange(p, len(raw)))
    raw, covariance = raw[back], covariance[np.ix_(back, back)]
    increments = np.append(raw[p], np.exp(raw[p + 1 :]))
    k = len(increments)
    # d theta_k / d raw_j: 1 for the first threshold, exp(raw_j) for each increment up to k
    jacobian = np.zeros((k + p, k + p))
    jacobian[:k, p:] = np.tril(np.ones((k, k))) * np.append(1.0, increments[1:])
    jacobian[k:, :p] = np.eye(p)
    point = evaluate(problem, np.concatenate([np.cumsum(increments), raw[:p]]))
    facts = result.mle_retvals
    converged = bool(facts["converged"]) and invertible
    return Maximum(point, jacobian @ covariance @ jacobian.T, int(facts["gcalls"]), converged)


# --- What a fit returns

#: What a fit can be. ``ok`` and ``separated`` have results; in the second some terms have none.
FIT_STATUSES = ("ok", "separated", "constant_factor", "not_converged", "one_level", "no_data")
#: What a term can be. Only ``ok`` and ``penalised`` (finite by the penalty alone) have numbers.
TERM_STATUSES = ("ok", "penalised", "separated", "aliased", "constant_factor", "not_estimated")

#: Half the width of a 95% interval in standard errors.
Z95 = float(special.ndtri(0.975))

COEFFICIENT_COLUMNS = [
    *("factor", "level", "baseline", "estimate", "std_err", "statistic", "p", "log10_p"),
    *("odds_ratio", "conf_low", "conf_high", "status"),
]


@dataclass(frozen=True, repr=False, eq=False)
class Solved:
    """What a fit keeps for later: coding, problem solved, values found, cluster of each grouped row."""

    coding: Coding
    problem: Problem
    parameters: Floats
    clusters: dict[str, Ints]


@dataclass(frozen=True, eq=False)
class ClmFit:
    """A fitted cumulative link model, or why there is none (``status``, ``reason``).

    ``coefficients`` has one row per term (columns ``COEFFICIENT_COLUMNS``), on the scale of the link: the
    change of the latent answer from the baseline to the level. ``p`` below the float range is a bound,
    ``log10_p`` is exact. ``odds_ratio`` is exp(estimate), logit only; the interval is estimate -/+ 1.96 std_err, with
    clusters by Student's t. Numbers are null where ``status`` says why. ``thresholds`` has ``threshold`` ("-2|-1"),
    ``estimate``, ``std_err``, ``status``. ``n`` counts rows, ``n_missing`` those without an answer (not used),
    ``n_clusters`` clusters by the name of their column.
    ``scale`` has the terms of log sigma, as ``coefficients`` without odds ratios; None without a scale part.
    Under separation ``log_likelihood`` is the value approached and ``aic`` counts every parameter.
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    levels: tuple[int, ...]
    n: int
    n_missing: int
    n_clusters: dict[str, int] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None
    mcfadden_r2: float | None = None
    solved: Solved | None = None
    scale: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class ClmmFit:
    """A fitted mixed model, or why there is none.

    ``coefficients`` and ``thresholds`` are those of ``ClmFit``, here given the group's intercept.
    ``sd`` is the standard deviation sigma of each random intercept on the scale of the link, by the name of
    its group, ``sd_std_err`` its standard error, ``n_clusters`` its number of groups. ``status`` is
    ``ok``, ``not_converged`` or what keeps ``fit_clm`` from a finite fit (``separated``, ``one_level``,
    ``no_data``, ``constant_factor``).
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    n: int
    n_clusters: dict[str, int] = field(default_factory=dict)
    sd: dict[str, float] = field(default_factory=dict)
    sd_std_err: dict[str, float] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None


def inference(
    estimate: Floats, std_err: Floats, link: str, freedom: Floats | None = None
) -> dict[str, Floats]:
    """Return the columns ``estimate`` to ``conf_high``: estimate / std_err, two-sided p, 95% interval.

    They refer to the normal distribution, or to Student's t with ``freedom`` degrees of freedom.
    """
    freedom = np.full(len(estimate), np.inf) if freedom is None else freedom
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = estimate / std_err
        odds = np.exp(estimate) if link == "logit" else np.full(len(z), np.nan)
    half = np.where(np.isinf(freedom), Z95, special.stdtrit(freedom, 0.975)) * std_err
    log10_p = np.array(
        [
            tails.normal(value) if np.isinf(df) or np.isnan(value) else tails.student(value, df)
            for value, df in zip(z, freedom, strict=True)
        ]
    )
    columns = (estimate, std_err, z, tails.to_p(log10_p), log10_p, odds, estimate - half, estimate + half)
    return dict(zip(COEFFICIENT_COLUMNS[3:-1], columns, strict=True))
