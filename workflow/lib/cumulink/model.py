"""Cumulative link models: the fit by formula, and its tables."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from cumulink.arrays import Floats, Ints, clustered, group_rows
from cumulink.coding import Coding, Crossproducts, aliased_terms, code_factors
from cumulink.errors import DataError, ModelError, unknown
from cumulink.formula import Formula, parse
from cumulink.likelihood import LINKS, Maximum, Problem, scores, solve
from cumulink.ordered_model import maximise_as_statsmodels
from cumulink.results import ClmResult, Solved, covariance_table, inference

ESTIMATORS = ("newton", "statsmodels")
Names: TypeAlias = tuple[str, ...]


def clm(
    formula: str,
    data: pd.DataFrame,
    *,
    link: str = "logit",
    cluster: str | Sequence[str] | None = None,
    baselines: dict[str, str] | None = None,
    estimator: str = "newton",
) -> ClmResult:
    """Fit a cumulative link model: ordinal regression on factors.

    ``P(Y <= k) = F(theta_k - x'beta)`` with thresholds theta_1 < theta_2 < ... and x the 0/1 columns of the factors'
    levels. A positive coefficient moves the outcome towards the higher levels.

    Parameters
    ----------
    formula
        ``"outcome ~ factor + C(number) + `any name`"``. The outcome is a column of whole numbers or an ordered
        categorical; rows without one are left out. Factors are columns of text, categories or truth values; ``C()``
        makes each number a level. There are no interactions: combine two columns into one.
    data
        A row per observation.
    link
        F: ``logit``, ``probit`` or ``cloglog`` (``1 - exp(-exp(t))``).
    cluster
        A column whose groups are independent of each other, for sandwich standard errors, or two that cross.
        Statistics then refer to Student's t. Terms that are the same within a group need more groups than terms.
    baselines
        The level of a factor to compare the others with. Default: the one that sorts first, or the first category.
    estimator
        ``newton``: the maximum of the likelihood. ``statsmodels``: where statsmodels' OrderedModel stops, to recompute
        published tables.

    Returns
    -------
    ClmResult
        Data that cannot be fitted give a `ClmResult.status`, not an exception.

    Raises
    ------
    ModelError, DataError
        For columns, settings and values that cannot be used.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from cumulink import clm
    >>> rng = np.random.default_rng(1)
    >>> data = pd.DataFrame({"roast": rng.choice(["light", "dark"], 500), "milk": rng.choice(["no", "yes"], 500)})
    >>> taste = 1.0 * (data["roast"] == "light") + 0.5 * (data["milk"] == "yes") + rng.logistic(size=500)
    >>> data["rating"] = np.digitize(taste, [-1, 0.5, 2]) + 1
    >>> fit = clm("rating ~ roast + milk", data)
    >>> fit.params.round(2).to_dict()
    {'roast[T.light]': 0.82, 'milk[T.yes]': 0.73, '1|2': -0.99, '2|3': 0.47, '3|4': 1.93}
    """
    parsed = parse(formula)
    if parsed.groups:
        raise ModelError(f"formula {formula!r} has random intercepts: fit it with clmm, or leave them out")
    return fit(parsed, data, link, _names(cluster), baselines, estimator)


def _names(given: str | Sequence[str] | None) -> Names:
    return (given,) if isinstance(given, str) else tuple(given or ())


def fit(
    formula: Formula,
    data: pd.DataFrame,
    link: str,
    cluster: Names = (),
    baselines: dict[str, str] | None = None,
    estimator: str = "newton",
) -> ClmResult:
    """Fit the model without random intercepts (`clm`); `Solved.clusters` has the formula's groups, too."""
    _check(formula, data, link, cluster, estimator)
    y, labels = _outcome(data[formula.outcome], formula.outcome)
    used, y = data[~np.isnan(y)], y[~np.isnan(y)]
    distinct, codes = np.unique(y, return_inverse=True)
    levels = tuple(labels[int(level)] if labels else int(level) for level in distinct)
    coding, slots = code_factors(used, formula.factors, baselines if len(used) else None, formula.categorical)
    facts = {"formula": formula.text, "levels": levels, "n": len(used), "n_missing": len(data) - len(used)}
    request = _Request(link, levels, coding, facts)
    if len(levels) < 2 or not len(coding.term_slots):
        status, reason = "constant_factor", "no factor has two levels in the data"
        if not len(used):
            status, reason = "no_data", f"no row has an outcome ({len(data)} rows without one)"
        elif len(levels) == 1:
            status, reason = "one_level", f"every outcome has the level {levels[0]}"
        return request.without_numbers(status, reason)
    clusters = {name: _clusters(used[name], name) for name in (*cluster, *formula.groups)}
    first, group = group_rows([codes, *slots.T, *clusters.values()])
    cross = Crossproducts(coding, slots[first])
    terms = coding.term_slots[~aliased_terms(cross, coding.term_slots)]
    at, weights, top = codes[first], np.bincount(group).astype(np.float64), len(levels) - 1
    null = np.zeros((top + len(terms), 0))
    problem = Problem(cross, terms, at, weights, len(levels), LINKS[link], at < top, at > 0, null)
    solved, best = solve(problem)
    if estimator == "statsmodels":
        best = maximise_as_statsmodels(problem, slots, codes, coding)
    return request.fitted(solved, best, {name: of_rows[first] for name, of_rows in clusters.items()}, cluster)


def _check(formula: Formula, data: pd.DataFrame, link: str, cluster: Names, estimator: str) -> None:
    """Raise ``ModelError`` for columns and settings that do not exist or do not go together."""
    asked: list[tuple[str, str, Collection[str]]] = [
        ("column", name, data.columns)
        for name in (formula.outcome, *formula.factors, *cluster, *formula.groups)
    ]
    for what, name, known in [*asked, ("link", link, LINKS), ("estimator", estimator, ESTIMATORS)]:
        if name not in known:
            raise unknown(what, name, known)
    if len(cluster) > 2:
        raise ModelError(f"cluster {list(cluster)}: errors are clustered by one column or by two")
    if estimator == "statsmodels" and cluster:
        raise ModelError(f"cluster {list(cluster)} needs estimator 'newton', not 'statsmodels'")
    if estimator == "statsmodels" and link == "cloglog":
        raise ModelError("estimator 'statsmodels' has no link 'cloglog'; choose logit or probit")


def _outcome(column: pd.Series, name: str) -> tuple[Floats, list[Any]]:
    """Return the outcome of each row as a number (NaN: missing), and the categories that numbers from 0 stand for."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        if not column.cat.ordered:
            raise DataError(
                f"outcome {name}: its categories have no order; state one (pandas.Categorical, ordered=True)"
            )
        codes = column.cat.codes
        return np.asarray(codes.where(codes >= 0), dtype=np.float64), list(column.cat.categories)
    if not pd.api.types.is_numeric_dtype(column) and not column.isna().all():
        raise DataError(
            f"outcome {name}: levels are whole numbers or an ordered categorical, not {column.dtype}"
        )
    y: Floats = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(y).any() or (y[~np.isnan(y)] != np.round(y[~np.isnan(y)])).any():
        raise DataError(f"outcome {name}: levels are whole numbers, some here are infinite or have decimals")
    return y, []


def _clusters(column: pd.Series, name: str) -> Ints:
    codes, names = pd.factorize(column)
    if (codes < 0).any():
        raise DataError(
            f"column {name}: {int((codes < 0).sum())} rows belong to no cluster; drop or name them"
        )
    if len(names) < 2:
        raise DataError(f"column {name}: all rows are in one cluster; at least two are needed")
    return codes.astype(np.int64)


def _spent(problem: Problem, codes: Ints) -> Ints:
    """Return the degrees of freedom of the clusters that each parameter's variance has not.

    One, or one and those of the terms that are the same within clusters, for these terms and the thresholds.
    """
    one = np.ones(len(codes))
    in_level = problem.cross.by_key(one, codes, int(codes.max()) + 1)[problem.terms]
    within = ((in_level == 0) | (in_level == np.bincount(codes))).all(axis=1)
    spent = np.ones(problem.n_parameters, dtype=np.int64)
    spent += np.append(np.ones(problem.n_levels - 1, dtype=bool), within) * within.sum()
    return spent


class _Request(NamedTuple):
    """What is asked and what the rows hold; words the result of a fit or the lack of one."""

    link: str
    levels: tuple[Any, ...]
    coding: Coding
    facts: dict[str, Any]

    def without_numbers(self, status: str, reason: str) -> ClmResult:
        """Return the result for data that cannot be fitted."""
        nothing, word = np.full((3, max(len(self.levels) - 1, 0)), np.nan), "not_estimated"
        return ClmResult(
            **self.facts,
            link=self.link,
            status=status,
            reason=reason,
            coefficients=self._coefficients(
                np.zeros(0, dtype=np.int64), nothing[:, :0], word, otherwise=word
            ),
            thresholds=self._thresholds(nothing, word),
        )

    def fitted(self, problem: Problem, best: Maximum, clusters: dict[str, Ints], cluster: Names) -> ClmResult:
        """Return the result at ``best``."""
        variance, df = np.diag(best.covariance), np.full(len(best.covariance), np.inf)
        covariance = best.covariance if not cluster else None
        if cluster:
            # The sandwich: what the scores of a cluster add to each parameter.
            of_groups, ways = scores(problem, best.point.parameters), [clusters[name] for name in cluster]
            variance, df = clustered(
                ways, lambda codes: of_groups(codes) @ best.covariance, lambda codes: _spent(problem, codes)
            )
            if len(ways) == 1:
                sums = of_groups(ways[0]) @ best.covariance
                ratio = np.sqrt(variance / (sums**2).sum(axis=0))
                covariance = np.outer(ratio, ratio) * (sums.T @ sums)
        if not best.converged:
            reason = f"no maximum was reached in {best.iterations} steps"
            return self.without_numbers("not_converged", reason)
        word = np.where(problem.lost, "separated", "ok")
        word = np.where(~problem.lost & np.isnan(variance), "few_clusters", word)
        numbers = np.where(problem.lost, np.nan, [best.point.parameters, np.sqrt(variance), df])
        k = len(self.levels) - 1
        table = self._coefficients(problem.terms, numbers[:, k:], word[k:])
        cuts = self._thresholds(numbers[:, :k], word[:k])
        counts = np.bincount(problem.y, problem.w, problem.n_levels)
        # The maximum without terms is the same for every link.
        ll, ll0 = best.point.log_likelihood, float(np.sum(counts * np.log(counts / counts.sum())))
        return ClmResult(
            **self.facts,
            link=self.link,
            status="separated" if problem.lost.any() else "ok",
            reason=_reason(table),
            coefficients=table,
            thresholds=cuts,
            covariance=None if covariance is None else covariance_table(table, cuts, covariance),
            n_clusters={name: int(codes.max()) + 1 for name, codes in clusters.items()},
            log_likelihood=ll,
            aic=2 * problem.n_parameters - 2 * ll,
            mcfadden_r2=1 - ll / ll0,
            solved=Solved(problem, best.point.parameters, clusters),
        )

    def _coefficients(
        self, slots: Ints, numbers: Floats, word: Any, otherwise: str = "aliased"
    ) -> pd.DataFrame:
        """Return the table of terms, those at ``slots`` with numbers, and a row for a factor that has one level."""
        alone = self.coding.offsets[self.coding.sizes == 1]
        n, names = self.coding.n_slots, self.coding.slot_names()
        of_slots, status = np.full((3, n), np.nan), np.full(n, otherwise, object)
        of_slots[:, slots], status[slots], status[alone] = numbers, word, "constant_factor"
        rows = np.sort(np.concatenate([self.coding.term_slots, alone]))
        table = pd.DataFrame([names[slot] for slot in rows], columns=["factor", "level", "baseline"])
        estimate, std_err, df = of_slots[:, rows]
        return table.assign(**inference(estimate, std_err, df, self.link), status=[*status[rows]])

    def _thresholds(self, numbers: Floats, word: Any) -> pd.DataFrame:
        names = [f"{low}|{high}" for low, high in zip(self.levels[:-1], self.levels[1:], strict=True)]
        table = pd.DataFrame(dict(zip(("estimate", "std_err", "df"), numbers, strict=True)))
        table.insert(0, "threshold", names)
        return table.assign(status=word)


def _reason(coefficients: pd.DataFrame) -> str:
    """Return which terms have no ordinary estimate, and why."""
    why = {
        "separated": "perfectly separated, so without a finite estimate",
        "aliased": "repeats earlier terms (collinear)",
        "constant_factor": "the factor has one level",
        "few_clusters": "without errors: too few clusters for the terms that are the same within one",
    }
    parts = []
    for status, words in why.items():
        rows = coefficients[coefficients["status"] == status]
        if len(rows):
            parts.append(f"{words}: {', '.join(rows['factor'] + ' = ' + rows['level'])}")
    return "; ".join(parts)
