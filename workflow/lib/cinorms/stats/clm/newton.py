"""Newton's method for the cumulative link model: start, maximum, covariances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, special

from cinorms.stats.clm.arrays import Floats, Ints
from cinorms.stats.clm.likelihood import Point, Problem, evaluate, scores
from cinorms.stats.clm.separation import at_infinity

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
    # The decrement grows with the weights: rows that weigh next to nothing must not look converged.
    near = CONVERGED * min(1.0, float(problem.w.max(initial=0.0)))
    for iteration in range(1, max_iterations + 1):
        try:
            factor = linalg.cho_factor(point.information + fill)
        except (linalg.LinAlgError, ValueError):
            return Maximum(point, np.full_like(point.information, np.nan), iteration, False)
        step = linalg.cho_solve(factor, point.gradient)
        decrement = float(point.gradient @ step)
        point, moved = climb(problem, point, step)
        if decrement < near:
            return _finish(problem, point, fill, iteration, True)
        if not moved:
            break
    return _finish(problem, point, fill, iteration, False)


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


def _finish(problem: Problem, point: Point, fill: Floats, iterations: int, converged: bool) -> Maximum:
    try:
        covariance = linalg.inv(point.information + fill)
    except (linalg.LinAlgError, ValueError):
        return Maximum(point, np.full_like(point.information, np.nan), iterations, False)
    return Maximum(point, covariance, iterations, converged)


def clustered(problem: Problem, best: Maximum, clusters: Sequence[Ints]) -> tuple[Floats, Floats]:
    """Return the variance of each parameter that is robust against what clusters share, and its degrees of freedom.

    One way of clustering: the diagonal of the sandwich V (sum of s s') V G/(G-1), s the score of a cluster, V the
    inverse information. Two ways that cross: the sum of both less that of their cells, whose noise both hold, and never
    less than either. The degrees of freedom are G - 1, or Satterthwaite's of the sum.
    """
    squares = []
    for codes in (*clusters, _cells(clusters)) if len(clusters) > 1 else clusters:
        influence = scores(problem, best.point.parameters, codes) @ best.covariance
        n = len(influence)
        squares.append((n / (n - 1) * (influence**2).sum(axis=0), n - 1.0))
    if len(clusters) == 1:
        ((variance, freedom),) = squares
        return variance, np.full_like(variance, freedom)
    (first, n_first), (second, n_second), (cells, _) = squares
    variance = np.maximum(first + second - cells, np.maximum(first, second))
    parts = first**2 / n_first + second**2 / n_second
    return variance, np.maximum(variance**2 / np.maximum(parts, 1e-300), 1.0)


def _cells(clusters: Sequence[Ints]) -> Ints:
    """Return the cell of each row in two ways of clustering."""
    first, second = clusters
    return np.unique(first * (second.max() + 1) + second, return_inverse=True)[1].astype(np.int64)
