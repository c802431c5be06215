"""Penalised fits: the likelihood times Jeffreys' prior, finite under separation too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from cinorms.stats.clm.arrays import Floats
from cinorms.stats.clm.information import Curvature, curvature, expected_information
from cinorms.stats.clm.likelihood import Point, Problem, evaluate
from cinorms.stats.clm.newton import CONVERGED, Maximum

MAX_ITERATIONS = 500


def maximise_penalised(problem: Problem, parameters: Floats) -> Maximum:
    """Maximise log L + log|I|/2 by scoring: Jeffreys' prior, Firth's method for two answers and the logit.

    The estimates are finite whatever the data; the covariance is the inverse expected information there.
    """
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
    return Maximum(
        now.point, linalg.cho_solve(now.factor, np.eye(problem.n_parameters)), iteration, converged
    )


def penalty_gradient(problem: Problem, c: Curvature, v: Floats) -> Floats:
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


@dataclass(frozen=True)
class _Penalised:
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
    return _Penalised(point, value, point.gradient + penalty_gradient(problem, c, v), factor)
