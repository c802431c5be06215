"""The engine of the cumulative link model: likelihood, Newton's method, separation, clustered errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special
from scipy.optimize import linprog

from cinorms.stats.clm.coding import Crossproducts
from cinorms.stats.clm.link_functions import Link

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: Newton's decrement g'H^-1 g (squared distance to the maximum in standard errors) at which it has converged.
CONVERGED = 1e-12
#: A maximum is reached in fewer steps than this. Under separation the log-likelihood still to be gained falls
#: by a factor e per step, whatever the link: so many steps are a sure sign, and the exact check is made.
SUSPICIOUS = 12
MAX_ITERATIONS = 100


@dataclass(frozen=True)
class Problem:
    """Grouped rows of a cumulative link model.

    Row i has the answer ``y[i]`` (0 .. n_levels - 1), the weight ``w[i]`` and adds
    w log(F(a) - F(b)), a = theta[y] - x'beta (infinite for the highest answer), b = theta[y-1] - x'beta
    (minus infinite for the lowest). Parameters: n_levels - 1 thresholds, then beta at the slots ``terms``.
    ``upper`` and ``lower`` say for which rows a and b are finite; under separation some go to their limit.
    ``null`` holds, as columns, directions in which the likelihood then is constant.
    """

    cross: Crossproducts
    terms: Ints
    y: Ints
    w: Floats
    n_levels: int
    link: Link
    upper: Bools
    lower: Bools
    null: Floats

    @property
    def n_parameters(self) -> int:
        """Number of thresholds and terms."""
        return self.n_levels - 1 + len(self.terms)


@dataclass(frozen=True)
class Point:
    """Log-likelihood, gradient and negative Hessian (``information``) at ``parameters``."""

    parameters: Floats
    log_likelihood: float
    gradient: Floats
    information: Floats


@dataclass(frozen=True)
class Maximum:
    """Where Newton's method ended: the last point, its inverse information, and whether it converged."""

    point: Point
    covariance: Floats
    iterations: int
    converged: bool


def make_problem(cross: Crossproducts, terms: Ints, y: Ints, w: Floats, link: Link) -> Problem:
    """Return the problem without separation; the levels of ``y`` must all occur."""
    n_levels = int(y.max()) + 1
    null = np.zeros((n_levels - 1 + len(terms), 0))
    return Problem(cross, terms, y, w, n_levels, link, y < n_levels - 1, y > 0, null)


def ends(problem: Problem, parameters: Floats) -> tuple[Floats, Floats]:
    """Return a and b of every row."""
    k = problem.n_levels - 1
    beta = np.zeros(problem.cross.n_slots)
    beta[problem.terms] = parameters[k:]
    eta = problem.cross.linear(beta)
    theta = parameters[:k]
    a = np.where(problem.upper, np.append(theta, np.inf)[problem.y] - eta, np.inf)
    b = np.where(problem.lower, np.append(-np.inf, theta)[problem.y] - eta, -np.inf)
    return a, b


def row_derivatives(problem: Problem, a: Floats, b: Floats) -> tuple[Floats, ...]:
    """Return log(F(a) - F(b)) of each row and its derivatives in a, b, aa, ab and bb."""
    link = problem.link
    log_p = link.log_between(a, b)
    at_a, at_b = np.where(problem.upper, a, 0.0), np.where(problem.lower, b, 0.0)
    ga = np.where(problem.upper, np.exp(link.log_density(at_a) - log_p), 0.0)
    gb = np.where(problem.lower, -np.exp(link.log_density(at_b) - log_p), 0.0)
    return log_p, ga, gb, ga * link.slope(at_a) - ga * ga, -ga * gb, gb * link.slope(at_b) - gb * gb


def third_derivatives(problem: Problem, a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives of aa + 2 ab + bb of each row (`row_derivatives`) in a and in b."""
    link = problem.link
    _, ga, gb, haa, hab, hbb = row_derivatives(problem, a, b)
    at_a, at_b = np.where(problem.upper, a, 0.0), np.where(problem.lower, b, 0.0)
    haaa = haa * link.slope(at_a) + ga * link.bend(at_a) - 2 * ga * haa
    haab = -haa * gb - ga * hab
    habb = -hab * gb - ga * hbb
    hbbb = hbb * link.slope(at_b) + gb * link.bend(at_b) - 2 * gb * hbb
    return haaa + 2 * haab + habb, haab + 2 * habb + hbbb


def evaluate(problem: Problem, parameters: Floats) -> Point:
    """Return log-likelihood, gradient and information; all are nan where thresholds are out of order."""
    with np.errstate(all="ignore"):
        a, b = ends(problem, parameters)
        log_p, ga, gb, haa, hab, hbb = (problem.w * d for d in row_derivatives(problem, a, b))
    k, y, cross = problem.n_levels - 1, problem.y, problem.cross

    def per_threshold(at_a: Floats, at_b: Floats) -> Floats:
        return np.asarray(np.bincount(y, at_a, k + 1)[:k] + np.bincount(y, at_b, k + 1)[1:], dtype=np.float64)

    gradient = np.concatenate([per_threshold(ga, gb), -cross.sums(ga + gb)[problem.terms]])
    information = np.empty((problem.n_parameters, problem.n_parameters))
    information[:k, :k] = -np.diag(per_threshold(haa, hbb))
    between = -np.bincount(y, hab, k + 1)[1:k]
    information[np.arange(1, k), np.arange(k - 1)] = between
    information[np.arange(k - 1), np.arange(1, k)] = between
    mixed = cross.by_key(haa + hab, y, k + 1)[:, :k] + cross.by_key(hab + hbb, y, k + 1)[:, 1:]
    information[k:, :k] = mixed[problem.terms]
    information[:k, k:] = mixed[problem.terms].T
    information[k:, k:] = -cross.gram(haa + 2 * hab + hbb)[np.ix_(problem.terms, problem.terms)]
    return Point(parameters, float(log_p.sum()), gradient, information)


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


def null_log_likelihood(problem: Problem) -> float:
    """Return the maximum without terms, sum of n_k log(n_k / n): the same for every link."""
    counts = np.bincount(problem.y, problem.w, problem.n_levels)
    return float(np.sum(counts * np.log(counts / counts.sum())))


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
        point, moved = _step(problem, point, step)
        if decrement < CONVERGED:
            return _finish(problem, point, fill, iteration, True)
        if not moved:
            break
    return _finish(problem, point, fill, iteration, False)


def _step(problem: Problem, point: Point, step: Floats) -> tuple[Point, bool]:
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


def _finish(problem: Problem, point: Point, fill: Floats, iterations: int, converged: bool) -> Maximum:
    try:
        covariance = linalg.inv(point.information + fill)
    except (linalg.LinAlgError, ValueError):
        return Maximum(point, np.full_like(point.information, np.nan), iterations, False)
    return Maximum(point, covariance, iterations, converged)


def fit(problem: Problem) -> tuple[Problem, Maximum]:
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


def carried_over(problem: Problem, rows_a: Floats, rows_b: Floats) -> Floats:
    """Carry derivatives in the ends of the rows over to thresholds and beta."""
    k = problem.n_levels - 1
    thresholds = np.bincount(problem.y, rows_a, k + 1)[:k] + np.bincount(problem.y, rows_b, k + 1)[1:]
    return np.concatenate([thresholds, -problem.cross.sums(rows_a + rows_b)[problem.terms]])


def separated(problem: Problem) -> Bools:
    """Say of each parameter whether the data leave it without a finite value."""
    return np.asarray(np.linalg.norm(problem.null, axis=1) > 1e-6)


def scores(problem: Problem, parameters: Floats, groups: Ints) -> Floats:
    """Return the gradient split over ``groups`` of rows (groups x parameters)."""
    a, b = ends(problem, parameters)
    _, ga, gb, *_ = row_derivatives(problem, a, b)
    ga, gb = problem.w * ga, problem.w * gb
    n, k = int(groups.max()) + 1, problem.n_levels - 1
    key = groups * (k + 1) + problem.y
    thresholds = np.bincount(key, ga, n * (k + 1)).reshape(n, k + 1)[:, :k]
    thresholds = thresholds + np.bincount(key, gb, n * (k + 1)).reshape(n, k + 1)[:, 1:]
    return np.hstack([thresholds, -problem.cross.by_key(ga + gb, groups, n)[problem.terms].T])


def clustered(problem: Problem, best: Maximum, clusters: Ints) -> Floats:
    """Return the sandwich V (sum of s s') V G/(G-1), s the score of a cluster, V the inverse information."""
    s = scores(problem, best.point.parameters, clusters)
    n = len(s)
    return np.asarray(best.covariance @ (s.T @ s) @ best.covariance * n / (n - 1))
