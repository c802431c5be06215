"""Cumulative link mixed model: a random intercept for each flow (or any other group of answers), or two crossed.

P(Y_gi <= k) = F(theta_k - x'beta - sigma v_g), v_g standard normal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import linalg, optimize

from cinorms.core.errors import ConfigError
from cinorms.stats.arrays import Floats
from cinorms.stats.clm.fit import fit_clm
from cinorms.stats.clm.intercepts import CrossedIntercepts, OneIntercept, crossed_intercepts
from cinorms.stats.clm.likelihood import evaluate
from cinorms.stats.clm.results import ClmFit, ClmmFit, Solved, inference

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
