"""What rests on the expected (Fisher) information: penalised fits, and the score test of proportional odds."""

from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import linalg

from cumulink import tails
from cumulink.arrays import Floats, Ints
from cumulink.coding import Coding
from cumulink.likelihood import CONVERGED, Maximum, Point, Problem, ends, evaluate, row_derivatives

#: Steps of a penalised fit at most.
MAX_ITERATIONS = 500


@dataclass(frozen=True)
class Curvature:
    """Expected information about each row's eta_j = theta_j - x'beta per unit of weight (rows x thresholds).

    With u_j = f(eta_j) and the probabilities p_j of the levels on either side of threshold j,
    ``diagonal`` W_jj = u_j (below_j + above_j) and ``beside`` W_j,j+1 = -above_j u_j+1, where
    ``below`` = u_j / p_j and ``above`` = u_j / p_j+1; ``slope`` = f'/f.
    """

    density: Floats
    slope: Floats
    below: Floats
    above: Floats
    diagonal: Floats
    beside: Floats


def curvature(problem: Problem, parameters: Floats) -> Curvature:
    """Return the expected information of every row about its own linear predictors."""
    k = problem.n_levels - 1
    beta = np.zeros(problem.cross.n_slots)
    beta[problem.terms] = parameters[k:]
    eta = parameters[:k] - problem.cross.linear(beta)[:, None]
    edge = np.full((len(eta), 1), np.inf)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_p = problem.link.log_between(np.hstack([eta, edge]), np.hstack([-edge, eta]))
        log_u = problem.link.log_density(eta)
        u, below, above = np.exp(log_u), np.exp(log_u - log_p[:, :-1]), np.exp(log_u - log_p[:, 1:])
    return Curvature(u, problem.link.slope(eta), below, above, u * (below + above), -above[:, :-1] * u[:, 1:])


def expected_information(problem: Problem, c: Curvature) -> Floats:
    """Return the expected (Fisher) information about thresholds and terms."""
    k, cross, terms = problem.n_levels - 1, problem.cross, problem.terms
    diagonal, beside = problem.w[:, None] * c.diagonal, problem.w[:, None] * c.beside
    rows = diagonal.copy()
    rows[:, :-1] += beside
    rows[:, 1:] += beside
    information = np.empty((problem.n_parameters, problem.n_parameters))
    next_to = beside.sum(axis=0)
    information[:k, :k] = np.diag(diagonal.sum(axis=0)) + np.diag(next_to, 1) + np.diag(next_to, -1)
    mixed = -np.column_stack([cross.sums(rows[:, j])[terms] for j in range(k)])
    information[k:, :k], information[:k, k:] = mixed, mixed.T
    information[k:, k:] = cross.gram(rows.sum(axis=1))[np.ix_(terms, terms)]
    return information


# --- Penalised fits: the likelihood times Jeffreys' prior, finite under separation too


def maximise_penalised(problem: Problem, parameters: Floats) -> Maximum:
    """Maximise log L + log|I|/2 by scoring; the covariance is the inverse expected information there."""
    now = _penalised(problem, parameters)
    iteration, converged = 0, False
    while now is not None and not converged and iteration < MAX_ITERATIONS:
        iteration += 1
        step = linalg.cho_solve(now.factor, now.gradient)
        converged = float(now.gradient @ step) < CONVERGED
        size, new = 1.0, None
        while size > 1e-6 and (new is None or new.value < now.value - 1e-12 * abs(now.value)):
            new = _penalised(problem, now.point.parameters + size * step)
            size /= 2
        if new is None:
            break
        now = new
    if now is None:
        blank = np.full((problem.n_parameters, problem.n_parameters), np.nan)
        return Maximum(evaluate(problem, parameters), blank, iteration, False)
    covariance = linalg.cho_solve(now.factor, np.eye(problem.n_parameters))
    return Maximum(now.point, covariance, iteration, converged)


def _penalty_gradient(problem: Problem, c: Curvature, v: Floats) -> Floats:
    """Return the gradient of log|I|/2, I the expected information and ``v`` its inverse.

    By row and threshold this is tr(A dW/d eta_j)/2 with A = Z v Z', Z the derivative of eta.
    """
    k, cross, terms = problem.n_levels - 1, problem.cross, problem.terms
    full = np.zeros((cross.n_slots, cross.n_slots))
    full[np.ix_(terms, terms)] = v[k:, k:]
    quadratic = cross.quadratic(full)
    mixed = np.zeros((cross.n_slots, k))
    mixed[terms] = v[k:, :k]
    linear = np.column_stack([cross.linear(mixed[:, j]) for j in range(k)])
    a = np.diag(v)[:k] - 2 * linear + quadratic[:, None]
    a_beside = np.diag(v[:k, :k], 1) - linear[:, :-1] - linear[:, 1:] + quadratic[:, None]
    u, below2, above2 = c.density, c.below**2, c.above**2
    g = a * (2 * c.slope * c.diagonal + u * (above2 - below2))
    # dW_jj / d eta_j-1 and d eta_j+1
    g[:, :-1] += a[:, 1:] * below2[:, 1:] * u[:, :-1]
    g[:, 1:] -= a[:, :-1] * above2[:, :-1] * u[:, 1:]
    # dW_j,j+1 / d eta_j and d eta_j+1
    g[:, :-1] += 2 * a_beside * (c.slope[:, :-1] * c.beside - above2[:, :-1] * u[:, 1:])
    g[:, 1:] += 2 * a_beside * (c.slope[:, 1:] * c.beside + below2[:, 1:] * u[:, :-1])
    g *= 0.5 * problem.w[:, None]
    return np.concatenate([g.sum(axis=0), -cross.sums(g.sum(axis=1))[terms]])


class _Penalised(NamedTuple):
    point: Point
    value: float
    gradient: Floats
    factor: tuple[Floats, bool]


def _penalised(problem: Problem, parameters: Floats) -> _Penalised | None:
    """Return log-likelihood + log|I|/2 and its gradient, or None outside the parameter space."""
    if (np.diff(parameters[: problem.n_levels - 1]) <= 0).any():
        return None
    point = evaluate(problem, parameters)
    c = curvature(problem, parameters)
    try:
        factor = linalg.cho_factor(expected_information(problem, c))
    except (linalg.LinAlgError, ValueError):
        return None
    value = point.log_likelihood + float(np.log(np.diag(factor[0])).sum())
    v = linalg.cho_solve(factor, np.eye(problem.n_parameters))
    return _Penalised(point, value, point.gradient + _penalty_gradient(problem, c, v), factor)


# --- The score test of proportional odds


def score_test(
    problem: Problem, parameters: Floats, coding: Coding, status: str, clusters: Ints | None = None
) -> pd.DataFrame:
    """Test each term, each factor and all together for one coefficient at every threshold.

    A ``status`` that is not empty is the reason for not testing. With ``clusters`` of the rows the variance of the
    score is that of what they add to it (`_of_clusters`).
    """
    k, p = problem.n_levels - 1, len(problem.terms)
    names = [coding.slot_names()[slot][:2] for slot in problem.terms]
    of_factor = {factor: [i for i in range(p) if names[i][0] == factor] for factor, _ in names}
    tested: list[tuple[str | None, str | None, list[int]]] = [(*name, [i]) for i, name in enumerate(names)]
    tested += [(factor, None, members) for factor, members in of_factor.items()]
    tested.append((None, None, [*range(p)]))
    groups = np.zeros(len(problem.y), dtype=np.int64) if clusters is None else clusters
    # What each cluster adds to the score; without clusters, one row with the whole score.
    added, information = _free_terms(problem, parameters, groups) if not status else (np.zeros((0, 0)),) * 2
    rows, common = [], slice(k + p)
    for factor, level, members in tested:
        own, value, log = [k + p * j + i for j in range(1, k) for i in members], np.nan, np.nan
        # NaN where the data cannot tell the thresholds' coefficients apart.
        with suppress(linalg.LinAlgError):
            if not status:
                cross = information[common, own]
                others = linalg.solve(information[common, common], cross, assume_a="pos")
                variance = information[np.ix_(own, own)] - cross.T @ others
                if clusters is None:
                    value = float(added[0, own] @ linalg.solve(variance, added[0, own], assume_a="pos"))
                    log = tails.log10_p(value, len(own))
                else:
                    value, log = _of_clusters(added[:, own] - added[:, common] @ others, variance)
        rows.append((factor, level, value, len(own), float(tails.to_p(log)), log))
    table = pd.DataFrame(rows, columns=["factor", "level", "statistic", "df", "p", "log10_p"])
    return table.assign(status=status or np.where(table["statistic"].notna(), "ok", "not_identified"))


def _of_clusters(score: Floats, variance: Floats) -> tuple[float, float]:
    """Return the statistic over what the clusters make of it on average, and log10 of its p; ``score`` is by cluster.

    ``variance`` is that of the sum if rows were independent.
    """
    n, df = score.shape
    if n <= df:
        raise linalg.LinAlgError
    white = linalg.solve_triangular(linalg.cholesky(variance, lower=True), score.T, lower=True).T
    whole, of_sum = white.sum(axis=0), n * np.cov(white, rowvar=False).reshape(df, df)
    mean, squares = float(np.trace(of_sum)), float((of_sum**2).sum())
    each = ((white - white.mean(axis=0)) ** 2).sum(axis=1)
    freedom = 2 * n * float(each.mean() ** 2 / each.var(ddof=1))
    value = float(whole @ whole)
    return value / mean * df, tails.log10_p(value / mean, mean**2 / squares, freedom)


def _free_terms(problem: Problem, parameters: Floats, groups: Ints) -> tuple[Floats, Floats]:
    """Return score (by group of rows) and expected information with own coefficients for every threshold.

    Order: thresholds, the coefficients of the first one, then of each other one its departures from these.
    """
    k, p, cross, terms = problem.n_levels - 1, len(problem.terms), problem.cross, problem.terms
    _, ga, gb, *_ = row_derivatives(problem, *ends(problem, parameters))
    upper, lower, y, n = problem.upper, problem.lower, problem.y, int(groups.max()) + 1
    # The derivative of each row's log-likelihood in its eta_j (rows x thresholds).
    scores = np.zeros((len(y), k))
    scores[upper, y[upper]] += (problem.w * ga)[upper]
    scores[lower, y[lower] - 1] += (problem.w * gb)[lower]
    of_thresholds = np.stack([np.bincount(groups, column, n) for column in scores.T], axis=1)
    score = np.hstack([of_thresholds, *(-cross.by_key(column, groups, n)[terms].T for column in scores.T)])
    c, information = curvature(problem, parameters), np.zeros((k + k * p, k + k * p))
    own = [slice(k + p * j, k + p * (j + 1)) for j in range(k)]
    pairs = [(j, j, c.diagonal[:, j]) for j in range(k)] + [(j, j + 1, c.beside[:, j]) for j in range(k - 1)]
    for j, other, weight in pairs:
        w = problem.w * weight
        information[j, other] = information[other, j] = w.sum()
        information[j, own[other]] = information[other, own[j]] = -cross.sums(w)[terms]
        information[own[j], own[other]] = information[own[other], own[j]] = cross.gram(w)[
            np.ix_(terms, terms)
        ]
    information[k:, :k] = information[:k, k:].T
    departures = np.eye(k)
    departures[:, 0] = 1.0
    basis = linalg.block_diag(np.eye(k), np.kron(departures, np.eye(p)))
    return score @ basis, basis.T @ information @ basis
