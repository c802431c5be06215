"""Pearson's r of a model with people: against scipy and a delete-one jackknife, and a ceiling that noise explains."""

import numpy as np
import pytest
from scipy import stats

from cinorms.stats.ceilings import correlation, reliability
from cinorms.stats.samples import Sample

RNG = np.random.default_rng(5)
TRUE = RNG.normal(0, 40, 400)


def noisy(n_units: int, sd: float, shared: float = 0.0) -> Sample:
    """Return raters (or templates) who all hold ``TRUE``, each with noise, and with a shift of their own."""
    noise = RNG.normal(0, sd, (len(TRUE), n_units)) + RNG.normal(0, shared, n_units)
    return Sample(TRUE[:, None] + noise)


def test_r_is_pearsons_over_the_flows_that_both_have():
    a, b = noisy(3, 30).cells, noisy(4, 30).cells
    a[0], b[1] = np.nan, np.nan
    found = correlation(Sample(a), Sample(b))
    assert found["n_flows"] == 398
    assert found["estimate"] == pytest.approx(
        stats.pearsonr(a[2:].mean(axis=1), b[2:].mean(axis=1)).statistic
    )
    assert found["conf_low"] < found["estimate"] < found["conf_high"]


def test_the_interval_is_that_of_a_jackknife_over_flows():
    x, y = TRUE[:80], TRUE[:80] + RNG.normal(0, 40, 80)
    found = correlation(Sample.given(x), Sample.given(y))
    z = np.arctanh([np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(80)])
    se = np.sqrt(79 / 80 * ((z - z.mean()) ** 2).sum())
    ours = (np.arctanh(found["conf_high"]) - np.arctanh(found["conf_low"])) / 2 / stats.t.ppf(0.975, 79)
    assert ours == pytest.approx(se, rel=0.05)


def test_the_ceiling_is_the_r_of_sides_that_agree_but_for_noise():
    model, people = noisy(8, 40), noisy(5, 60)
    found = correlation(model, people)
    assert found["ceiling"] == pytest.approx(found["estimate"], abs=0.03)
    variance = TRUE.var()
    assert found["reliability_people"] == pytest.approx(variance / (variance + 60**2 / 5), abs=0.04)
    assert found["reliability_model"] == pytest.approx(variance / (variance + 40**2 / 8), abs=0.04)


def test_numbers_that_nobody_drew_are_reliable_and_one_unit_says_nothing():
    assert reliability(Sample.given(TRUE)) == 1
    assert np.isnan(reliability(Sample(TRUE[:, None])))
    found = correlation(Sample(TRUE[:, None]), Sample.given(-TRUE))
    assert found["estimate"] == pytest.approx(-1)
    assert np.isnan(found["ceiling"])
    assert np.isnan(found["conf_low"])


def test_too_few_flows_and_means_that_are_all_the_same_have_no_r():
    assert correlation(Sample.given(TRUE[:3]), Sample.given(TRUE[:3]))["status"] == "few_flows"
    flat = correlation(Sample.given(np.zeros(9)), Sample.given(TRUE[:9]))
    assert flat["status"] == "no_variance"
    assert np.isnan(flat["estimate"])
