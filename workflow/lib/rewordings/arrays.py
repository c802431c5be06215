"""Types of arrays, and division and means where there may be nothing."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def divide(numerator: ArrayLike, n: ArrayLike) -> Floats:
    """Return ``numerator / n`` elementwise, NaN where n is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def mean_over(x: Floats, axis: int | tuple[int, ...] | None = None) -> Floats:
    """Return the mean of what is not NaN, NaN where nothing is: `numpy.nanmean` without its warning."""
    return divide(np.nansum(x, axis=axis), (~np.isnan(x)).sum(axis=axis))
