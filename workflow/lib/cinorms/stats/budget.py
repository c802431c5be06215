"""How many templates, or raters, are enough: from a pilot, the standard error of a flow's mean.

``levels`` is `norms.level_matrix(answers)` of the pilot, ``templates`` the template of each variant (index: variant). S
is the standard deviation of a flow's means over templates (docs/method/stats/trust.md); flows with a valid answer in
fewer than two templates are not used.
"""

import math

import numpy as np
import pandas as pd

from cinorms.stats import reliability
from cinorms.stats.arrays import Floats
from cinorms.stats.wordings import template_means, template_sums


def predicted(levels: pd.DataFrame, templates: pd.Series, k: int, orders: int) -> float:
    """Return the predicted root mean square error of a flow's mean over k templates drawn at random, in so many orders.

    It is the error against the mean over all templates that could be written; NaN where no flow has a valid answer in
    two. Of k templates only m give a valid answer: m is binomial with the flow's own share of templates with one; flows
    weigh by P(m > 0).
    """
    from scipy.stats import binom

    spread, share = _spread(template_means(levels, templates))
    if not len(spread):
        return math.nan
    m = np.arange(1, k + 1)[:, None]
    chance = binom.pmf(m, k, share)
    variance = _in_orders(spread, levels, templates, orders) ** 2
    return math.sqrt(float((variance * (chance / m).sum(axis=0)).sum() / chance.sum()))


def templates_needed(levels: pd.DataFrame, templates: pd.Series, target_se: float, orders: int) -> int | None:
    """Return how many templates to ask, in so many orders each, for the standard error ``target_se`` of a flow's mean.

    For the typical flow (rms S), with those made up for that have no valid answer; None without a flow that has two.
    """
    means = template_means(levels, templates)
    spread = _spread(means)[0]
    if not len(spread):
        return None
    variance = float(np.mean(_in_orders(spread, levels, templates, orders) ** 2))
    # Rounded first, so that 4.0000000001 from floating point does not ask for a fifth template.
    k = max(math.ceil(round(variance / target_se**2, 9)), 1)
    return math.ceil(k / float((~np.isnan(means)).mean()))


def _spread(means: Floats) -> tuple[Floats, Floats]:
    """Return S, and the share of templates with a valid answer, of each flow that has two of them."""
    n = (~np.isnan(means)).sum(axis=1)
    return np.nanstd(means[n >= 2], axis=1, ddof=1), n[n >= 2] / max(means.shape[1], 1)


def _in_orders(spread: Floats, levels: pd.DataFrame, templates: pd.Series, orders: int) -> Floats:
    """Return S as it would be in so many orders per template; as it is where the pilot has one order."""
    _, _, _, of_orders = reliability.variance_shares(levels, templates)["variance"]
    if math.isnan(of_orders):
        return spread
    size = template_sums(levels, templates)[1]
    # The answer orders are in the pilot's spread with one over the (harmonic) mean number of valid ones.
    change = of_orders * (1 / orders - float(np.mean(1 / size[size > 0])))
    changed: Floats = np.sqrt(np.maximum(spread**2 + change, 0.0))
    return changed
