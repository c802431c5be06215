"""Cumulative link mixed model: a random intercept for each flow (or any other group of answers), or two crossed.

P(Y_gi <= k) = F(theta_k - x'beta - sigma v_g), v_g standard normal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import linalg, optimize, special

from cinorms.core.errors import ConfigError, DataError
from cinorms.stats.arrays import Floats, Ints
from cinorms.stats.clm.fit import ClmFit, ClmmFit, Solved, fit_clm, inference
from cinorms.stats.clm.likelihood import (
    Problem,
    carried_over,
    ends,
    evaluate,
    row_derivatives,
    third_derivatives,
)

#: A standard deviation below this (in units of the link) is none: at 0 the likelihood has an edge, not a maximum.
NO_SPREAD = 0.01
#: Gradient left, in units of the standard errors, at which the fit has converged.
CONVERGED = 1e-3
#: Sigmas to begin with, one after the other, and climbs from each.
STARTS = (0.5, 4.0)
CLIMBS = 4
#: Variance of the latent answer about its predictor (logit); only the number of steps depends on it.
LATENT_VARIANCE = 3.3


def fit_clmm(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    group: str | tuple[str, ...],
    baselines: dict[str, str] | None = None,
    link: str = "logit",
    nodes: int = 1,
    freedom: Mapping[str, float] | None = None,
) -> ClmmFit:
    """Fit a cumulative link model with a random intercept for the column ``group``, or for each of two.

    ``nodes`` is the number of quadrature nodes, odd; 1 is Laplace's approximation, the only one for two groups.
    The likelihood is climbed by BFGS with its exact gradient; standard errors come from the differenced
    gradient. Statistics refer to the normal distribution, of the factors in ``freedom`` to Student's t with so many
    degrees of freedom: a factor that differs between few groups rests on these. Raises ConfigError and
    DataError as ``fit_clm`` does.
    """
    groups = (group,) if isinstance(group, str) else group
    if nodes < 1 or nodes % 2 == 0:
        raise ConfigError(f"nodes = {nodes}: the number of quadrature nodes is odd, 1 (Laplace) or more")
    if nodes > 1 and len(groups) > 1:
        raise ConfigError(
            f"nodes = {nodes}: crossed intercepts are fitted by Laplace's approximation, nodes = 1"
        )
    start = fit_clm(frame, outcome, factors, baselines, link, cluster=groups[0])
    solved = start.solved
    if start.status != "ok" or solved is None:
        return _unfitted(start, nodes)
    parameters, covariance, log_likelihood, converged = _maximise(
        crossed_intercepts(frame, outcome, factors, groups, baselines, link)
        if len(groups) > 1
        else OneIntercept(solved.problem, solved.clusters[groups[0]], nodes),
        solved,
        len(groups),
    )
    n_clusters = {name: int(frame.loc[frame[outcome].notna(), name].nunique()) for name in groups}
    kept = [name for name, sd in _by_name(groups, abs(parameters)).items() if sd >= NO_SPREAD]
    if len(groups) > 1 and len(kept) == 1:
        (lost,) = set(groups) - set(kept)
        rest = fit_clmm(frame, outcome, factors, kept[0], baselines, link, freedom=freedom)
        reason = f"answers of different {lost}s differ no more than others: its intercept has no spread"
        sd = {**rest.sd, lost: 0.0} if rest.sd else {}
        return replace(rest, sd=sd, reason=rest.reason or reason, n_clusters=n_clusters)
    if not converged:
        parameters, covariance = np.full_like(parameters, np.nan), np.full_like(covariance, np.nan)
    std_err = np.sqrt(np.diag(covariance))
    k, ok = len(start.thresholds), (start.coefficients["status"] == "ok").to_numpy()
    estimates, errors = np.full((2, len(ok)), np.nan)
    estimates[ok], errors[ok] = parameters[k : -len(groups)], std_err[k : -len(groups)]
    of_terms = start.coefficients["factor"].map(dict(freedom or {})).fillna(np.inf)
    word = {"ok": "ok" if converged else "not_estimated"}
    return ClmmFit(
        "ok" if converged else "not_converged",
        start.reason if converged else "the maximum of the marginal likelihood was not reached",
        start.coefficients.assign(
            **inference(estimates, errors, link, np.asarray(of_terms, dtype=np.float64))
        ).replace({"status": word}),
        start.thresholds.assign(estimate=parameters[:k], std_err=std_err[:k]).replace({"status": word}),
        link,
        nodes,
        start.n,
        n_clusters,
        _by_name(groups, abs(parameters)) if converged else {},
        _by_name(groups, std_err) if converged else {},
        log_likelihood if converged else None,
        2 * len(parameters) - 2 * log_likelihood if converged else None,
    )


def _by_name(groups: Sequence[str], values: Floats) -> dict[str, float]:
    """Return the last of ``values``, one for each group."""
    return {name: float(value) for name, value in zip(groups, values[-len(groups) :], strict=True)}


def _unfitted(start: ClmFit, nodes: int) -> ClmmFit:
    blank = dict.fromkeys(inference(np.zeros(0), np.zeros(0), start.link), np.nan)
    coefficients = start.coefficients.assign(**blank).replace({"status": {"ok": "not_estimated"}})
    thresholds = start.thresholds.assign(estimate=np.nan, std_err=np.nan)
    thresholds = thresholds.replace({"status": {"ok": "not_estimated"}})
    return ClmmFit(start.status, start.reason, coefficients, thresholds, start.link, nodes, start.n)


def _maximise(
    mixed: OneIntercept | CrossedIntercepts, start: Solved, n_groups: int
) -> tuple[Floats, Floats, float, bool]:
    """Return the parameters at the maximum, their covariance, the log-likelihood, and if it is one.

    Where the climb ends short of it, it goes on from there in units of the curvature found there: far from the start
    (large sigmas) the first units no longer fit. If that fails too, it begins again with larger sigmas.
    """
    information = evaluate(start.problem, start.parameters).information
    # In units of the standard errors of the model without groups the surface is nearly round.
    usual = np.append(np.sqrt(np.diag(linalg.inv(information))), [0.1] * n_groups)
    failed = np.full((len(usual), len(usual)), np.nan)
    for sigma in STARTS:
        # Given the intercepts, all coefficients are larger than without them.
        reached = np.append(
            start.parameters * np.sqrt(1 + n_groups * sigma**2 / LATENT_VARIANCE), [sigma] * n_groups
        )
        units = np.diag(usual)
        for _ in range(CLIMBS):
            value, reached, gradient, hessian = _climb(mixed, reached, units)
            try:
                inverse = linalg.cho_solve(linalg.cho_factor(hessian), np.eye(len(hessian)))
            except (linalg.LinAlgError, ValueError):
                break
            if float(gradient @ inverse @ gradient) < CONVERGED**2:
                return reached, units @ inverse @ units.T, value, True
            units = units @ linalg.cholesky(inverse, lower=True)
    return reached, failed, float("nan"), False


def _climb(
    mixed: OneIntercept | CrossedIntercepts, origin: Floats, units: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Return the value reached and where, and there gradient and curvature of minus the log-likelihood in ``units``."""

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = mixed.evaluate(origin + units @ x)
        return -value, -gradient @ units

    found = optimize.minimize(
        downhill, np.zeros(len(origin)), jac=True, method="BFGS", options={"gtol": 1e-4}
    )
    step = 1e-3
    columns = [
        (downhill(found.x + e)[1] - downhill(found.x - e)[1]) / (2 * step) for e in step * np.eye(len(origin))
    ]
    hessian = (np.array(columns) + np.array(columns).T) / 2
    return -float(found.fun), origin + units @ found.x, downhill(found.x)[1], hessian


# --- The marginal likelihoods: an intercept for each group of rows, or for each of two kinds of groups that cross


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
