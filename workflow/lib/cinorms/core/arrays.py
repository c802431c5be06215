"""Types of arrays, and means of what is there."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def divide(numerator: ArrayLike, n: ArrayLike) -> Floats:
    """Return ``numerator / n`` elementwise, NaN where n is 0."""
    arrays = (np.asarray(x, dtype=np.float64) for x in (numerator, n))
    top, bottom = np.broadcast_arrays(*arrays)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def mean_over(x: Floats, axis: int | tuple[int, ...] | None = None) -> Floats:
    """Return the mean of what is not NaN, NaN where nothing is: `numpy.nanmean` without its warning."""
    return divide(np.nansum(x, axis=axis), (~np.isnan(x)).sum(axis=axis))
