"""The budget: predictions against sub-sampling, with and without missing answers."""

import numpy as np
import pytest

from cinorms.stats import budget
from cinorms.stats.wordings import template_means

from .made import matrix


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_prediction_is_what_drawing_templates_shows(missing):
    """Against the mean over all; flows without a valid answer in those drawn are left out of that draw."""
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (400, 1)) + rng.normal(0, rng.uniform(0.2, 1.5, (400, 1)), (400, 33))
    x[rng.random(x.shape) < missing * rng.random((400, 1)) * 2] = np.nan
    levels, templates = matrix(x[:, :, None])
    means = template_means(levels, templates)
    n = (~np.isnan(means)).sum(axis=1, keepdims=True)
    means = (means * np.sqrt(n / (n - 1)))[n[:, 0] >= 2]
    for k in (1, 4):
        drawn = np.ma.masked_invalid(np.stack([means[:, rng.choice(33, k)] for _ in range(200)]))
        errors = drawn.mean(axis=2) - np.nanmean(means, axis=1)
        expected = np.sqrt((errors**2).mean())
        assert budget.predicted(levels, templates, k, 1) == pytest.approx(expected, rel=0.03)


def test_a_pilot_without_a_flow_in_two_templates_predicts_nothing():
    one = matrix(np.random.default_rng(1).normal(0, 1, (20, 1, 3)))  # three orders are one wording
    assert np.isnan(budget.predicted(*one, 1, 1))
    assert budget.templates_needed(*one, 0.2, 1) is None


def test_needed_templates_reach_the_target():
    x = np.tile([1.0, -1.0, 1.0, -1.0], (10, 1))[:, :, None]  # S^2 = 4/3
    levels, templates = matrix(x)
    assert budget.templates_needed(levels, templates, 0.5, 1) == 6  # 4/3 / 0.25 = 5.33
    assert budget.predicted(levels, templates, 6, 1) <= 0.5 < budget.predicted(levels, templates, 5, 1)
    assert budget.templates_needed(levels, templates, np.sqrt(4 / 3) / 2, 1) == 4
    levels.iloc[:, 3] = np.nan  # three templates, also with S^2 = 4/3, of four that were asked
    assert budget.templates_needed(levels, templates, 0.5, 1) == 8


def test_more_orders_lower_what_they_are_about_and_nothing_else():
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, (2000, 1, 1)) + rng.normal(0, 0.6, (2000, 20, 1)) + rng.normal(0, 0.9, (2000, 20, 3))
    levels, templates = matrix(x)
    for orders in (1, 3, 9):
        expected = np.sqrt(0.36 + 0.81 / orders)
        planned = budget.predicted(levels, templates, 10, orders)
        assert planned == pytest.approx(expected / np.sqrt(10), rel=0.02)
        needed = budget.templates_needed(levels, templates, 0.05, orders)
        assert needed == pytest.approx((expected / 0.05) ** 2, rel=0.05)
    single = matrix(x[:, :, :1])  # what orders do is not known, and counts as nothing
    assert budget.predicted(*single, 10, 3) == budget.predicted(*single, 10, 1)
