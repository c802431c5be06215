"""Tests that hold the noise of the wording: right size where the signed-rank test has none."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.core.errors import DataError
from cinorms.stats import hypotheses, permutation, wordings


def templates_of(*levels):
    """Return the template of each variant, as its name says."""
    names = sorted({name for one in levels for name in one.columns})
    return pd.Series([name.split("_")[0] for name in names], index=names)


def matrix(x, flows=None, variants=None):
    x = np.asarray(x, dtype=float)
    index = pd.Index(range(len(x)) if flows is None else flows, name="flow")
    return pd.DataFrame(x, index=index, columns=variants or [f"{v}_0" for v in range(x.shape[1])])


def planted_levels(rng, n_flows, n_units, wording, flow=0.0, noise=0.5, shift=0.0):
    """Return the levels of two models drawn alike: a difference in mean comes from these wordings alone.

    ``wording`` is how much a wording moves one model and not the other (standard deviation on the latent
    scale, five levels cut at whole numbers), ``flow`` the same of a flow; ``shift`` is a true difference.
    """
    common = rng.normal(0, 1, (n_flows, 1))
    levels = []
    for sign in (1, -1):
        of_flow = rng.normal(0, flow, (n_flows, 1))
        of_wording = rng.normal(0, wording, (1, n_units))
        latent = common + of_flow + of_wording + rng.normal(0, noise, (n_flows, n_units))
        levels.append(np.clip(np.round(latent + sign * shift / 2), -2, 2))
    return levels


def planted_pair(*given, **planted):
    return [matrix(x) for x in planted_levels(*given, **planted)]


def modes(levels):
    counts = np.stack([(levels == v).sum(axis=1) for v in (-2, -1, 0, 1, 2)])
    return pd.Series(counts.argmax(axis=0) - 2, dtype="Int8")


def signed_rank_p(a, b):
    return 10 ** hypotheses.wilcoxon_pairs(pd.DataFrame({"a": modes(a), "b": modes(b)}))["log10_p"].iloc[0]


def rejections(test, n, **planted):
    """Return how often ``test`` gives p < 0.05 on n planted pairs without a difference."""
    rng = np.random.default_rng(20260)
    p = [test(*planted_levels(rng, **planted)) for _ in range(n)]
    return float(np.mean(np.array(p) < 0.05))


def compare(a, b, seed=1, **more):
    row = permutation.compare(a, b, templates_of(a, b), seed, **more).iloc[0]
    return pd.concat([row, pd.Series({"p": 10 ** row["log10_p"]})])


def swap_p(draws=499):
    """Return the test of `compare` alone, without its table and interval: thousands are made here."""
    return lambda a, b: permutation._swap_p(a - b, 1, draws)[0]


def test_every_swap_of_few_wordings_is_made():
    rng = np.random.default_rng(3)
    a, b = planted_pair(rng, 20, 7, wording=0.6)
    means = (a - b).to_numpy().mean(axis=0)
    signs = np.array(list(itertools.product([-1, 1], repeat=7)))
    expected = (np.abs(signs @ means) >= abs(means.sum()) - 1e-9).mean()
    row = compare(a, b)
    assert row["p"] == pytest.approx(expected)
    assert row["p_smallest"] == pytest.approx(2 / 2**7)
    assert compare(a, b, draws=2**7)["p"] == row["p"]
    drawn = compare(a, b, draws=2**7 - 1)["p"]
    assert drawn != row["p"] == pytest.approx(drawn, abs=0.1)
    assert row["estimate"] == pytest.approx(means.mean())
    assert (row["n_flows"], row["n_templates"], row["status"]) == (20, 7, "ok")


def test_neither_the_order_of_rows_and_columns_nor_that_of_the_models_matters():
    a, b = planted_pair(np.random.default_rng(7), 30, 14, wording=0.5, flow=0.5, shift=0.2)
    one, other = compare(a, b, seed=2), compare(b, a, seed=2)
    turned = compare(a.iloc[::-1, ::-1], b.sample(frac=1, random_state=1), seed=2)
    pd.testing.assert_series_equal(turned, one)
    assert (other["p"], other["estimate"]) == (one["p"], pytest.approx(-one["estimate"]))
    assert (other["conf_low"], other["conf_high"]) == pytest.approx((-one["conf_high"], -one["conf_low"]))


def test_equivalence_within_a_margin_is_two_t_tests_with_a_template_that_dissents():
    a, b = planted_pair(np.random.default_rng(9), 20, 9, wording=0.3)
    means = (a - b).to_numpy().mean(axis=0)
    above = stats.ttest_1samp(np.append(means, 1.0), 0.5, alternative="less").pvalue
    below = stats.ttest_1samp(np.append(means, -1.0), -0.5, alternative="greater").pvalue
    row = compare(a, b, margin=0.5)
    assert 10 ** row["log10_p_equivalent"] == pytest.approx(max(above, below))
    assert np.isnan(compare(a, b)["log10_p_equivalent"])


def test_only_cells_that_both_answered_count_and_orders_of_one_template_are_one_unit():
    a = matrix([[2, np.nan, 1], [0, 1, np.nan], [np.nan] * 3], flows=[7, 3, 9])
    row = compare(a, matrix([[1, 1, np.nan], [0, 2, 2], [1, 1, 1]], flows=[7, 3, 9]))
    assert (row["n_flows"], row["n_templates"]) == (2, 2)
    assert row["estimate"] == pytest.approx((1 + 0 - 1) / 3)
    a = matrix([[2, 0, 1], [2, 2, 1]], variants=["0_0", "0_1", "1_0"])
    b = matrix([[0, 0, 1], [1, np.nan, 0]], variants=["0_0", "0_1", "1_0"])
    row = compare(a, b)
    assert (row["n_templates"], row["estimate"]) == (2, pytest.approx(np.mean([(2 + 0) / 2, 0, 1, 1])))
    with pytest.raises(DataError, match="variant 1_0 is not in the arm's prompts"):
        permutation.compare(a, b, templates_of(a).drop("1_0"), 1)


def test_the_interval_is_that_of_the_mean_over_the_common_cells():
    a, b = planted_pair(np.random.default_rng(8), 30, 8, wording=0.5)
    a.iloc[3, 2] = np.nan
    row = compare(a, b)
    expected = wordings.mean_interval((a - b).to_numpy(), True)
    assert row[["estimate", "std_err", "conf_low", "conf_high"]].tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "status"),
    [
        ([[1, np.nan]], [[np.nan, 1]], "no_flows"),
        ([[1], [2]], [[0], [0]], "one_template"),
        ([[1, 2], [0, 0]], [[1, 2], [0, 0]], "no_differences"),
    ],
)
def test_where_there_is_nothing_to_test_it_says_why(a, b, status):
    row = compare(matrix(a), matrix(b), margin=0.5)
    assert row["status"] == status
    assert row["reason"]
    assert row[["log10_p", "p_smallest", "std_err", "conf_low", "conf_high"]].isna().all()
    assert np.isnan(row["log10_p_equivalent"]) == (status != "no_differences")


def test_too_few_wordings_to_ever_reject_are_said():
    row = compare(matrix([[2, 2, 2]] * 50), matrix([[0, 0, 0]] * 50))
    assert row["p"] == pytest.approx(0.25)
    assert "cannot be below 0.25" in row["reason"]


def test_one_shift_of_a_few_wordings_is_thousands_of_agreeing_flows_to_the_signed_rank_test():
    planted = {"n_flows": 400, "n_units": 9, "wording": 0.6, "flow": 0.2}
    assert rejections(signed_rank_p, 60, **planted) > 0.5
    assert rejections(swap_p(), 60, **planted) < 0.17


def test_a_true_difference_is_found():
    a, b = planted_pair(np.random.default_rng(11), 300, 12, wording=0.2, shift=1.0)
    row = compare(a, b)
    assert row["p"] < 0.01
    assert 0.4 < row["conf_low"] < row["estimate"] < row["conf_high"] < 1.4


@pytest.mark.slow
@pytest.mark.parametrize("wording", [0.0, 0.3, 1.0])
def test_size_of_swapping_wordings_is_five_percent_for_these_flows(wording):
    planted = {"n_flows": 150, "n_units": 11, "wording": wording}
    assert 0.03 <= rejections(swap_p(draws=4096), 1000, **planted) <= 0.07
