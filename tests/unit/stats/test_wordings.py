"""Intervals over templates: known variances, statuses, and simulated coverage."""

import numpy as np
import pytest
from scipy import stats

from cinorms.core.errors import DataError
from cinorms.stats import wordings

from ...scales import ACCEPTABILITY
from .made import matrix


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
