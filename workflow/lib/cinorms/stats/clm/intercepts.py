"""Marginal likelihoods of cumulative link models with random intercepts: one for each group of rows, or two crossed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import linalg, special

from cinorms.core.errors import DataError
from cinorms.stats.arrays import Floats, Ints
from cinorms.stats.clm.fit import fit_clm
from cinorms.stats.clm.likelihood import Problem, carried_over, ends, row_derivatives, third_derivatives


class OneIntercept:
    """The marginal likelihood with an intercept for each group of rows; remembers the modes to start the next search.

    The integral over the intercept is taken by adaptive Gauss-Hermite quadrature about its mode; with one node
    this is Laplace's approximation.
    """

    def __init__(self, problem: Problem, groups: Ints, nodes: int) -> None:
        self.problem = problem
        self.groups = groups
        self.n = int(groups.max()) + 1
        self.nodes, weights = special.roots_hermite(nodes)
        self.log_weights = np.log(weights) + self.nodes**2
        self.modes = np.zeros(self.n)

    def _by_group(self, rows: Floats) -> Floats:
        return np.asarray(np.bincount(self.groups, rows, self.n))

    def _at(self, a: Floats, b: Floats, shift: Floats) -> tuple[Floats, ...]:
        """Return weighted log-likelihood and derivatives of the rows, predictors raised by ``shift``."""
        rows = row_derivatives(self.problem, a - shift[self.groups], b - shift[self.groups])
        return tuple(self.problem.w * d for d in rows)

    def _find_modes(self, a: Floats, b: Floats, sigma: float) -> Floats:
        """Return the mode of the concave log p(y | v) - v^2/2 of every group by Newton's method."""
        v = self.modes
        for _ in range(50):
            _, ga, gb, haa, hab, hbb = self._at(a, b, sigma * v)
            slope = -sigma * self._by_group(ga + gb) - v
            curve = sigma**2 * self._by_group(haa + 2 * hab + hbb) - 1
            step = np.clip(-slope / curve, -2, 2)
            v = v + step
            if np.abs(step).max() < 1e-10:
                break
        self.modes = v
        return v

    def evaluate(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient in thresholds, beta and sigma."""
        k, sigma = self.problem.n_levels - 1, float(parameters[-1])
        if (np.diff(parameters[:k]) <= 0).any():
            return -np.inf, np.zeros_like(parameters)
        a, b = ends(self.problem, parameters[:-1])
        v = self._find_modes(a, b, sigma)
        curves = self._curves(a, b, v, sigma)
        spread = np.sqrt(2 / curves.d)
        logs, slopes, own = [], [], []
        for node, log_weight in zip(self.nodes, self.log_weights, strict=True):
            at = v + spread * node
            log_p, ga, gb, *_ = self._at(a, b, sigma * at)
            push = -self._by_group(ga + gb)
            logs.append(self._by_group(log_p) - at**2 / 2 + log_weight)
            slopes.append(sigma * push - at)
            own.append((ga, gb, at * push))
        total = special.logsumexp(logs, axis=0)
        share = np.exp(np.array(logs) - total)
        value = float((total + np.log(spread)).sum() - self.n * np.log(2 * np.pi) / 2)
        # the mode moves with the parameters, and so does the spread of the nodes
        by_mode = (share * slopes).sum(axis=0)
        by_curve = -(1 + (share * slopes * (spread * self.nodes[:, None])).sum(axis=0)) / (2 * curves.d)
        by_slope = (by_mode - by_curve * curves.third) / curves.d
        rows_a = sum(p[self.groups] * ga for p, (ga, _, _) in zip(share, own, strict=True))
        rows_b = sum(p[self.groups] * gb for p, (_, gb, _) in zip(share, own, strict=True))
        rows_a = rows_a + by_slope[self.groups] * curves.slope_a - by_curve[self.groups] * curves.curve_a
        rows_b = rows_b + by_slope[self.groups] * curves.slope_b - by_curve[self.groups] * curves.curve_b
        by_sigma = sum(p * at for p, (_, _, at) in zip(share, own, strict=True))
        by_sigma = by_sigma + by_slope * curves.slope_sigma - by_curve * curves.curve_sigma
        return value, np.append(carried_over(self.problem, rows_a, rows_b), by_sigma.sum())

    def _curves(self, a: Floats, b: Floats, v: Floats, sigma: float) -> _Curves:
        """Return the curvature d = -h'' at the modes and how h', h'' change, h(v) = log p(y | v) - v^2/2."""
        a, b = a - sigma * v[self.groups], b - sigma * v[self.groups]
        w = self.problem.w
        _, ga, gb, haa, hab, hbb = row_derivatives(self.problem, a, b)
        third_a, third_b = third_derivatives(self.problem, a, b)
        second_a, second_b = w * third_a, w * third_b
        first = -self._by_group(w * (ga + gb))
        second = self._by_group(w * (haa + 2 * hab + hbb))
        third = -self._by_group(second_a + second_b)
        return _Curves(
            d=1 - sigma**2 * second,
            third=sigma**3 * third,
            slope_a=-sigma * w * (haa + hab),
            slope_b=-sigma * w * (hab + hbb),
            curve_a=sigma**2 * second_a,
            curve_b=sigma**2 * second_b,
            slope_sigma=first + sigma * v * second,
            curve_sigma=2 * sigma * second + sigma**2 * v * third,
        )


@dataclass(frozen=True)
class _Curves:
    """By group: d = -h'', third = h''', and dh'/dsigma, dh''/dsigma; by row: dh' and dh'' in a and b."""

    d: Floats
    third: Floats
    slope_a: Floats
    slope_b: Floats
    curve_a: Floats
    curve_b: Floats
    slope_sigma: Floats
    curve_sigma: Floats


def crossed_intercepts(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    groups: Sequence[str],
    baselines: dict[str, str] | None,
    link: str,
) -> CrossedIntercepts:
    """Return the likelihood of the rows of ``frame`` that have an ``outcome``, for ``fit_clmm``."""
    used = frame[frame[outcome].notna()]
    codes, names = zip(*(pd.factorize(used[group]) for group in groups), strict=True)
    if min(map(len, names)) < 2:
        raise DataError(f"{' and '.join(groups)}: each needs at least two groups with answers")
    # The larger group is the first: what is solved for it is diagonal.
    order = np.argsort([-len(name) for name in names])
    n_second = len(names[order[1]])
    pair = codes[order[0]].astype(np.int64) * n_second + codes[order[1]]
    solved = fit_clm(used.assign(_pair=pair), outcome, factors, baselines, link, cluster="_pair").solved
    if solved is None:  # it was fitted before, by one of the groups
        raise DataError(f"{outcome}: no model can be fitted to these answers")
    of_row = pd.unique(pair)[solved.clusters["_pair"]]
    return CrossedIntercepts(solved.problem, of_row // n_second, of_row % n_second, bool(order[0]))


@dataclass(frozen=True)
class _Blocks:
    """E, the inverse of minus the second derivatives at the modes, and the logarithm of its determinant.

    ``first`` is the diagonal of E in the first group, ``between`` E of both, ``second`` E in the second;
    ``solve`` multiplies by E.
    """

    first: Floats
    between: Floats
    second: Floats
    log_det: float
    ratio: Floats
    diagonal: Floats

    def solve(self, v: Floats, w: Floats) -> tuple[Floats, Floats]:
        """Return E (v, w)."""
        below = self.second @ (w - self.ratio.T @ v)
        return v / self.diagonal - self.ratio @ below, below


class CrossedIntercepts:
    """The marginal likelihood with two crossed intercepts, such as flow and variant; remembers the modes.

    P(Y_i <= k) = F(theta_k - x_i'beta - s_i), s_i = sigma_1 v_g(i) + sigma_2 w_h(i), all v and w standard normal. The
    integral over them is Laplace's approximation about their joint mode. Its matrix of second derivatives is
    diagonal for the first group, so that all linear algebra is on the (small) second group.
    ``swapped`` means that the second sigma of the parameters is that of the first, larger group.
    """

    def __init__(self, problem: Problem, first: Ints, second: Ints, swapped: bool) -> None:
        self.problem, self.first, self.second, self.swapped = problem, first, second, swapped
        self.n_first, self.n_second = int(first.max()) + 1, int(second.max()) + 1
        self.cell = first * self.n_second + second
        self.v, self.w = np.zeros(self.n_first), np.zeros(self.n_second)

    def _sums(self, rows: Floats) -> tuple[Floats, Floats]:
        return (
            np.bincount(self.first, rows, self.n_first).astype(np.float64),
            np.bincount(self.second, rows, self.n_second).astype(np.float64),
        )

    def _shift(self, sigmas: Floats, v: Floats, w: Floats) -> Floats:
        return np.asarray(sigmas[0] * v[self.first] + sigmas[1] * w[self.second])

    def _blocks(self, bend: Floats, sigmas: Floats) -> _Blocks:
        """Invert I + Z'DZ, D = ``bend`` of the rows, by the complement of its diagonal first block."""
        of_first, of_second = self._sums(bend)
        cells = np.bincount(self.cell, bend, self.n_first * self.n_second)
        diagonal = 1 + sigmas[0] ** 2 * of_first
        between = sigmas[0] * sigmas[1] * cells.reshape(self.n_first, self.n_second)
        ratio = between / diagonal[:, None]
        rest = np.diag(1 + sigmas[1] ** 2 * of_second) - between.T @ ratio
        factor = linalg.cholesky(rest, lower=True)
        second = linalg.cho_solve((factor, True), np.eye(self.n_second))
        across = -ratio @ second
        log_det = float(np.log(diagonal).sum() + 2 * np.log(np.diag(factor)).sum())
        return _Blocks(1 / diagonal - (across * ratio).sum(axis=1), across, second, log_det, ratio, diagonal)

    def _find_modes(self, a: Floats, b: Floats, sigmas: Floats) -> tuple[Floats, Floats]:
        """Return the mode of the concave log p(y | v, w) - (v'v + w'w)/2 by Newton's method."""
        v, w = self.v, self.w
        for _ in range(50):
            shift = self._shift(sigmas, v, w)
            rows = row_derivatives(self.problem, a - shift, b - shift)
            _, ga, gb, haa, hab, hbb = (self.problem.w * d for d in rows)
            push = self._sums(-(ga + gb))
            blocks = self._blocks(-(haa + 2 * hab + hbb), sigmas)
            step_v, step_w = blocks.solve(sigmas[0] * push[0] - v, sigmas[1] * push[1] - w)
            size = max(np.abs(step_v).max(), np.abs(step_w).max())
            # Far from the mode a full step may overshoot; shortened, all of it points uphill still.
            short = min(1.0, 2 / size) if size > 0 else 1.0
            v, w = v + short * step_v, w + short * step_w
            if size < 1e-10:
                break
        self.v, self.w = v, w
        return v, w

    def evaluate(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient in thresholds, beta and the two sigmas."""
        k, sigmas = self.problem.n_levels - 1, parameters[-2:][:: -1 if self.swapped else 1]
        if (np.diff(parameters[:k]) <= 0).any():
            return -np.inf, np.zeros_like(parameters)
        a, b = ends(self.problem, parameters[:-2])
        v, w = self._find_modes(a, b, sigmas)
        shift = self._shift(sigmas, v, w)
        a, b, weight = a - shift, b - shift, self.problem.w
        log_p, ga, gb, haa, hab, hbb = (weight * d for d in row_derivatives(self.problem, a, b))
        bend_a, bend_b = (-weight * d for d in third_derivatives(self.problem, a, b))
        bend, push = -(haa + 2 * hab + hbb), -(ga + gb)
        blocks = self._blocks(bend, sigmas)
        value = float(log_p.sum() - (v @ v + w @ w) / 2 - blocks.log_det / 2)
        # e1, e2: E z of each row in its two groups; variance: z'E z, the row's uncertainty of its shift.
        e1 = sigmas[0] * blocks.first[self.first] + sigmas[1] * blocks.between[self.first, self.second]
        e2 = (
            sigmas[0] * blocks.between[self.first, self.second]
            + sigmas[1] * np.diag(blocks.second)[self.second]
        )
        variance = sigmas[0] * e1 + sigmas[1] * e2
        # The modes move with the parameters: c = E times what moving them does to the determinant.
        tilt = self._sums(variance * (bend_a + bend_b) / 2)
        c_first, c_second = blocks.solve(sigmas[0] * tilt[0], sigmas[1] * tilt[1])
        t = self._shift(sigmas, c_first, c_second)
        rows_a = ga - t * (haa + hab) - variance * bend_a / 2
        rows_b = gb - t * (hab + hbb) - variance * bend_b / 2
        by_shift = push - t * bend + variance * (bend_a + bend_b) / 2
        by_sigma = [
            float((by_shift * at + push * c - bend * e).sum())
            for at, c, e in (
                (v[self.first], c_first[self.first], e1),
                (w[self.second], c_second[self.second], e2),
            )
        ]
        if self.swapped:
            by_sigma.reverse()
        return value, np.append(carried_over(self.problem, rows_a, rows_b), by_sigma)
