"""Wilson's interval at its ends and without numbers; between them it is statsmodels'."""

import math

import pytest
from statsmodels.stats.proportion import proportion_confint

from cinorms.stats.proportions import wilson


@pytest.mark.parametrize(("share", "n"), [(0.0, 7), (1.0, 7), (0.51, 457)])
def test_as_statsmodels_and_exact_at_the_ends(share, n):
    low, high = wilson(share, n)
    assert (low, high) == pytest.approx(proportion_confint(share * n, n, method="wilson"), abs=1e-12)
    assert (low == 0, high == 1) == (share == 0, share == 1)
    assert all(map(math.isnan, (*wilson(0.5, 0), *wilson(math.nan, 9), *wilson(0.5, math.nan))))
