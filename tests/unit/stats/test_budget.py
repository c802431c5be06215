"""The budget: predictions against sub-sampling, with and without missing answers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.norms import assessment
from cinorms.stats import budget
from cinorms.stats.wordings import template_means

from .made import matrix

KS = [1, 3, 5, 9, 15]


def pilot(seed=0, flows=400, templates=33, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (flows, 1)) + rng.normal(0, rng.uniform(0.2, 1.5, (flows, 1)), (flows, templates))
    x[rng.random(x.shape) < missing * rng.random((flows, 1)) * 2] = np.nan
    return matrix(x[:, :, None])


def observed(levels, templates, ks, draws):
    """Return the root mean square difference of a flow's mean over k random templates from that over all.

    What `budget.predicted` predicts. Templates are drawn without replacement, the same for all flows; flows without a
    valid answer among the k are left out of that draw.
    """
    means = pd.DataFrame(template_means(levels, templates))
    means = means[means.notna().sum(axis=1) >= 2]
    rng = np.random.default_rng(1)
    found = []
    for k in ks:
        few = [means[rng.choice(means.shape[1], k, replace=False)].mean(axis=1) for _ in range(draws)]
        found.append(np.sqrt(np.nanmean([(mean - means.mean(axis=1)) ** 2 for mean in few])))
    return found


def test_without_missing_answers_the_prediction_is_the_formula():
    levels, templates = pilot()
    rms = np.sqrt(levels.var(axis=1, ddof=1).mean())
    k = np.array(KS)
    found = budget.predicted(levels, templates, KS, of=33)
    assert found["rmse"].to_numpy() == pytest.approx(rms * np.sqrt(1 / k - 1 / 33))
    assert budget.predicted(levels, templates, KS)["rmse"].to_numpy() == pytest.approx(rms / np.sqrt(k))
    assert found["n_flows"].tolist() == [400] * 5


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_prediction_is_what_sub_sampling_shows(missing):
    levels, templates = pilot(missing=missing)
    found = budget.predicted(levels, templates, [*KS, 33], of=33)["rmse"]
    assert found.to_numpy()[:-1] == pytest.approx(observed(levels, templates, KS, draws=200), rel=0.03)
    assert found.iloc[-1] == pytest.approx(0, abs=1e-8)  # the rounding error of a difference, under a root


def test_what_cannot_be_predicted_says_why():
    assert budget.predicted(*pilot(), [40], of=33)["status"].tolist() == ["too_many"]
    one = matrix(np.random.default_rng(1).normal(0, 1, (20, 1, 3)))  # three orders are one wording
    assert set(budget.predicted(*one, [1])["status"]) == {"one_template"}
    assert budget.templates_needed(*one, 0.2, 1) is None
    two = matrix(np.array([[[1.0], [2.0], [np.nan]], [[1.0], [np.nan], [np.nan]]]))
    assert budget.predicted(*two, [1])["n_flows"].tolist() == [1]


def test_needed_templates_reach_the_target():
    x = np.tile([1.0, -1.0, 1.0, -1.0], (10, 1))[:, :, None]  # S^2 = 4/3
    levels, templates = matrix(x)
    assert budget.templates_needed(levels, templates, 0.5, 1) == 6  # 4/3 / 0.25 = 5.33
    six, five = (budget.predicted(levels, templates, [k])["rmse"].iloc[0] for k in (6, 5))
    assert six <= 0.5 < five
    assert budget.templates_needed(levels, templates, np.sqrt(4 / 3) / 2, 1) == 4
    levels.iloc[:, 3] = np.nan  # three templates, also with S^2 = 4/3, of four that were asked
    assert budget.templates_needed(levels, templates, 0.5, 1) == 8


def test_more_orders_lower_what_they_are_about_and_nothing_else():
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, (2000, 1, 1)) + rng.normal(0, 0.6, (2000, 20, 1)) + rng.normal(0, 0.9, (2000, 20, 3))
    levels, templates = matrix(x)
    for orders in (1, 3, 9):
        expected = np.sqrt(0.36 + 0.81 / orders)
        planned = budget.predicted(levels, templates, [10], orders=orders)
        assert planned["rmse"].iloc[0] == pytest.approx(expected / np.sqrt(10), rel=0.02)
        needed = budget.templates_needed(levels, templates, 0.05, orders)
        assert needed == pytest.approx((expected / 0.05) ** 2, rel=0.05)
    single = matrix(x[:, :, :1])
    assert set(budget.predicted(*single, [3], orders=3)["status"]) == {"one_order"}


def test_the_standard_error_is_the_one_that_fresh_wordings_show():
    """Wordings move all flows (sd 0.3) and single ones (0.5), orders 0.6: the error of a flow's mean over 7 x 3."""
    rng = np.random.default_rng(5)

    def answers(templates):
        return (
            rng.normal(0, 0.3, (1, templates, 1))
            + rng.normal(0, 0.5, (200, templates, 1))
            + rng.normal(0, 0.6, (200, templates, 3))
        )

    errors = np.sqrt(np.mean([answers(7).mean(axis=(1, 2)) ** 2 for _ in range(400)]))
    predictions = [budget.predicted(*matrix(answers(11)), [7], orders=3)["rmse"].iloc[0] for _ in range(60)]
    assert np.sqrt(np.mean(np.square(predictions))) == pytest.approx(errors, rel=0.05)


@given(st.floats(0.02, 2), st.floats(1.01, 3))
@settings(max_examples=30)
def test_a_stricter_target_never_needs_fewer(target, factor):
    levels = pilot(flows=20, templates=6)
    strict, loose = (budget.templates_needed(*levels, se, 3) for se in (target, target * factor))
    assert strict >= loose


@pytest.mark.parametrize("model", ["Meta-Llama-3.1-8B-Instruct", "tulu-2-7b", "tulu-2-dpo-13b"])
def test_the_prediction_holds_on_the_published_answers(model, published):
    levels = assessment.level_matrix(published(model))
    templates = pd.Series([name.split("_")[0] for name in levels.columns], index=levels.columns)
    ks = [1, 2, 3, 5, 9]
    found = budget.predicted(levels, templates, ks, of=11)["rmse"].to_numpy()
    assert found == pytest.approx(observed(levels, templates, ks, draws=100), rel=0.06)
