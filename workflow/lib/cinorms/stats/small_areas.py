"""People's mean for every flow, rated or not, from a few raters and what predicts them (Fay and Herriot 1979).

The mean of people for a flow is a linear function of the predictors (a model's mean answers, factors) plus the flow's
own part; the own parts are normal with one variance. An estimate draws a flow's few ratings towards the prediction, the
more so the noisier they are; a flow without ratings gets the prediction.

The intervals hold their 95% over flows, on average: flows that people see unlike anything the predictors know are
missed more often than typical ones. They need the rated flows to be like the others (drawn at random), which intervals
over raters alone do not need.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.arrays import Bools, Floats
from cinorms.stats.samples import Sample, moderated
from cinorms.stats.wordings import quantile

#: Rated flows that are needed beyond the number of coefficients.
FEWEST_FLOWS = 4


class Fit(NamedTuple):
    """The table, and what the predictors explain of the variance between flows."""

    table: pd.DataFrame
    own_variance: float
    explained: float


def estimate_flows(people: Sample, predictors: Floats) -> Fit:
    """Return an estimate of people's mean for every flow (row of both).

    ``predictors``: flows x predictors, without a column of ones; a flow that lacks one gets no estimate.
    Columns: direct (mean of the ratings), n_raters, predicted, estimate, std_err, conf_low, conf_high, weight (of the
    flow's own ratings), n_effective (raters that would give the direct mean the same standard error), status (``ok``,
    ``no_predictor``, ``few_flows``, ``one_rater``).
    """
    x = np.column_stack([np.ones(len(predictors)), predictors])
    known = ~np.isnan(x).any(axis=1)
    rated = known & (people.sizes > 0)
    status = np.where(known, "ok", "no_predictor")
    freedom = int(rated.sum()) - x.shape[1]
    if freedom < FEWEST_FLOWS or not (people.sizes > 1).any():
        reason = "few_flows" if (people.sizes > 1).any() else "one_rater"
        nothing = np.full((6, len(x)), np.nan)
        return Fit(_table(people, *nothing, np.where(known, reason, status)), np.nan, np.nan)
    within = moderated(people.variances, np.maximum(people.sizes - 1, 0).astype(np.float64))[0]
    within = np.where(people.sizes > 0, within, float(np.mean(within[people.sizes > 0])))
    h, v = people.means[rated], people.noise_of(within)[rated]
    # The covariance of two flows' means, not below 0: raters who rated both shift both.
    rows = people.of_flows(people.sizes > 0)
    n = len(rows.cells)
    whole = rows.variance_of(np.full(n, 1 / n))[0]
    shared = max((whole - float(rows.noise.sum()) / n**2) * n / (n - 1), 0.0)
    own = _own_variance(h, x[rated], np.maximum(v - shared, 0.0))
    plain = _own_variance(h, np.ones((len(h), 1)), np.maximum(v - shared, 0.0))
    predicted, estimate, std_err, weight, of_shared = _combine(h, x, rated, v, own, shared)
    # Few raters who shift all flows alike are few units for that part of the error (Satterthwaite).
    raters = people.freedom(np.where(people.sizes > 0, 1.0, 0.0))
    total = divide(std_err**4, (std_err**2 - of_shared) ** 2 / freedom + of_shared**2 / raters)
    table = _table(people, predicted, estimate, std_err, weight, quantile(total), within, status)
    return Fit(table, own, 1 - own / plain if plain > 0 else np.nan)


def _own_variance(h: Floats, x: Floats, v: Floats) -> float:
    """Return the variance of the flows' own parts: the value at which the weighted squares are their expectation."""
    freedom = len(h) - x.shape[1]

    def excess(own: float) -> Any:
        weight = 1 / np.maximum(v + own, 1e-12)
        beta = np.linalg.lstsq(x * np.sqrt(weight)[:, None], h * np.sqrt(weight), rcond=None)[0]
        return (weight * (h - x @ beta) ** 2).sum() - freedom

    if excess(0.0) <= 0:
        return 0.0
    from scipy.optimize import brentq

    high = float(np.var(h)) + 1.0
    while excess(high) > 0:
        high *= 2
    return float(brentq(excess, 0.0, high))


def _combine(
    h: Floats, x: Floats, rated: Bools, v: Floats, own: float, shared: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return predicted, estimate, standard error and weight of every flow, and the part of its variance that all share.

    Every estimate is a weighted sum of the flows' direct means; its error is that of the raters plus that of the own
    parts, the flow's own included.
    """
    free = np.maximum(v - shared, 0.0)
    weight = 1 / np.maximum(free + own, 1e-12)
    xr = x[rated]
    solve = np.linalg.pinv(xr.T @ (xr * weight[:, None])) @ (xr * weight[:, None]).T
    share = np.zeros((len(x), len(h)))
    known = ~np.isnan(x).any(axis=1)
    share[known] = x[known] @ solve
    predicted = np.where(known, share @ h, np.nan)
    gamma = np.zeros(len(x))
    gamma[rated] = divide(np.full(len(h), own), own + free)
    place = np.flatnonzero(rated)
    mixed = share * (1 - gamma)[:, None]
    mixed[place, np.arange(len(place))] += gamma[place]
    of_shared = shared * mixed.sum(axis=1) ** 2
    of_raters = (mixed**2) @ free + of_shared
    itself = np.zeros(len(x))
    itself[place] = mixed[place, np.arange(len(place))]
    of_own = own * ((mixed**2).sum(axis=1) - itself**2 + (1 - itself) ** 2)
    # The variance of the own parts is estimated: a wrong weight adds to the error of rated flows.
    spread = 2 * len(h) / (weight.sum() ** 2)
    doubt = np.zeros(len(x))
    doubt[place] = 2 * free**2 * weight**3 * spread
    std_err = np.where(known, np.sqrt(of_raters + of_own + doubt), np.nan)
    return predicted, np.where(known, mixed @ h, np.nan), std_err, gamma, of_shared


def _table(people: Sample, *columns: npt.NDArray[Any]) -> pd.DataFrame:
    predicted, estimate, std_err, weight, reach, within, status = columns
    return pd.DataFrame(
        {
            "direct": people.means,
            "n_raters": people.sizes,
            "predicted": predicted,
            "estimate": estimate,
            "std_err": std_err,
            "conf_low": estimate - reach * std_err,
            "conf_high": estimate + reach * std_err,
            "weight": np.where(status == "ok", weight, np.nan),
            "n_effective": divide(within, std_err**2),
            "status": status,
        }
    )
