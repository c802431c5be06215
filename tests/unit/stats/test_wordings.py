"""Intervals over templates: known variances, statuses, and simulated coverage."""

import numpy as np
import pytest
from scipy import stats

from cinorms.core.errors import DataError
from cinorms.stats import wordings

from ...scales import ACCEPTABILITY
from .made import assert_same, matrix


def test_orders_of_one_template_are_one_observation():
    levels, templates = matrix(np.array([[[1, 1, -2], [2, np.nan, np.nan]], [[0, 0, 0], [np.nan] * 3]]))
    np.testing.assert_allclose(wordings.template_means(levels, templates), [[0, 2], [0, np.nan]])
    sums, sizes = wordings.template_sums(levels, templates)
    assert sums.tolist() == [[0, 2], [0, 0]]
    assert sizes.tolist() == [[3, 1], [3, 0]]
    counts = wordings.level_counts(levels, templates, ACCEPTABILITY)
    assert counts[:, 0].tolist() == [[1, 0], [0, 0], [0, 0], [2, 0], [0, 1]]
    with pytest.raises(DataError, match="variant 1_0 is not in the arm's prompts"):
        wordings.template_means(levels, templates[:3])


def asked_in_groups(sizes, flows=300, noise=0.3, seed=1, own=0.5, moves=0.0):
    """Return the counts of templates in groups of copies, each with an effect on every flow and one on all flows."""
    rng, of = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    own = own * rng.normal(size=(flows, len(sizes)))[:, of] + moves * rng.normal(size=len(of))
    x = rng.normal(0, 1.2, (flows, 1, 1)) + own[:, :, None] + rng.normal(0, noise, (flows, len(of), 3))
    levels = np.clip(np.round(x), -2, 2)
    return np.stack([(levels == level).sum(axis=2) for level in range(-2, 3)]).astype(float)


def test_copies_of_a_template_are_worth_one():
    found = wordings.worth_of(asked_in_groups([4, 4, 3]))
    assert found.effective == pytest.approx(3, abs=0.4)
    assert found.too_alike
    assert wordings.worth_of(asked_in_groups([1] * 11)).effective > 10
    # Two of seven that are alike are named, and leave enough.
    one = wordings.worth_of(asked_in_groups([1, 1, 1, 2, 1, 1]))
    assert (one.pair[:2], one.too_alike) == ((3, 4), False)
    assert one.pair[2] > 0.8
    # Few flows look alike by chance, and single answers that are all noise do not.
    assert wordings.worth_of(asked_in_groups([1] * 11, flows=40, seed=2)).effective > 8
    assert wordings.worth_of(np.zeros((5, 4, 3))).effective == 3


def test_what_some_templates_are_worth():
    rng = np.random.default_rng(1)
    missing = rng.binomial(asked_in_groups([4, 4, 3], flows=60).astype(int), 0.8).astype(float)
    once = asked_in_groups([3, 1, 2], flows=150, noise=0.2, own=0.7, moves=0.3)
    once = np.stack([once.argmax(axis=0) == level for level in range(5)]).astype(float)
    pair = rng.binomial(asked_in_groups([2, 1, 1], flows=200, noise=0.2, own=0.8).astype(int), 0.8).astype(
        float
    )
    # The last two correlate by just more, and just less, than chance.
    borderline = [asked_in_groups([2, 1, 1, 1], flows=25, seed=seed) for seed in (193, 225)]
    found = [wordings.worth_of(counts) for counts in (missing, once, pair, *borderline)]
    assert_same(
        [
            {
                "worth": w.effective,
                "each": w.each.sum(),
                "least": w.each.min(),
                "related": w.related.sum(),
                "pair": w.pair[2],
            }
            for w in found
        ],
        """
        worth    each     least     related  pair
        8.11469  9.34969  0.338339  35.1246  1
        4.90615  5.19842  0.599209  10.5587  0.668868
        2.68349  3.00949  0.504746  6.36223  0.981195
        3.57143  4        0.5       8.29917  1
        5        5        1         7.83585  0.973639
        """,
    )
    assert [w.pair[:2] for w in found] == [(4, 5), (4, 5), (0, 1), (0, 1), (0, 1)]


@pytest.mark.parametrize("flows", [60, 400, 2000])
def test_templates_that_move_all_flows_in_the_same_direction_are_not_alike(flows):
    for own, noise in ((0.0, 1.0), (0.3, 0.6)):
        found = wordings.worth_of(asked_in_groups([1] * 30, flows=flows, noise=noise, own=own, moves=0.8))
        assert found.effective > 29


def test_camps_of_templates_are_no_copies_where_their_members_differ_in_each_flow():
    camp, rng = np.repeat([-1.0, 1.0], [6, 5]), np.random.default_rng(1)
    x = rng.normal(0, 1.2, (400, 1, 1)) + (camp * rng.normal(size=(400, 1)))[:, :, None]
    for own, worth in ((0.4, 11), (0.05, 2)):
        each = own * rng.normal(size=(400, 11, 1)) + rng.normal(0, 0.6, (400, 11, 3))
        levels = np.clip(np.round(x + each), -2, 2)
        counts = np.stack([(levels == level).sum(axis=2) for level in range(-2, 3)]).astype(float)
        assert wordings.worth_of(counts).effective == pytest.approx(worth, abs=0.5)


def test_groups_of_noisy_copies_are_named_with_many_flows():
    named = [
        wordings.worth_of(asked_in_groups([4, 4, 3], 400, 0.6, seed, 0.3)).too_alike for seed in range(8)
    ]
    assert sum(named) >= 7


def test_with_all_flows_given_it_is_the_t_interval_of_the_templates():
    x = np.random.default_rng(1).normal(0, 1, (30, 7))
    _, std_err, low, high = wordings.mean_interval(x, fixed_flows=True)
    expected = stats.ttest_1samp(x.mean(axis=0), 0)
    assert std_err == pytest.approx(x.mean(axis=0).std(ddof=1) / np.sqrt(7))
    assert (low, high) == pytest.approx(tuple(expected.confidence_interval()))


def test_with_flows_sampled_too_single_answers_count_once():
    rng = np.random.default_rng(2)
    x = rng.normal(0, 1, (200, 1)) + rng.normal(0, 0.5, (1, 40)) + rng.normal(0, 1, (200, 40))
    row, column = x.mean(axis=1), x.mean(axis=0)
    rest = x - row[:, None] - column + x.mean()
    of_rest = (rest**2).sum() / (199 * 39) / x.size
    expected = row.var(ddof=1) / 200 + column.var(ddof=1) / 40 - of_rest
    mean, std_err, low, high = wordings.mean_interval(x, fixed_flows=False)
    assert (mean, std_err) == pytest.approx((x.mean(), np.sqrt(expected)))
    assert low < mean < high


def test_what_flows_and_templates_leave_is_of_the_cells_that_are_there():
    cells = np.array([[1.0, np.nan, 2.0], [2.0, 4.0, 0.0], [0.0, 1.0, np.nan]])
    left = cells - np.nanmean(cells, axis=1, keepdims=True) - np.nanmean(cells, axis=0)
    assert wordings.rest_variance(cells) == pytest.approx(np.nansum(left**2) * 7 / (7 - 3 - 3 + 1))
    assert wordings.rest_variance(cells[:1]) == 0


def test_an_interval_of_one_unit_is_missing():
    assert np.isnan(wordings.jackknife(1.0, np.array([2.0]))).all()
    error, low, high = wordings.jackknife(1.0, np.array([2.0, 0.0]))
    assert (error, 1 - low, high - 1) == pytest.approx((1, stats.t.ppf(0.975, 1), stats.t.ppf(0.975, 1)))


def test_degrees_of_freedom_where_nothing_varies_are_those_given():
    assert wordings.pooled([(np.float64(0.0), 4.0), (np.float64(0.0), 9.0)], otherwise=4.0) == (0, 4)
    assert wordings.pooled([(0.0, 4.0)]) == (0, 1)
    assert wordings.pooled([(2.0, 4.0), (1.0, 9.0)]) == pytest.approx((3, 9 / (4 / 4 + 1 / 9)))


def test_flow_intervals_by_hand():
    nothing = [np.nan] * 3
    x = [
        [[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]],
        [[2, 2, 2], [1, 1, 1], [0, 0, 0], [1, 1, 1]],
        [[1, 1, -1], [-1, -1, 1], [1, 1, -1], [-1, -1, 1]],
        [[2, 2, np.nan], nothing, nothing, nothing],
        [nothing] * 4,
    ]
    found = wordings.flow_intervals(*matrix(np.array(x, dtype=float)), ACCEPTABILITY).set_index("flow")
    assert found["interval_status"].tolist() == ["ok", "ok", "ok", "one_template", "no_answers"]
    assert found.loc[0, ["conf_low", "conf_high"]].tolist() == [1, 1]
    reach = stats.t.ppf(0.975, 3) * np.std([2, 1, 0, 1], ddof=1) / 2
    assert found.loc[1, ["conf_low", "conf_high"]].tolist() == pytest.approx(
        [1 - reach, 2]
    )  # the scale ends at 2
    assert found.loc[[3, 4], ["conf_low", "conf_high"]].isna().all(axis=None)
    assert wordings.flow_intervals(*matrix(np.zeros((0, 4, 3))), ACCEPTABILITY).empty
