"""The likelihood of the cumulative link model on grouped rows, its derivatives, and its maximum by Newton's method.

P(Y <= k) = F(theta_k - x'beta), F the distribution function of the link.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse, special
from scipy.optimize import linprog

from cumulink.arrays import Bools, Floats, Ints
from cumulink.coding import Crossproducts


@dataclass(frozen=True)
class Link:
    """A distribution function F with density f, in forms that stay exact far out in the tails.

    ``scale`` is roughly its width relative to the normal's; ``cdf`` is F;
    ``log_between(a, b)`` = log(F(a) - F(b)) for a > b, infinite ends allowed; ``log_density`` = log f;
    ``slope`` = f'/f and ``bend`` its derivative at finite points.
    """

    name: str
    scale: float
    cdf: Callable[[Floats], Floats]
    log_between: Callable[[Floats, Floats], Floats]
    log_density: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bend: Callable[[Floats], Floats]

    def __reduce__(self) -> tuple[Callable[[str], "Link"], tuple[str]]:
        """Make a link that is pickled its name: its functions have none of their own."""
        return _link, (self.name,)


def _link(name: str) -> Link:
    return LINKS[name]


def _logit_between(a: Floats, b: Floats) -> Floats:
    """F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)): no cancellation anywhere."""
    log_cdf = np.minimum(a, 0.0) - np.log1p(np.exp(-np.abs(a)))
    log_survival = -np.maximum(b, 0.0) - np.log1p(np.exp(-np.abs(b)))
    return np.asarray(np.log(-np.expm1(b - a)) + log_cdf + log_survival)


def _probit_between(a: Floats, b: Floats) -> Floats:
    """Taken in the lower tail, where the normal distribution function keeps its digits."""
    flip = b > 0
    high, low = np.where(flip, -b, a), np.where(flip, -a, b)
    log_high, log_low = special.log_ndtr(high), special.log_ndtr(low)
    return np.asarray(log_high + np.log(-np.expm1(log_low - log_high)))


def _cloglog_between(a: Floats, b: Floats) -> Floats:
    """F(a) - F(b) = exp(-e^b) (1 - exp(-(e^a - e^b)))."""
    low = np.exp(b)
    return np.asarray(-low + np.log(-np.expm1(low - np.exp(a))))


LINKS = {
    link.name: link
    for link in (
        Link(
            "logit",
            1.7,
            special.expit,
            _logit_between,
            lambda x: np.asarray(-np.abs(x) - 2.0 * np.log1p(np.exp(-np.abs(x)))),
            lambda x: np.asarray(-np.tanh(x / 2)),
            lambda x: np.asarray((np.tanh(x / 2) ** 2 - 1.0) / 2),
        ),
        Link(
            "probit",
            1.0,
            special.ndtr,
            _probit_between,
            lambda x: np.asarray(-0.5 * x * x - 0.5 * np.log(2 * np.pi)),
            lambda x: -x,
            lambda x: np.full_like(x, -1.0),
        ),
        Link(
            "cloglog",
            1.2,
            lambda x: np.asarray(-np.expm1(-np.exp(x))),
            _cloglog_between,
            lambda x: np.asarray(x - np.exp(x)),
            lambda x: np.asarray(1.0 - np.exp(x)),
            lambda x: np.asarray(-np.exp(x)),
        ),
    )
}


@dataclass(frozen=True)
class Problem:
    """Grouped rows of a cumulative link model.

    Row i has the outcome ``y[i]`` (0 .. n_levels - 1), the weight ``w[i]`` and adds
    w log(F(a) - F(b)), a = theta[y] - x'beta (infinite for the highest level), b = theta[y-1] - x'beta
    (minus infinite for the lowest). Parameters: n_levels - 1 thresholds, then beta at the slots ``terms``.
    ``upper`` and ``lower`` mark the rows where a and b are finite; under separation some go to their limit.
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

    @property
    def lost(self) -> Bools:
        """Which parameters have no finite maximum."""
        return np.asarray(np.linalg.norm(self.null, axis=1) > 1e-6)


@dataclass(frozen=True)
class Point:
    """Log-likelihood, gradient and negative Hessian (``information``) at ``parameters``."""

    parameters: Floats
    log_likelihood: float
    gradient: Floats
    information: Floats


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


def third_derivatives(
    problem: Problem, a: Floats, b: Floats, rows: tuple[Floats, ...]
) -> tuple[Floats, Floats]:
    """Return the derivatives of aa + 2 ab + bb of each row in a and in b; ``rows`` are its `row_derivatives`."""
    link = problem.link
    _, ga, gb, haa, hab, hbb = rows
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
        derivatives = carried_over(problem, ga, gb), _information(problem, haa, hab, hbb)
    return Point(parameters, float(log_p.sum()), *derivatives)


def _information(problem: Problem, haa: Floats, hab: Floats, hbb: Floats) -> Floats:
    """Return the information about thresholds and beta from second derivatives in the ends of the rows."""
    k, y, cross, n = problem.n_levels - 1, problem.y, problem.cross, problem.n_parameters
    information = np.empty((n, n))
    information[:k, :k] = -np.diag(_by_threshold(problem, haa, hbb))
    between = -np.bincount(y, hab, k + 1)[1:k]
    information[np.arange(1, k), np.arange(k - 1)] = between
    information[np.arange(k - 1), np.arange(1, k)] = between
    mixed = cross.by_key(haa + hab, y, k + 1)[:, :k] + cross.by_key(hab + hbb, y, k + 1)[:, 1:]
    information[k:, :k] = mixed[problem.terms]
    information[:k, k:] = mixed[problem.terms].T
    information[k:, k:] = -cross.gram(haa + 2 * hab + hbb)[np.ix_(problem.terms, problem.terms)]
    return information


def carried_over(problem: Problem, rows_a: Floats, rows_b: Floats) -> Floats:
    """Carry derivatives in the ends of the rows over to thresholds and beta."""
    thresholds = _by_threshold(problem, rows_a, rows_b)
    return np.concatenate([thresholds, -problem.cross.sums(rows_a + rows_b)[problem.terms]])


def _by_threshold(problem: Problem, rows_a: Floats, rows_b: Floats) -> Floats:
    """Return the sums of each threshold's upper and lower ends."""
    k, y = problem.n_levels - 1, problem.y
    return np.asarray(np.bincount(y, rows_a, k + 1)[:k] + np.bincount(y, rows_b, k + 1)[1:], dtype=np.float64)


def scores(problem: Problem, parameters: Floats) -> Callable[[Ints], Floats]:
    """Return a function that splits the gradient over groups of rows (groups x parameters)."""
    a, b = ends(problem, parameters)
    _, ga, gb, *_ = row_derivatives(problem, a, b)
    ga, gb = problem.w * ga, problem.w * gb

    def split(groups: Ints) -> Floats:
        n, k = int(groups.max()) + 1, problem.n_levels - 1
        key = groups * (k + 1) + problem.y
        thresholds = np.bincount(key, ga, n * (k + 1)).reshape(n, k + 1)[:, :k]
        thresholds = thresholds + np.bincount(key, gb, n * (k + 1)).reshape(n, k + 1)[:, 1:]
        of_terms = -problem.cross.by_key(ga + gb, groups, n)[problem.terms].T
        return np.hstack([thresholds, of_terms])

    return split


# --- Newton's method: start, maximum

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

    The outcome is taken for a latent variable that is cut; only the number of steps depends on it, not the result.
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

    The ends of rows that a direction moves reach their limit there; what is left is looked at again until no such
    direction remains (Geyer's limiting conditional model).
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
