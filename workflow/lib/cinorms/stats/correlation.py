"""Pearson's r of a model's means with people's over flows, and the largest r that their noise allows.

The interval is over flows as a sample: the infinitesimal jackknife on Fisher's scale, without a normal distribution.
The ceiling is the root of both reliabilities; a reliability is the share of the variance of the means that is not the
noise of raters or wordings (docs/method/stats/people.md).
"""

import math
from typing import Any

import numpy as np

from cinorms.stats.arrays import Floats
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import quantile

#: Flows that a correlation with an interval needs.
FEWEST_FLOWS = 4


def correlation(model: Sample, people: Sample) -> dict[str, Any]:
    """Return r over the flows with a mean on both sides, its 95% interval and its ceiling.

    Keys: estimate, conf_low, conf_high, ceiling, reliability_model, reliability_people, n_flows, status (``ok``,
    ``few_flows``, ``no_variance``). A reliability is missing where no flow has two raters or templates, and so is the
    ceiling; it is missing too where noise alone would explain the means.
    """
    both = ~np.isnan(model.means + people.means)
    model, people, n = model.of_flows(both), people.of_flows(both), int(both.sum())
    found: dict[str, Any] = dict.fromkeys(("estimate", "conf_low", "conf_high", "ceiling"), np.nan)
    sides = {"reliability_model": reliability(model), "reliability_people": reliability(people)}
    found |= {**sides, "n_flows": n, "status": "ok"}
    if n < FEWEST_FLOWS:
        return found | {"status": "few_flows"}
    x, y = model.means, people.means
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return found | {"status": "no_variance"}
    a, b = ((side - side.mean()) / side.std() for side in (x, y))
    r = float((a * b).mean())
    low, high = _limits(r, a * b - r * (a**2 + b**2) / 2)
    ceiling = math.sqrt(math.prod(sides.values()))
    return found | {"estimate": r, "conf_low": low, "conf_high": high, "ceiling": ceiling}


def _limits(r: float, influence: Floats) -> tuple[float, float]:
    """Return the interval of ``r`` from the influence of each flow; missing where r is 1 or -1."""
    n = len(influence)
    if 1 - abs(r) < 1e-12:
        return math.nan, math.nan
    error = math.sqrt(float((influence**2).sum()) / (n * (n - 1)))
    reach = float(quantile(float(n - 1))) * error / (1 - r**2)
    return math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)


def reliability(side: Sample) -> float:
    """Return the share of the variance over flows of the means that is not noise; missing where it is not above 0.

    What raters or wordings shift in all flows alike changes no correlation, so it is no noise here. Numbers that nobody
    drew have reliability 1.
    """
    if side.exact:
        return 1.0
    n = len(side.cells)
    if n < 2 or not (side.sizes > 1).any() or np.ptp(side.means) == 0:
        return math.nan
    shift = side.variance_of(np.full(n, 1 / n))[0]
    # The noise of a mean, less what all flows share, is in the variance over flows with n - 1.
    noise = (float(side.noise.mean()) - shift) * n / (n - 1)
    share = 1 - noise / float(np.var(side.means, ddof=1))
    return min(share, 1.0) if share > 0 else math.nan
