"""Marginal likelihood of a cumulative link model with a random intercept for each group of rows.

The integral over the intercept is taken by adaptive Gauss-Hermite quadrature about its mode; with one node
this is Laplace's approximation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from cinorms.stats.clm.arrays import Floats, Ints
from cinorms.stats.clm.likelihood import Problem, carried_over, ends, row_derivatives, third_derivatives


class OneIntercept:
    """The marginal likelihood of a grouped problem; remembers the modes to start the next search."""

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
