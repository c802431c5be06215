"""Newton's method for the cumulative link model: start, maximum, separation, covariances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse, special
from scipy.optimize import linprog

from cinorms.stats.arrays import Floats
from cinorms.stats.clm.likelihood import Point, Problem, evaluate

#: Newton's decrement g'H^-1 g (squared distance to the maximum in standard errors) at which it has converged.
CONVERGED = 1e-12
#: A maximum is reached in fewer steps than this. Under separation the log-likelihood still to be gained falls
#: by a factor e per step, whatever the link: so many steps are a sure sign, and the exact check is made.
SUSPICIOUS = 12
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Maximum:
    """Where Newton's method ended: the last point, its inverse information, and whether it converged."""

    point: Point
    covariance: Floats
    iterations: int
    converged: bool


def start(problem: Problem) -> Floats:
    """Return parameters near the maximum: a linear regression of normal scores, put on the link's scale.

    ASSUME: the answer is a cut latent variable; only the number of steps depends on it, not the result.
    """
    cross, terms, w, k = problem.cross, problem.terms, problem.w, problem.n_levels - 1
    counts = np.bincount(problem.y, w, problem.n_levels)
    shares = counts.cumsum() / counts.sum()
    score = special.ndtri(shares - counts / counts.sum() / 2)[problem.y]
    score = (score - np.average(score, weights=w)) / np.sqrt(np.average(score**2, weights=w))
    means = cross.sums(w)[terms] / w.sum()
    centred = cross.gram(w)[np.ix_(terms, terms)] / w.sum() - np.outer(means, means)
    covariance = cross.sums(w * score)[terms] / w.sum()
    slope = linalg.lstsq(centred, covariance)[0] if len(terms) else np.zeros(0)
    left = np.sqrt(max(1.0 - float(slope @ covariance), 0.1))
    scale = problem.link.scale / left
    return np.concatenate([scale * (special.ndtri(shares[:k]) + means @ slope), scale * slope])


def solve(problem: Problem) -> tuple[Problem, Maximum]:
    """Maximise the likelihood, in the limit where the data separate terms.

    Returns the problem solved (under separation with the ends that run to infinity there) and the maximum.
    """
    best = maximise(problem, start(problem), SUSPICIOUS)
    if best.converged:
        return problem, best
    limit = at_infinity(problem)
    if not limit.null.shape[1]:
        rest = maximise(problem, best.point.parameters)
        return problem, replace(rest, iterations=rest.iterations + best.iterations)
    rest = maximise(limit, start(limit))
    return limit, replace(rest, iterations=rest.iterations + best.iterations)


def maximise(problem: Problem, parameters: Floats, max_iterations: int = MAX_ITERATIONS) -> Maximum:
    """Climb to the maximum by Newton's method, halving a step until the log-likelihood does not fall.

    The last step is taken after the decrement is below ``CONVERGED``, so the error is about its square.
    """
    point = evaluate(problem, parameters)
    # Directions without information get some, or there were no inverse; the gradient has no part in them.
    fill = problem.null @ problem.null.T * max(float(np.trace(point.information)), 1.0)
    for iteration in range(1, max_iterations + 1):
        try:
            factor = linalg.cho_factor(point.information + fill)
        except (linalg.LinAlgError, ValueError):
            return Maximum(point, np.full_like(point.information, np.nan), iteration, False)
        step = linalg.cho_solve(factor, point.gradient)
        decrement = float(point.gradient @ step)
        point, moved = climb(problem, point, step)
        converged = decrement < CONVERGED
        if converged or not moved:
            break
    try:
        covariance = linalg.inv(point.information + fill)
    except (linalg.LinAlgError, ValueError):
        covariance, converged = np.full_like(point.information, np.nan), False
    return Maximum(point, covariance, iteration, converged)


def climb(problem: Problem, point: Point, step: Floats) -> tuple[Point, bool]:
    """Return the new point, or the old one and False where even a tiny part of the step does not climb."""
    # Rounding of a sum of n terms may lower a log-likelihood that no longer changes.
    slack = 1e-12 * abs(point.log_likelihood)
    size = 1.0
    while size > 1e-6:
        new = evaluate(problem, point.parameters + size * step)
        if new.log_likelihood >= point.log_likelihood - slack:
            return new, True
        size /= 2
    return point, False


# --- Separation: which parameters have no finite maximum, and the problem that is left in the limit


def at_infinity(problem: Problem) -> Problem:
    """Find the directions in which the likelihood never falls and the problem at their far end.

    A direction d with z'd >= 0 for every end of every row (z = derivative of a, or minus that of b) and not
    always 0 means that no finite maximum exists; the ends with z'd > 0 reach their limit. What is left is
    looked at again until no such direction remains (Geyer's limiting conditional model).
    """
    # z of every finite end as a sparse row, its row of the problem, and whether it is upper.
    k, column = problem.n_levels - 1, np.full(problem.cross.n_slots, -1)
    column[problem.terms] = k + np.arange(len(problem.terms))
    blocks, rows_of, kinds = [], [], []
    for active, shift, sign in ((problem.upper, 0, 1.0), (problem.lower, 1, -1.0)):
        at = np.flatnonzero(active)
        columns = np.column_stack([problem.y[at] - shift, column[problem.cross.slots[at]]])
        values = np.full(columns.shape, -sign)
        values[:, 0] = sign
        where = np.broadcast_to(np.arange(len(at))[:, None], columns.shape)
        used = columns >= 0
        shape = (len(at), problem.n_parameters)
        blocks.append(sparse.csr_matrix((values[used], (where[used], columns[used])), shape=shape))
        rows_of.append(at)
        kinds.append(np.full(len(at), sign > 0))
    z, rows, is_upper = sparse.vstack(blocks, format="csr"), np.concatenate(rows_of), np.concatenate(kinds)
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
