"""Wilson's interval, against statsmodels."""

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from cinorms.stats.proportions import wilson


@pytest.mark.parametrize(("share", "n"), [(0.0, 7), (1.0, 7), (0.5, 1), (0.3, 10), (0.51, 457), (2 / 3, 1e6)])
def test_as_statsmodels(share, n):
    low, high = wilson(share, n)
    assert (low, high) == pytest.approx(proportion_confint(share * n, n, method="wilson"), abs=1e-12)
    assert low >= 0.0
    assert high <= 1.0


def test_nothing_has_no_interval():
    assert all(map(math.isnan, (*wilson(0.5, 0), *wilson(math.nan, 9), *wilson(0.5, math.nan))))
