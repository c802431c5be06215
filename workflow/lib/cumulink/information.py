"""Penalised fits, which rest on the expected (Fisher) information."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from cumulink.arrays import Floats
from cumulink.likelihood import CONVERGED, Maximum, Point, Problem, evaluate

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
