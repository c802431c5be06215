"""What wordings are worth, and intervals over them."""

import numpy as np
import pytest
from scipy import stats

from rewordings import jackknife, jackknife_variance, worth_of


def asked_in_groups(sizes, items=300, noise=0.3, seed=1, own=0.5, moves=0.0):
    """Return the counts of wordings in groups of copies, each with an effect on every item and one on all items."""
    rng, of = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    own = own * rng.normal(size=(items, len(sizes)))[:, of] + moves * rng.normal(size=len(of))
    x = rng.normal(0, 1.2, (items, 1, 1)) + own[:, :, None] + rng.normal(0, noise, (items, len(of), 3))
    levels = np.clip(np.round(x), -2, 2)
    return np.stack([(levels == level).sum(axis=2) for level in range(-2, 3)]).astype(float)


def test_copies_of_a_wording_are_worth_one():
    found = worth_of(asked_in_groups([4, 4, 3]))
    assert found.effective == pytest.approx(3, abs=0.4)
    assert found.too_alike
    assert worth_of(asked_in_groups([1] * 11)).effective > 10
    # Two of seven that are alike are named, and leave enough.
    one = worth_of(asked_in_groups([1, 1, 1, 2, 1, 1]))
    assert (one.pair[:2], one.too_alike) == ((3, 4), False)
    assert one.pair[2] > 0.8
    # Few items look alike by chance, and single answers that are all noise do not.
    assert worth_of(asked_in_groups([1] * 11, items=40, seed=2)).effective > 8
    assert worth_of(np.zeros((5, 4, 3))).effective == 3


def test_what_some_wordings_are_worth():
    rng = np.random.default_rng(1)
    missing = rng.binomial(asked_in_groups([4, 4, 3], items=60).astype(int), 0.8).astype(float)
    once = asked_in_groups([3, 1, 2], items=150, noise=0.2, own=0.7, moves=0.3)
    once = np.stack([once.argmax(axis=0) == level for level in range(5)]).astype(float)
    pair = rng.binomial(asked_in_groups([2, 1, 1], items=200, noise=0.2, own=0.8).astype(int), 0.8).astype(
        float
    )
    # The last two correlate by just more, and just less, than chance.
    borderline = [asked_in_groups([2, 1, 1, 1], items=25, seed=seed) for seed in (193, 225)]
    found = [worth_of(counts) for counts in (missing, once, pair, *borderline)]
    np.testing.assert_allclose(
        [(w.effective, w.each.sum(), w.each.min(), w.related.sum(), w.pair[2]) for w in found],
        [
            (8.11469, 9.34969, 0.338339, 35.1246, 1),
            (4.90615, 5.19842, 0.599209, 10.5587, 0.668868),
            (2.68349, 3.00949, 0.504746, 6.36223, 0.981195),
            (3.57143, 4, 0.5, 8.29917, 1),
            (5, 5, 1, 7.83585, 0.973639),
        ],
        rtol=5e-5,
    )
    assert [w.pair[:2] for w in found] == [(4, 5), (4, 5), (0, 1), (0, 1), (0, 1)]


@pytest.mark.parametrize("items", [60, 400, 2000])
def test_wordings_that_move_all_items_in_the_same_direction_are_not_alike(items):
    for own, noise in ((0.0, 1.0), (0.3, 0.6)):
        found = worth_of(asked_in_groups([1] * 30, items=items, noise=noise, own=own, moves=0.8))
        assert found.effective > 29


def test_camps_of_wordings_are_no_copies_where_their_members_differ_in_each_item():
    camp, rng = np.repeat([-1.0, 1.0], [6, 5]), np.random.default_rng(1)
    x = rng.normal(0, 1.2, (400, 1, 1)) + (camp * rng.normal(size=(400, 1)))[:, :, None]
    for own, worth in ((0.4, 11), (0.05, 2)):
        each = own * rng.normal(size=(400, 11, 1)) + rng.normal(0, 0.6, (400, 11, 3))
        levels = np.clip(np.round(x + each), -2, 2)
        counts = np.stack([(levels == level).sum(axis=2) for level in range(-2, 3)]).astype(float)
        assert worth_of(counts).effective == pytest.approx(worth, abs=0.5)


def test_groups_of_noisy_copies_are_named_with_many_items():
    named = [worth_of(asked_in_groups([4, 4, 3], 400, 0.6, seed, 0.3)).too_alike for seed in range(8)]
    assert sum(named) >= 7


def test_an_interval_of_one_unit_is_missing():
    assert np.isnan(jackknife(1.0, np.array([2.0]))).all()
    error, low, high = jackknife(1.0, np.array([2.0, 0.0]))
    assert (error, 1 - low, high - 1) == pytest.approx((1, stats.t.ppf(0.975, 1), stats.t.ppf(0.975, 1)))


def test_the_jackknife_of_means_is_their_covariance():
    x, y = np.random.default_rng(3).normal(size=(2, 7, 2))
    without = [(side.sum(axis=0) - side) / 6 for side in (x, y)]
    of_means = [np.cov(x[:, at], y[:, at]) / 7 for at in (0, 1)]
    np.testing.assert_allclose(jackknife_variance(without[0]), [c[0, 0] for c in of_means])
    np.testing.assert_allclose(jackknife_variance(*without), [c[0, 1] for c in of_means])


def test_answers_without_noise_are_not_alike_for_what_rounding_leaves():
    level = np.random.default_rng(1).integers(0, 5, (300, 1, 1)).repeat(11, axis=1).repeat(3, axis=2)
    found = worth_of(np.stack([(level == one).sum(axis=2) for one in range(5)]).astype(float))
    assert found.effective == 11
