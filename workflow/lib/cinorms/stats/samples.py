"""People, or one model, as a sample: flows rated by raters, or answered in templates, each a unit of the sample.

The flows are given; the units are a sample of more raters or wordings. A unit may have rated some flows only. Sums over
flows take their variance from the sums of each unit, and never treat ratings as independent
(docs/method/stats/people.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cinorms.core.arrays import Floats, Ints
from cinorms.stats.wordings import Units, spread
from rewordings.arrays import divide


@dataclass(frozen=True)
class Sample:
    """Flows x units, NaN where a unit has no value.

    ``counts``: how many answers each value is the mean of (a template asked in several orders); a flow's mean is that
    of all its answers. ``exact``: one column of numbers that have no sampling error.
    """

    cells: Floats
    counts: Floats | None = None
    exact: bool = False

    @staticmethod
    def given(values: npt.ArrayLike) -> "Sample":
        """Return numbers that nobody drew, such as a paper's labels or what a law says."""
        return Sample(np.asarray(values, dtype=np.float64)[:, None], exact=True)

    def of_flows(self, rows: npt.NDArray[Any] | Sequence[int]) -> "Sample":
        """Return the sample of some flows, without the units that have no value for any of them."""
        part = Sample(self.cells[rows], None if self.counts is None else self.counts[rows], self.exact)
        return part.of_units(np.asarray(~np.isnan(part.cells).all(axis=0)))

    def of_units(self, kept: npt.NDArray[np.bool_]) -> "Sample":
        """Return the sample of some units."""
        counts = None if self.counts is None else self.counts[:, kept]
        return Sample(self.cells[:, kept], counts, self.exact)

    @cached_property
    def sizes(self) -> Ints:
        """Return the units with a value, per flow."""
        return np.asarray((~np.isnan(self.cells)).sum(axis=1), dtype=np.int64)

    @cached_property
    def shares(self) -> Floats:
        """Return how much each unit counts in the mean of each flow; the sum of a flow is 1."""
        there = (~np.isnan(self.cells)).astype(np.float64)
        size = there if self.counts is None else there * self.counts
        return np.nan_to_num(divide(size, size.sum(axis=1, keepdims=True)))

    @cached_property
    def means(self) -> Floats:
        """Return the mean of each flow, NaN without a value."""
        return np.where(self.sizes > 0, (self.shares * np.nan_to_num(self.cells)).sum(axis=1), np.nan)

    @cached_property
    def _raised(self) -> Floats:
        """Return the factor for squares about a flow's own mean, NaN for one unit; n / (n - 1) for n equal units."""
        two, three = ((self.shares**power).sum(axis=1) for power in (2, 3))
        return np.where(self.sizes > 1, divide(two, two - 2 * three + two**2), np.nan)

    @cached_property
    def variances(self) -> Floats:
        """Return the variance over units of each flow's values.

        A flow with one unit has none of its own: it gets the mean over the other flows (NaN where no flow has two).
        """
        if self.exact:
            return np.zeros(len(self.cells))
        squares = ((self.shares * np.nan_to_num(self.cells - self.means[:, None])) ** 2).sum(axis=1)
        own = divide(squares * self._raised, (self.shares**2).sum(axis=1))
        return np.where(np.isnan(own), np.nanmean(own) if (self.sizes > 1).any() else np.nan, own)

    @property
    def noise(self) -> Floats:
        """Return the variance of each flow's mean over samples of as many units; NaN for a flow without any."""
        return self.noise_of(self.variances)

    def noise_of(self, variances: Floats) -> Floats:
        """Return the variance of each flow's mean, if ``variances`` are those of its values."""
        return np.where(self.sizes > 0, variances * (self.shares**2).sum(axis=1), np.nan)

    @cached_property
    def moderated_noise(self) -> tuple[Floats, Floats]:
        """Return the variance of each flow's mean from `moderated` variances, and its degrees of freedom."""
        if self.exact:
            return np.zeros(len(self.cells)), np.ones(len(self.cells))
        own = np.maximum(self.sizes - 1, 0).astype(np.float64)
        variances, freedom = moderated(self.variances, own)
        return self.noise_of(variances), freedom

    def variance_of(self, weights: Floats) -> tuple[float, float]:
        """Return the variance of the sum over flows of ``weights`` times their means, and its degrees of freedom.

        It is the sum of the squares of what each unit adds. Deviations from a flow's own mean are too small; they are
        raised by the root of n / (n - 1). The sum then has no bias, whether the units rated all flows or one each (as
        the CR2 estimator of regressions with clusters). Flows with one unit have the variance of the others.
        """
        if self.exact:
            return 0.0, np.inf
        raised = np.nan_to_num(np.sqrt(self._raised)) * weights
        influence = (self.shares * np.nan_to_num(self.cells - self.means[:, None])).T @ raised
        single = self.sizes == 1
        variance = float((influence**2).sum() + (weights**2 * self.variances)[single].sum())
        return variance, self.freedom(np.abs(weights))

    def freedom(self, weights: Floats) -> float:
        """Return the degrees of freedom (Satterthwaite) of the variance of such a sum."""
        each = self.shares.T @ weights
        total = each.sum()
        weight = each / total if total > 0 else np.full(len(each), 1 / max(len(each), 1))
        return float(spread(Units(np.zeros(len(weight)), weight))[1])


def moderated(variances: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Return the variances of many flows, each drawn towards their mean, and their degrees of freedom.

    Five raters who agree by chance have variance 0, and would make any difference significant. The flows' true
    variances are taken as draws from a scaled inverse chi-square; its spread follows from the first two moments of the
    estimates, and counts as so many more observations of the mean (the moderated t of Smyth 2004).
    """
    known = ~np.isnan(variances) & (freedom > 0)
    if not known.any():
        return variances, freedom
    x, d = variances[known], freedom[known]
    mean = float(np.average(x, weights=d))
    # E x^2 = E sigma^4 (1 + 2 / d): what is left of the second moment is the spread of the true variances.
    second = float(np.average(x**2 / (1 + 2 / d), weights=d))
    ratio = second / mean**2 if mean > 0 else 1.0
    prior = (4 * ratio - 2) / (ratio - 1) if ratio > 1.0001 else 1e4
    scale = mean * (prior - 2) / prior
    own, weight = np.where(known, variances, 0.0), np.where(known, freedom, 0.0)
    return (prior * scale + weight * own) / (prior + weight), prior + weight
