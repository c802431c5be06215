"""Expected (Fisher) information of the cumulative link model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cinorms.stats.clm.arrays import Floats
from cinorms.stats.clm.likelihood import Problem


@dataclass(frozen=True)
class Curvature:
    """Expected information about each row's eta_j = theta_j - x'beta per unit of weight (rows x thresholds).

    With u_j = f(eta_j) and the probabilities p_j of the answers on either side of threshold j,
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
    information[:k, :k] = _tridiagonal(diagonal.sum(axis=0), beside.sum(axis=0))
    mixed = -np.column_stack([cross.sums(rows[:, j])[terms] for j in range(k)])
    information[k:, :k], information[:k, k:] = mixed, mixed.T
    information[k:, k:] = cross.gram(rows.sum(axis=1))[np.ix_(terms, terms)]
    return information


def _tridiagonal(diagonal: Floats, beside: Floats) -> Floats:
    return np.asarray(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
