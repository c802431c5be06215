"""What bootstraps and label swaps share: what is drawn, how often each unit is drawn, and the interval."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import ConfigError

Floats = npt.NDArray[np.float64]

#: What is drawn anew: flows (or contexts) and variants, or variants only.
Resample = Literal["both", "variants"]

#: Fewest variants (or, if drawn, flows) that an interval is given for.
FEWEST = 2


def check_resample(resample: str) -> None:
    """Raise ``ConfigError`` for another ``resample`` than there are."""
    if resample not in ("both", "variants"):
        raise ConfigError(f"resample '{resample}': choose 'both' or 'variants'")


def draw_weights(rng: np.random.Generator, n: int, draws: int) -> Floats:
    """Return how often each of n units is drawn, in ``draws`` samples of n with replacement."""
    if n == 0:
        return np.zeros((draws, 0))
    drawn = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)


def interval(replicates: Floats, confidence: float) -> tuple[float, float, float]:
    """Return standard deviation and percentile interval of the replicates that there are."""
    tail = (1 - confidence) / 2
    found = replicates[~np.isnan(replicates)]
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(found.std(ddof=1)), float(low), float(high)
