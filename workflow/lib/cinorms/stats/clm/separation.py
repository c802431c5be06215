"""Separation: which parameters have no finite maximum, and the problem that is left in the limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from cinorms.stats.clm.arrays import Bools, Floats, Ints
from cinorms.stats.clm.likelihood import Problem


def at_infinity(problem: Problem) -> Problem:
    """Find the directions in which the likelihood never falls and the problem at their far end.

    A direction d with z'd >= 0 for every end of every row (z = derivative of a, or minus that of b) and not
    always 0 means that no finite maximum exists; the ends with z'd > 0 reach their limit. What is left is
    looked at again until no such direction remains (Geyer's limiting conditional model).
    """
    z, rows, is_upper = ends_matrix(problem, problem.upper, problem.lower)
    upper, lower = problem.upper.copy(), problem.lower.copy()
    while z.shape[0]:
        d = _recession(z)
        if d is None:
            break
        gone = z @ d > 1e-6
        upper[rows[gone & is_upper]] = False
        lower[rows[gone & ~is_upper]] = False
        z, rows, is_upper = z[~gone], rows[~gone], is_upper[~gone]
    values, vectors = np.linalg.eigh((z.T @ z).toarray())
    null = vectors[:, values < 1e-9 * max(float(values.max(initial=0.0)), 1.0)]
    return replace(problem, upper=upper, lower=lower, null=null)


def ends_matrix(problem: Problem, upper: Bools, lower: Bools) -> tuple[sparse.csr_matrix, Ints, Bools]:
    """Return z of every marked end as a sparse row, its row of the problem, and whether it is upper."""
    k = problem.n_levels - 1
    column = np.full(problem.cross.n_slots, -1)
    column[problem.terms] = k + np.arange(len(problem.terms))
    blocks, rows, kinds = [], [], []
    for active, shift, sign in ((upper, 0, 1.0), (lower, 1, -1.0)):
        at = np.flatnonzero(active)
        columns = np.column_stack([problem.y[at] - shift, column[problem.cross.slots[at]]])
        values = np.full(columns.shape, -sign)
        values[:, 0] = sign
        where = np.broadcast_to(np.arange(len(at))[:, None], columns.shape)
        used = columns >= 0
        shape = (len(at), problem.n_parameters)
        blocks.append(sparse.csr_matrix((values[used], (where[used], columns[used])), shape=shape))
        rows.append(at)
        kinds.append(np.full(len(at), sign > 0))
    return sparse.vstack(blocks, format="csr"), np.concatenate(rows), np.concatenate(kinds)


def _recession(z: sparse.csr_matrix) -> Floats | None:
    """Return d in [-1, 1] with z d >= 0 and the largest sum, or None where only z d = 0 is possible.

    A linear program, solved on part of the rows and again with the rows that its answer violates.
    """
    total = np.asarray(z.sum(axis=0)).ravel()
    chosen = np.zeros(z.shape[0], dtype=bool)
    chosen[:: max(1, z.shape[0] // 2000)] = True
    while True:
        answer = linprog(-total, A_ub=-z[chosen], b_ub=np.zeros(chosen.sum()), bounds=(-1, 1), method="highs")
        if answer.status != 0 or -answer.fun <= 1e-6:
            return None
        slack = z @ answer.x
        bad = np.flatnonzero((slack < -1e-7) & ~chosen)
        if len(bad) == 0:
            return np.asarray(answer.x)
        chosen[bad[np.argsort(slack[bad], kind="stable")[:2000]]] = True


def separated(problem: Problem) -> Bools:
    """Say of each parameter whether the data leave it without a finite value."""
    return np.asarray(np.linalg.norm(problem.null, axis=1) > 1e-6)
