"""Probabilities of the answers under a fitted cumulative link model."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from cinorms.stats.clm.arrays import Floats, Ints
from cinorms.stats.clm.likelihood import Problem
from cinorms.stats.clm.separation import ends_matrix


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
