"""Generalisability: how much of what differs between flows would differ alike in another study like this one.

An answer is a sum of independent effects of flow, template, both together, and the single answer (its order, and what
differs when it is asked again). Phi compares the variance of the flows with the error of a flow's own value
(docs/method/stats/generalizability.md).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cinorms.stats.components import Cells, variances


class DesignSize(NamedTuple):
    """How often each flow is asked."""

    templates: int
    orders: int


def phi(levels: pd.DataFrame, templates: pd.Series, design: DesignSize) -> float:
    """Return Phi of a flow's mean in a design; ``levels`` is flows x variants.

    NaN where answers do not show it: of one template or flow, of one order for a design of several, and where flows
    differ by no more than noise.
    """
    flow, template, both, answer = (
        variance for variance, _ in variances(Cells.of(levels.sort_index(), templates)).values()
    )
    if not flow > 0 or np.isnan(template) or (design.orders > 1 and np.isnan(answer)):
        return np.nan
    # With one order, what single answers add is in ``both``.
    single = max(np.nan_to_num(answer), 0.0) / design.orders
    error = (max(both, 0.0) + single + max(template, 0.0)) / design.templates
    return float(flow / (flow + error))
