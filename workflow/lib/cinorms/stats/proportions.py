"""Wilson's interval of a share, also with an effective number of observations."""

from math import nan, sqrt

#: Quantile of the normal distribution for 95%.
NORMAL = 1.959963984540054


def wilson(share: float, n: float, quantile: float = NORMAL) -> tuple[float, float]:
    """Return Wilson's interval of a ``share`` of ``n``; ``n`` can be an effective one. Missing without any."""
    if not n > 0 or share != share:
        return nan, nan
    square = quantile**2 / n
    middle, half = share + square / 2, quantile * sqrt(share * (1 - share) / n + square / (4 * n))
    # At the ends rounding would leave 1e-19 instead of 0.
    low = 0.0 if share == 0 else (middle - half) / (1 + square)
    return low, 1.0 if share == 1 else (middle + half) / (1 + square)
