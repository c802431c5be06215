"""Tails of test distributions down to far below the float range, against R."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cumulink import tails

LOG10 = pd.read_csv(Path(__file__).parent / "reference" / "tails_reference.csv")


@pytest.mark.parametrize("row", list(LOG10.itertuples()), ids=lambda row: f"{row.test} {row.item}")
def test_tails_are_those_of_r_far_below_the_float_range(row):
    statistic, *df = map(float, row.item.split())
    if row.test in ("normal", "student"):
        statistic, df = statistic**2, [1, *df]
    found = tails.log10_p(statistic, *df)
    assert found == pytest.approx(row.value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("df", [1, 4, 30])
def test_the_two_ways_to_the_tail_meet(df):
    statistics = stats.chi2.isf([1e-289, 1e-291], df)
    found = [tails.log10_p(x, df) for x in statistics]
    assert found == pytest.approx([-289, -291], rel=1e-9)


def test_no_p_is_zero():
    deepest = LOG10.groupby("test")["value"].min()  # the reference reaches below the float range
    assert set(deepest.index) == {"normal", "chi_square", "student", "f_ratio"}
    assert (deepest < -1000).all()
    p = tails.to_p([-5000.0, -400.0, -308.0, -2.0, 0.0, np.nan])
    assert (p[:5] > 0).all()
    assert p[0] == p[1] == tails.SMALLEST
    assert p[3:5] == pytest.approx([0.01, 1.0])
    assert np.isnan(p[5])
