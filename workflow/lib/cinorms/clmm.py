"""Cumulative link mixed model: a random intercept for each flow (or any other group of answers).

P(Y_gi <= k) = F(theta_k - x'beta - sigma v_g), v_g standard normal. The integral over v_g is taken by
adaptive Gauss-Hermite quadrature about its mode; with one node this is Laplace's approximation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import linalg, optimize, special

from cinorms.clm import ClmFit, fit_clm, inference
from cinorms.clm_newton import Floats, Ints, Problem, ends, row_derivatives
from cinorms.clm_newton import evaluate as point_at
from cinorms.errors import ConfigError

#: Gradient left, in units of the standard errors, at which the fit has converged.
CONVERGED = 1e-3


@dataclass(frozen=True, eq=False)
class ClmmFit:
    """A fitted mixed model, or why there is none.

    ``coefficients`` and ``thresholds`` are those of ``ClmFit``, here given the group's intercept.
    ``sd`` is the standard deviation sigma of the random intercept on the scale of the link, ``sd_std_err``
    its standard error. ``status`` is ``ok``, ``not_converged`` or what keeps ``fit_clm`` from a finite fit
    (``separated``, ``one_level``, ``no_data``, ``constant_factor``).
    """

    status: str
    reason: str
    coefficients: pd.DataFrame
    thresholds: pd.DataFrame
    link: str
    nodes: int
    n: int
    n_clusters: int | None = None
    sd: float | None = None
    sd_std_err: float | None = None
    log_likelihood: float | None = None
    aic: float | None = None


def fit_clmm(
    frame: pd.DataFrame,
    outcome: str,
    factors: Sequence[str],
    group: str,
    baselines: dict[str, str] | None = None,
    link: str = "logit",
    nodes: int = 1,
) -> ClmmFit:
    """Fit a cumulative link model with a random intercept for the column ``group``.

    ``nodes`` is the number of quadrature nodes, odd; 1 is Laplace's approximation. The likelihood is climbed
    by BFGS with its exact gradient; standard errors come from the differenced gradient.
    Raises ConfigError and DataError as ``fit_clm`` does.
    """
    if nodes < 1 or nodes % 2 == 0:
        raise ConfigError(f"nodes = {nodes}: the number of quadrature nodes is odd, 1 (Laplace) or more")
    start = fit_clm(frame, outcome, factors, baselines, link, cluster=group)
    solved = start.solved
    if start.status != "ok" or solved is None or solved.clusters is None:
        return _unfitted(start, nodes)
    parameters, covariance, log_likelihood, converged = _maximise(
        _Mixed(solved.problem, solved.clusters, nodes), solved.parameters
    )
    if not converged:
        parameters, covariance = np.full_like(parameters, np.nan), np.full_like(covariance, np.nan)
    std_err = np.sqrt(np.diag(covariance))
    k = len(start.thresholds)
    ok = (start.coefficients["status"] == "ok").to_numpy()
    estimates, errors = np.full((2, len(ok)), np.nan)
    estimates[ok], errors[ok] = parameters[k:-1], std_err[k:-1]
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
        abs(float(parameters[-1])) if converged else None,
        float(std_err[-1]) if converged else None,
        log_likelihood if converged else None,
        2 * len(parameters) - 2 * log_likelihood if converged else None,
    )


def _unfitted(start: ClmFit, nodes: int) -> ClmmFit:
    blank = dict.fromkeys(inference(np.zeros(0), np.zeros(0), start.link), np.nan)
    coefficients = start.coefficients.assign(**blank).replace({"status": {"ok": "not_estimated"}})
    thresholds = start.thresholds.assign(estimate=np.nan, std_err=np.nan)
    thresholds = thresholds.replace({"status": {"ok": "not_estimated"}})
    return ClmmFit(start.status, start.reason, coefficients, thresholds, start.link, nodes, start.n)


def _maximise(mixed: _Mixed, start: Floats) -> tuple[Floats, Floats, float, bool]:
    """Return the parameters at the maximum, their covariance, the log-likelihood, and if it is one."""
    # In units of the standard errors of the model without groups the surface is nearly round.
    information = point_at(mixed.problem, start).information
    scale = np.append(np.sqrt(np.diag(linalg.inv(information))), 0.1)
    origin = np.append(start, 0.5)

    def downhill(x: Floats) -> tuple[float, Floats]:
        value, gradient = mixed.evaluate(origin + scale * x)
        return -value, -gradient * scale

    found = optimize.minimize(
        downhill, np.zeros(len(origin)), jac=True, method="BFGS", options={"gtol": 1e-4}
    )
    step = 1e-3
    columns = [
        (downhill(found.x + e)[1] - downhill(found.x - e)[1]) / (2 * step) for e in step * np.eye(len(origin))
    ]
    hessian = (np.array(columns) + np.array(columns).T) / 2
    try:
        covariance = linalg.cho_solve(linalg.cho_factor(hessian), np.eye(len(origin)))
    except (linalg.LinAlgError, ValueError):
        return origin, np.full((len(origin), len(origin)), np.nan), float("nan"), False
    gradient = downhill(found.x)[1]
    converged = float(gradient @ covariance @ gradient) < CONVERGED**2
    return origin + scale * found.x, covariance * np.outer(scale, scale), -float(found.fun), converged


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
        return value, np.append(self._gradient(rows_a, rows_b), by_sigma.sum())

    def _gradient(self, rows_a: Floats, rows_b: Floats) -> Floats:
        """Carry derivatives in the ends of the rows over to thresholds and beta."""
        problem, k = self.problem, self.problem.n_levels - 1
        thresholds = np.bincount(problem.y, rows_a, k + 1)[:k] + np.bincount(problem.y, rows_b, k + 1)[1:]
        return np.concatenate([thresholds, -problem.cross.sums(rows_a + rows_b)[problem.terms]])

    def _curves(self, a: Floats, b: Floats, v: Floats, sigma: float) -> _Curves:
        """Return the curvature d = -h'' at the modes and how h', h'' change, h(v) = log p(y | v) - v^2/2."""
        a, b = a - sigma * v[self.groups], b - sigma * v[self.groups]
        link, w = self.problem.link, self.problem.w
        _, ga, gb, haa, hab, hbb = row_derivatives(self.problem, a, b)
        at_a, at_b = np.where(self.problem.upper, a, 0.0), np.where(self.problem.lower, b, 0.0)
        haaa = haa * link.slope(at_a) + ga * link.bend(at_a) - 2 * ga * haa
        haab = -haa * gb - ga * hab
        habb = -hab * gb - ga * hbb
        hbbb = hbb * link.slope(at_b) + gb * link.bend(at_b) - 2 * gb * hbb
        second_a, second_b = w * (haaa + 2 * haab + habb), w * (haab + 2 * habb + hbbb)
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
