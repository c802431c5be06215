"""How many templates, or raters, are enough: from a pilot, the standard error of a flow's mean.

``levels`` is `norms.level_matrix(answers)` of the pilot, ``templates`` the template of each variant (index: variant). S
is the standard deviation of a flow's means over templates (docs/method/stats/trust.md); flows with a valid answer in
fewer than two templates are not used.
"""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats import reliability
from cinorms.stats.arrays import Floats
from cinorms.stats.wordings import template_means, template_sums


def predicted(
    levels: pd.DataFrame,
    templates: pd.Series,
    ks: Sequence[int],
    of: int | None = None,
    orders: int | None = None,
) -> pd.DataFrame:
    """Return the predicted root mean square error of a flow's mean over k templates drawn at random.

    Against the mean over ``of`` templates, or against all that could be written (``of=None``); in ``orders`` orders
    each, or in those of the pilot. Of k templates asked only m give a valid answer: m is hypergeometric (binomial) with
    the flow's own share of templates with one; flows weigh by P(m > 0). Columns: k, rmse (levels), n_flows, status
    (``ok``; ``one_template``: no flow has a valid answer in two; ``one_order``: the pilot has one order per template,
    so what more would bring is not known and counts as nothing; ``too_many``: k exceeds ``of``).
    """
    from scipy.stats import binom, hypergeom

    spread, share = _spread(template_means(levels, templates))
    usual = "ok"
    if orders is not None:
        spread, usual = _in_orders(spread, levels, templates, orders)
    rows: list[tuple[int, float, str]] = []
    distinct, which = np.unique(share, return_inverse=True)
    for k in ks:
        if not len(spread):
            rows.append((k, np.nan, "one_template"))
        elif of is not None and k > of:
            rows.append((k, np.nan, "too_many"))
        else:
            m = np.arange(1, k + 1)[:, None]
            if of is None:
                chance, rest = binom.pmf(m, k, distinct), np.zeros(len(distinct))
            else:
                valid = np.maximum(np.round(distinct * of), 1)
                chance, rest = hypergeom.pmf(m, of, valid, k), 1 / valid
            some = chance.sum(axis=0)
            # A rounding error must not make it negative if all templates are drawn.
            inverse = np.maximum(np.nan_to_num(divide((chance / m).sum(axis=0), some) - rest), 0.0)
            squares = float((spread**2 * inverse[which] * some[which]).sum() / some[which].sum())
            rows.append((k, math.sqrt(squares), usual))
    frame = pd.DataFrame(rows, columns=["k", "rmse", "status"])
    frame.insert(2, "n_flows", len(spread))
    return frame


def templates_needed(levels: pd.DataFrame, templates: pd.Series, target_se: float, orders: int) -> int | None:
    """Return how many templates to ask, in so many orders each, for the standard error ``target_se`` of a flow's mean.

    For the typical flow (rms S), with those made up for that have no valid answer; None without a flow that has two.
    """
    means = template_means(levels, templates)
    spread, _ = _in_orders(_spread(means)[0], levels, templates, orders)
    if not len(spread):
        return None
    # Rounded first, so that 4.0000000001 from floating point does not ask for a fifth template.
    k = max(math.ceil(round(float(np.mean(spread**2)) / target_se**2, 9)), 1)
    return math.ceil(k / float((~np.isnan(means)).mean()))


def _spread(means: Floats) -> tuple[Floats, Floats]:
    """Return S, and the share of templates with a valid answer, of each flow that has two of them."""
    n = (~np.isnan(means)).sum(axis=1)
    return np.nanstd(means[n >= 2], axis=1, ddof=1), n[n >= 2] / max(means.shape[1], 1)


def _in_orders(spread: Floats, levels: pd.DataFrame, templates: pd.Series, orders: int) -> tuple[Floats, str]:
    """Return S as it would be in so many orders per template, and a status."""
    if not len(spread):
        return spread, "one_template"
    _, _, _, of_orders = reliability.variance_shares(levels, templates).to_dict("records")
    if math.isnan(of_orders["variance"]):
        return spread, of_orders["status"]
    size = template_sums(levels, templates)[1]
    # The answer orders are in the pilot's spread with one over the (harmonic) mean number of valid ones.
    change = of_orders["variance"] * (1 / orders - float(np.mean(1 / size[size > 0])))
    return np.sqrt(np.maximum(spread**2 + change, 0.0)), "ok"
