"""Wilson's interval of a share, also with an effective number of observations."""

from math import nan

import numpy as np


def wilson(share: float, n: float, alpha: float = 0.05) -> tuple[float, float]:
    """Return Wilson's interval of a ``share`` of ``n``; ``n`` can be an effective one. Missing without any."""
    from statsmodels.stats.proportion import proportion_confint

    if not n > 0:
        return nan, nan
    with np.errstate(invalid="ignore"):
        low, high = proportion_confint(share * n, n, alpha, method="wilson")
    # At the ends rounding would leave 1e-19 instead of 0.
    return 0.0 if share == 0 else float(low), 1.0 if share == 1 else float(high)
