"""Cumulative link mixed model: a random intercept for each flow (or any other group of answers).

P(Y_gi <= k) = F(theta_k - x'beta - sigma v_g), v_g standard normal. The integral over v_g is taken by
adaptive Gauss-Hermite quadrature about its mode; with one node this is Laplace's approximation. Two crossed
intercepts, of flow and variant, are in `clmm_crossed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pandas as pd
from scipy import linalg, optimize, special

from cinorms.core.errors import ConfigError
from cinorms.stats.clm.fit import ClmFit, fit_clm, inference
from cinorms.stats.clm.newton import (
    Floats,
    Ints,
    Problem,
    carried_over,
    ends,
    row_derivatives,
    third_derivatives,
)
from cinorms.stats.clm.newton import evaluate as point_at

#: A standard deviation below this (in units of the link) is none: at 0 the likelihood has an edge, not a maximum.
NO_SPREAD = 0.01
#: Gradient left, in units of the standard errors, at which the fit has converged.
CONVERGED = 1e-3


@dataclass(frozen=True, eq=False)
class ClmmFit:
    """A fitted mixed model, or why there is none.

    ``coefficients`` and ``thresholds`` are those of ``ClmFit``, here given the group's intercept.
    ``sd`` is the standard deviation sigma of each random intercept on the scale of the link, by the name of
    its group, ``sd_std_err`` its standard error; ``n_clusters`` counts the first group's. ``status`` is
    ``ok``, ``not_converged`` or what keeps ``fit_clm`` from a finite fit (``separated``, ``one_level``,
    ``no_data``, ``constant_factor``).
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    nodes: int
    n: int
    n_clusters: int | None = None
    sd: dict[str, float] = field(default_factory=dict)
    sd_std_err: dict[str, float] = field(default_factory=dict)
    log_likelihood: float | None = None
    aic: float | None = None


def fit_clmm(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    group: str | tuple[str, ...],
    baselines: dict[str, str] | None = None,
    link: str = "logit",
    nodes: int = 1,
) -> ClmmFit:
    """Fit a cumulative link model with a random intercept for the column ``group``, or for each of two.

    ``nodes`` is the number of quadrature nodes, odd; 1 is Laplace's approximation, the only one for two groups.
    The likelihood is climbed by BFGS with its exact gradient; standard errors come from the differenced
    gradient. Raises ConfigError and DataError as ``fit_clm`` does.
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
    if start.status != "ok" or solved is None or solved.clusters is None:
        return _unfitted(start, nodes)
    likelihood: _Likelihood
    if len(groups) > 1:
        from cinorms.stats.clm.crossed import crossed

        likelihood = crossed(frame, outcome, factors, groups, baselines, link)
    else:
        likelihood = _Mixed(solved.problem, solved.clusters, nodes)
    parameters, covariance, log_likelihood, converged = _maximise(
        likelihood, solved.parameters, point_at(solved.problem, solved.parameters).information, len(groups)
    )
    kept = [name for name, sd in _by_name(groups, abs(parameters)).items() if sd >= NO_SPREAD]
    if len(groups) > 1 and len(kept) == 1:
        (lost,) = set(groups) - set(kept)
        rest = fit_clmm(frame, outcome, factors, kept[0], baselines, link)
        reason = f"answers of different {lost}s differ no more than others: its intercept has no spread"
        sd = {**rest.sd, lost: 0.0} if rest.sd else {}
        return replace(rest, sd=sd, reason=rest.reason or reason, n_clusters=start.n_clusters)
    if not converged:
        parameters, covariance = np.full_like(parameters, np.nan), np.full_like(covariance, np.nan)
    std_err = np.sqrt(np.diag(covariance))
    k = len(start.thresholds)
    ok = (start.coefficients["status"] == "ok").to_numpy()
    estimates, errors = np.full((2, len(ok)), np.nan)
    estimates[ok], errors[ok] = parameters[k : -len(groups)], std_err[k : -len(groups)]
    word = {"ok": "ok" if converged else "not_estimated"}
    return ClmmFit(
        "ok" if converged else "not_converged",
        start.reason if converged else "the maximum of the marginal likelihood was not reached",
        start.coefficients.assign(**inference(estimates, errors, link)).replace({"status": word}),
        start.thresholds.assign(estimate=parameters[:k], std_err=std_err[:k]).replace({"status": word}),
        link,
        nodes,
        start.n,
        start.n_clusters,
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


class _Likelihood(Protocol):
    def evaluate(self, parameters: Floats) -> tuple[float, Floats]:
        """Return the marginal log-likelihood and its gradient in thresholds, beta and each sigma."""
        ...


def _maximise(
    mixed: _Likelihood, start: Floats, information: Floats, n_groups: int
) -> tuple[Floats, Floats, float, bool]:
    """Return the parameters at the maximum, their covariance, the log-likelihood, and if it is one."""
    # In units of the standard errors of the model without groups the surface is nearly round.
    scale = np.append(np.sqrt(np.diag(linalg.inv(information))), [0.1] * n_groups)
    origin = np.append(start, [0.5] * n_groups)

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = mixed.evaluate(origin + scale * x)
        return -value, -gradient * scale

    found = optimize.minimize(
        downhill, np.zeros(len(origin)), jac=True, method="BFGS", options={"gtol": 1e-4}
    )
    reached = origin + scale * found.x
    step = 1e-3
    columns = [
        (downhill(found.x + e)[1] - downhill(found.x - e)[1]) / (2 * step) for e in step * np.eye(len(origin))
    ]
    hessian = (np.array(columns) + np.array(columns).T) / 2
    try:
        covariance = linalg.cho_solve(linalg.cho_factor(hessian), np.eye(len(origin)))
    except (linalg.LinAlgError, ValueError):
        return reached, np.full((len(origin), len(origin)), np.nan), float("nan"), False
    gradient = downhill(found.x)[1]
    converged = float(gradient @ covariance @ gradient) < CONVERGED**2
    return reached, covariance * np.outer(scale, scale), -float(found.fun), converged


class _Mixed:
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
