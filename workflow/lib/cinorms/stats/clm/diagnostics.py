"""Predictions and the proportional-odds test of a fitted cumulative link model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import linalg
from scipy.optimize import linprog

from cinorms.stats import pvalues
from cinorms.stats.clm.coding import Coding
from cinorms.stats.clm.information import free_terms
from cinorms.stats.clm.newton import Floats, Ints, Problem, ends_matrix


def probabilities(problem: Problem, parameters: Floats, slots: Ints) -> Floats:
    """Return the probability of each answer (columns) for rows of ``slots``, in the limit under separation.

    Null where the limit depends on which of several parameters runs to infinity faster.
    """
    k = problem.n_levels - 1
    column = np.full(problem.cross.n_slots, -1)
    column[problem.terms] = k + np.arange(len(problem.terms))
    patterns, row = np.unique(slots, axis=0, return_inverse=True)
    at = column[patterns]
    z = np.zeros((len(patterns), k, problem.n_parameters))
    z[:, np.arange(k), np.arange(k)] = 1.0
    which, f = np.nonzero(at >= 0)
    z[which, :, at[which, f]] = -1.0
    eta = z @ parameters
    if problem.null.shape[1]:
        eta = _limits(problem, z.reshape(-1, problem.n_parameters), eta.ravel()).reshape(eta.shape)
    cumulative = problem.link.cdf(eta)
    edge = np.zeros((len(patterns), 1))
    return np.asarray(np.diff(np.hstack([edge, cumulative, edge + 1.0]), axis=1)[row.ravel()])


def _limits(problem: Problem, z: Floats, eta: Floats) -> Floats:
    """Replace the entries of ``eta`` that separation leaves without a finite value by their limit.

    The limit is sure where every direction in which the likelihood never falls gives it the same sign.
    """
    original, _, _ = ends_matrix(problem, problem.y < problem.n_levels - 1, problem.y > 0)
    cone = np.unique(np.round(original @ problem.null, 9), axis=0)
    along = np.round(z @ problem.null, 9)
    kinds, which = np.unique(along, axis=0, return_inverse=True)
    limit = np.full(len(kinds), np.nan)
    for i, kind in enumerate(kinds):
        low, high = (
            sign * linprog(sign * kind, A_ub=-cone, b_ub=np.zeros(len(cone)), bounds=(-1, 1)).fun
            for sign in (1.0, -1.0)
        )
        if low > -1e-7 and high > 1e-7:
            limit[i] = np.inf
        elif high < 1e-7 and low < -1e-7:
            limit[i] = -np.inf
    finite = np.asarray((np.abs(kinds) < 1e-6).all(axis=1))[which.ravel()]
    return np.where(finite, eta, limit[which.ravel()])


def proportional_odds(problem: Problem, parameters: Floats, coding: Coding, status: str) -> pd.DataFrame:
    """Test each term, each factor and all together for one coefficient at every threshold.

    The score test of delta = 0 in eta_j = theta_j - x'(beta + delta_j): s' (I_dd - I_dc I_cc^-1 I_cd)^-1 s,
    chi-square with terms x (thresholds - 1) degrees of freedom, I the expected information at the fit.
    A ``status`` that is not empty says why there is no test.
    """
    k, p = problem.n_levels - 1, len(problem.terms)
    names = [coding.slot_names()[slot] for slot in problem.terms]
    score, information = (np.zeros(0), np.zeros((0, 0))) if status else free_terms(problem, parameters)
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
    logs = np.array([pvalues.chi_square(s, df) if sure else np.nan for s, df, sure in pairs])
    table["p"], table["log10_p"] = pvalues.to_p(logs), logs
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
