"""The score test of proportional odds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import linalg

from cinorms.core import tails
from cinorms.stats.clm.arrays import Floats, Ints
from cinorms.stats.clm.coding import Coding
from cinorms.stats.clm.information import curvature, expected_information
from cinorms.stats.clm.likelihood import Problem, ends, row_derivatives


def score_test(problem: Problem, parameters: Floats, coding: Coding, status: str) -> pd.DataFrame:
    """Test each term, each factor and all together for one coefficient at every threshold.

    The score test of delta = 0 in eta_j = theta_j - x'(beta + delta_j): s' (I_dd - I_dc I_cc^-1 I_cd)^-1 s,
    chi-square with terms x (thresholds - 1) degrees of freedom, I the expected information at the fit.
    A ``status`` that is not empty is the reason for not testing.
    """
    k, p = problem.n_levels - 1, len(problem.terms)
    names = [coding.slot_names()[slot] for slot in problem.terms]
    score, information = (np.zeros(0), np.zeros((0, 0))) if status else _free_terms(problem, parameters)
    tested: list[tuple[str | None, str | None, list[int]]] = [
        (factor, level, [i]) for i, (factor, level, _) in enumerate(names)
    ]
    tested += [
        (f, None, [i for i in range(p) if names[i][0] == f]) for f in dict.fromkeys(n[0] for n in names)
    ]
    tested.append((None, None, list(range(p))))
    rows = []
    for factor, level, members in tested:
        own = [k + p * j + i for j in range(1, k) for i in members]
        value = np.nan if status else _score_statistic(score, information, k + p, np.array(own))
        rows.append((factor, level, value, len(own)))
    table = pd.DataFrame(rows, columns=["factor", "level", "statistic", "df"])
    known = table["statistic"].notna()
    pairs = zip(table["statistic"], table["df"], known, strict=True)
    logs = np.array([tails.chi_square(s, df) if sure else np.nan for s, df, sure in pairs])
    table["p"], table["log10_p"] = tails.to_p(logs), logs
    table["status"] = status or np.where(known, "ok", "not_identified")
    return table


def _score_statistic(score: Floats, information: Floats, n_common: int, own: Ints) -> float:
    """Return the statistic, nan where the data cannot tell the thresholds' coefficients apart."""
    common = np.arange(n_common)
    cross = information[np.ix_(common, own)]
    try:
        left = information[np.ix_(own, own)] - cross.T @ linalg.solve(
            information[np.ix_(common, common)], cross, assume_a="pos"
        )
        return float(score[own] @ linalg.solve(left, score[own], assume_a="pos"))
    except linalg.LinAlgError:
        return float("nan")


def _threshold_scores(problem: Problem, parameters: Floats) -> Floats:
    """Return the derivative of each row's log-likelihood in its eta_j (rows x thresholds)."""
    a, b = ends(problem, parameters)
    _, ga, gb, *_ = row_derivatives(problem, a, b)
    out = np.zeros((len(problem.y), problem.n_levels - 1))
    out[problem.upper, problem.y[problem.upper]] += (problem.w * ga)[problem.upper]
    out[problem.lower, problem.y[problem.lower] - 1] += (problem.w * gb)[problem.lower]
    return out


def _free_terms(problem: Problem, parameters: Floats) -> tuple[Floats, Floats]:
    """Return score and expected information of the model with own coefficients for every threshold.

    Order: thresholds, common beta, then for each threshold j >= 2 the departures delta_j of every term.
    """
    k, p, cross, terms = problem.n_levels - 1, len(problem.terms), problem.cross, problem.terms
    scores = _threshold_scores(problem, parameters)
    by_threshold = np.column_stack([-cross.sums(scores[:, j])[terms] for j in range(k)])
    score = np.concatenate([scores.sum(axis=0), by_threshold.sum(axis=1), by_threshold[:, 1:].T.ravel()])
    c = curvature(problem, parameters)
    mixed, products = np.zeros((k, k, p)), np.zeros((k, k, p, p))
    for j in range(k):
        for other, weight in ((j, c.diagonal[:, j]), *(((j + 1, c.beside[:, j]),) if j + 1 < k else ())):
            x, xx = (
                cross.sums(problem.w * weight)[terms],
                cross.gram(problem.w * weight)[np.ix_(terms, terms)],
            )
            mixed[j, other] = mixed[other, j] = -x
            products[j, other] = products[other, j] = xx
    size = k + k * p
    information = np.empty((size, size))
    information[: k + p, : k + p] = expected_information(problem, c)
    for j in range(1, k):
        own = slice(k + p * j, k + p * (j + 1))
        information[:k, own] = mixed[:, j]
        information[k : k + p, own] = products[:, j].sum(axis=0)
        for other in range(1, k):
            information[own, k + p * other : k + p * (other + 1)] = products[j, other]
        information[own, : k + p] = information[: k + p, own].T
    return score, information
