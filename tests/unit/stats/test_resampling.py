"""Drawing units anew: every draw has as many units as there are, and missing replicates do not count."""

import numpy as np
import pytest

from cinorms.core.errors import ConfigError
from cinorms.stats.resampling import check_resample, draw_weights, interval


@pytest.mark.parametrize("n", [0, 1, 7])
def test_each_draw_has_as_many_units_as_there_are(n):
    weights = draw_weights(np.random.default_rng(1), n, 50)
    assert weights.shape == (50, n)
    assert (weights.sum(axis=1) == n).all()
    assert n < 2 or (weights != 1).any()


def test_missing_replicates_do_not_count():
    replicates = np.array([0.0, 1.0, 2.0, np.nan, 3.0, 4.0])
    assert interval(replicates, 0.5) == pytest.approx((np.std([0, 1, 2, 3, 4], ddof=1), 1, 3))


def test_only_flows_and_variants_are_drawn():
    check_resample("variants")
    with pytest.raises(ConfigError, match="resample 'flows': choose 'both' or 'variants'"):
        check_resample("flows")
