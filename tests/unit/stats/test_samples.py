"""Samples of raters and templates: their means, their noise, and what a rater adds to a sum over flows."""

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.samples import Sample, moderated

from .made import assert_same
from .people import rated


def test_a_flow_counts_all_its_answers_alike():
    sample = Sample(np.array([[0.0, 1.0], [2.0, np.nan]]), np.array([[3.0, 1.0], [2.0, 0.0]]))
    assert sample.means.tolist() == [0.25, 2.0]
    assert sample.sizes.tolist() == [2, 1]
    empty = Sample(np.array([[np.nan, np.nan], [1.0, 2.0]]))
    assert np.isnan([empty.means[0], empty.noise[0]]).all()


def test_where_units_count_equally_noise_is_the_variance_over_their_number():
    x = np.random.default_rng(1).normal(0, 1, (4, 7))
    assert Sample(x).noise == pytest.approx(x.var(axis=1, ddof=1) / 7)
    variance, freedom = Sample(x).variance_of(np.full(4, 0.25))
    assert variance == pytest.approx(x.mean(axis=0).var(ddof=1) / 7)
    assert freedom == pytest.approx(6)
    assert Sample(x).variance_of(np.zeros(4)) == (0, pytest.approx(6))


def test_flows_of_unequal_variance_with_missing_ratings():
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (6, 7)) * np.array([0.1, 0.3, 1, 2, 4, 6])[:, None]
    x[rng.random(x.shape) < 0.4] = np.nan
    x[5, 1:] = np.nan
    both = [Sample(x), Sample(x, np.where(np.isnan(x), 0, rng.integers(1, 4, x.shape)))]
    columns = [(s.sizes, s.means, s.variances, s.noise, *s.moderated_noise) for s in both]
    names = ["size", "mean", "variance", "noise", "moderated", "freedom"]
    assert_same(
        pd.DataFrame(np.hstack(columns).T, columns=names),
        """
        size  mean         variance    noise       moderated  freedom
        5     0.00434601   0.00895252  0.0017905   0.577714   9.84239
        4     0.0608402    0.0100034   0.00250085  0.803647   8.84239
        5     -0.0185202   0.164283    0.0328566   0.59034    9.84239
        4     -2.52528     6.19768     1.54942     1.32848    8.84239
        6     2.75084      24.2182     4.03636     2.29785    10.8424
        1     3.97838      6.11982     6.11982     4.8601     5.84239
        5     -0.00822784  0.0117178   0.00281227  0.606259   10.0093
        4     0.09092      0.00634422  0.00194211  0.858175   9.00934
        5     0.0079989    0.183732    0.0385611   0.544592   10.0093
        4     -2.28353     6.22116     1.61289     1.26333    9.00934
        6     2.73935      20.0269     3.67358     2.08889    11.0093
        1     3.97838      5.28998     5.28998     4.19971    6.00934
        """,
    )
    sums = [each for sample in both for each in sample.variance_of(np.arange(6) / 15)]
    assert sums == pytest.approx([1.184493, 2.024357, 1.082802, 2.148619])


def test_a_flow_with_one_rater_gets_the_variance_of_the_others():
    sample = Sample(np.array([[1.0, 3.0], [5.0, np.nan]]))
    assert sample.variances.tolist() == [2.0, 2.0]
    assert sample.variance_of(np.array([0.0, 1.0]))[0] == 2.0


def test_numbers_that_nobody_drew_have_no_noise():
    given = Sample.given([1.0, np.nan])
    assert given.variance_of(np.array([1.0, 0.0]))[0] == 0
    assert given.noise[0] == 0
    assert np.isnan(given.means[1])


def test_a_sample_of_some_flows_leaves_out_who_rated_none_of_them():
    sample = Sample(np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, 4.0]])).of_flows([0])
    assert sample.cells.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("per_flow", [5, 30])
def test_the_variance_over_raters_has_no_bias_however_many_rate_a_flow(per_flow):
    """Whether 30 raters rate every flow, or 5 of them."""
    rng = np.random.default_rng(3)
    flow, weights = rng.normal(0, 50, 20), np.full(20, 1 / 20)
    found = [rated(rng, flow, 30, per_flow) for _ in range(120)]
    truth = np.var([one.means.mean() for one in found])
    assert np.mean([one.variance_of(weights)[0] for one in found]) == pytest.approx(truth, rel=0.2)


def test_variances_of_equal_flows_are_drawn_to_their_mean_and_others_less():
    rng = np.random.default_rng(4)
    equal = rng.chisquare(4, 2000) / 4
    drawn, freedom = moderated(equal, np.full(2000, 4.0))
    assert drawn.std() < 0.1
    assert freedom.min() > 50
    assert moderated(equal / 1000, np.full(2000, 4.0))[0] == pytest.approx(drawn / 1000)
    unequal = equal * rng.choice([0.1, 3.0], 2000)
    assert moderated(unequal, np.full(2000, 4.0))[0].std() > 0.4
    none, unchanged = moderated(np.array([np.nan]), np.array([0.0]))
    assert np.isnan(none[0])
    assert unchanged[0] == 0
