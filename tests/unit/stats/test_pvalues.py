"""p-values as text and as columns, stars, and corrections on the log scale."""

import math
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from cinorms.stats import pvalues
from cumulink import tails


@pytest.mark.parametrize(
    ("log10_p", "text"),
    [
        (np.log10(0.0837), "0.084"),
        (0.0, "1"),
        (np.log10(0.00123), "0.0012"),
        (-4.0, "1.0e-4"),
        (np.log10(4.06) - 272, "4.1e-272"),
        (np.log10(6.5) - 1590, "6.5e-1590"),
        (np.log10(9.97) - 500, "1.0e-499"),
        (np.nan, ""),
    ],
)
def test_text(log10_p, text):
    assert pvalues.show(log10_p) == text


@settings(max_examples=30)
@given(st.lists(st.floats(1e-12, 1.0), min_size=1, max_size=20))
def test_corrections_are_those_of_statsmodels(p):
    names = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}
    for ours, theirs in names.items():
        with patch("gc.collect"):  # which statsmodels calls after Holm's correction
            expected = multipletests(p, method=theirs)[1]
        assert 10 ** pvalues.adjust(np.log10(p), ours) == pytest.approx(expected, rel=1e-9)


def test_corrections_of_tests_that_could_not_be_made_and_below_the_float_range():
    found = pvalues.adjust([-4.0, np.nan, -1.0], "bonferroni")
    assert found == pytest.approx([-4 + np.log10(2), np.nan, -1 + np.log10(2)], nan_ok=True)
    found = pvalues.adjust([-900.0, -800.0, -700.0], "holm")
    assert found == pytest.approx([-900 + np.log10(3), -800 + np.log10(2), -700])


def test_columns():
    table = pd.DataFrame({"model_a": ["x", "y"], "log10_p": [-1000.0, np.nan], "status": ["ok", "no_flows"]})
    found = pvalues.add_columns(table, corrections=True)
    corrections = ["p_bonferroni", "log10_p_bonferroni", "p_holm", "log10_p_holm", "p_bh"]
    assert list(found) == ["model_a", "p", "log10_p", "p_text", *corrections, "status"]
    assert list(found["p_text"]) == ["1.0e-1000", ""]
    assert found["p_holm"].iloc[0] == tails.SMALLEST
    assert found["p_holm"].isna().tolist() == [False, True]
    assert list(table) == ["model_a", "log10_p", "status"]


@pytest.mark.parametrize(
    ("p", "stars"), [(0.05, ""), (0.049, "*"), (0.01, "*"), (0.0099, "**"), (0.00099, "***")]
)
def test_stars_are_below_their_bound(p, stars):
    assert pvalues.stars(math.log10(p)) == stars
