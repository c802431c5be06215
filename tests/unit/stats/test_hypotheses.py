"""Tests between models: equal to R and SciPy, honest where there is nothing to test."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.norms.thresholds import Thresholds
from cinorms.stats import hypotheses, pvalues
from cumulink import tails

from .made import level, norms_of

REFERENCE = pd.read_csv(Path(__file__).parents[2] / "reference" / "hypotheses_reference.csv")
PAIRS = ["ab", "ac", "ad", "bc", "bd", "cd"]


def reference(test, quantity, items=None):
    rows = REFERENCE[(REFERENCE["test"] == test) & (REFERENCE["quantity"] == quantity)]
    values = rows.set_index("item")["value"]
    return values[items].tolist() if items else float(values.iloc[0])


def frame(columns, **kwargs):
    made = pd.DataFrame(columns, **kwargs).astype("Int8")
    made.index.name = "flow"
    return made


PLANTED = frame({m: level(np.arange(200), i + 1) for i, m in enumerate("abcd")})


def each_pair(test, paired, *options):
    """Return the test of every two models, with p-values corrected over all of them."""
    pairs = list(itertools.combinations(paired.columns, 2))
    table = pd.concat([test(paired[list(pair)], *options) for pair in pairs], ignore_index=True)
    table.insert(0, "pair", ["".join(map(str, pair)) for pair in pairs])
    return pvalues.add_columns(table, corrections=True)


def near(p, rel=1e-9):
    """Return what p-values must be near to, however small they are."""
    return pytest.approx(p, rel=rel, abs=0)


def test_friedman_is_rs():
    row = hypotheses.friedman(PLANTED).iloc[0]
    assert row["statistic"] == pytest.approx(reference("friedman", "statistic"), rel=1e-12)
    assert row["p"] == near(reference("friedman", "p"))
    assert (row["models"], row["n"], row["df"], row["status"]) == (4, 200, 3, "ok")
    assert "p_holm" not in row
    assert row["effect_size"] == pytest.approx(row["statistic"] / (200 * 3))


def test_wilcoxon_is_rs_with_its_corrections():
    found = each_pair(hypotheses.wilcoxon_pairs, PLANTED)
    assert list(found["pair"]) == PAIRS
    assert found["p"].tolist() == near(reference("wilcoxon", "p", PAIRS))
    for correction in pvalues.METHODS:
        assert found[f"p_{correction}"].tolist() == near(reference("wilcoxon", correction, PAIRS))
    # R reports the sum of the positive ranks; ours is the smaller sum, and a is lower throughout.
    assert found["statistic"].tolist() == pytest.approx(reference("wilcoxon", "positive_ranks", PAIRS))


def test_paired_t_is_rs():
    found = each_pair(hypotheses.paired_t, PLANTED)
    assert found["statistic"].tolist() == pytest.approx(reference("t", "statistic", PAIRS), rel=1e-12)
    assert found["p"].tolist() == near(reference("t", "p", PAIRS))
    d = [(PLANTED[a] - PLANTED[b]).astype(float) for a, b in PAIRS]
    assert found["mean_difference"].tolist() == pytest.approx([each.mean() for each in d])
    assert found["std_err"].tolist() == pytest.approx([each.sem() for each in d])
    assert found["effect_size"].tolist() == pytest.approx([each.mean() / each.std() for each in d])
    assert set(found["df"]) == {199}


def test_anova_is_rs_with_greenhouse_and_geissers_p():
    row = hypotheses.repeated_measures_anova(PLANTED).iloc[0]
    assert row["statistic"] == pytest.approx(reference("anova", "statistic"), rel=1e-12)
    assert row["p"] == near(reference("anova", "p"))
    uncorrected = 10 ** tails.log10_p(row["statistic"], row["df"], row["df_error"])
    assert uncorrected == near(reference("anova", "p_uncorrected"))
    assert 1 / 3 < row["epsilon"] < 1
    ratio = row["statistic"] * row["df"] / row["df_error"]
    assert row["effect_size"] == pytest.approx(ratio / (1 + ratio))


def test_the_normality_check_is_rs():
    checks = hypotheses.normality(PLANTED)
    assert checks["p"].tolist() == near(reference("shapiro", "p", PAIRS), rel=1e-3)


def test_signed_rank_worked_by_hand():
    # Differences 1, 1, -2, 3, 4, 0, 0, 0: sizes 1, 1, 2, 3, 4 have ranks 1.5, 1.5, 3, 4, 5.
    paired = frame({"a": [1, 1, -2, 2, 2, 0, 1, 2], "b": [0, 0, 0, -1, -2, 0, 1, 2]})
    row = hypotheses.wilcoxon_pairs(paired).iloc[0]
    assert (row["n"], row["n_zero"], row["n_ties"], row["statistic"]) == (8, 3, 2, 3.0)
    assert row["effect_size"] == pytest.approx((12 - 3) / 15)
    assert row["median_difference"] == 0.5
    assert row["z"] == pytest.approx((12 - 7.5) / np.sqrt(5 * 6 * 11 / 24 - (2**3 - 2) / 48))
    assert "only 5 differences" in row["reason"]


def test_p_values_below_the_float_range_keep_their_size():
    paired = frame({"a": [-2, -1] * 5000, "b": [1, 2] * 5000, "c": [0, 2] * 5000})
    pairs = each_pair(hypotheses.wilcoxon_pairs, paired)
    for table in (hypotheses.friedman(paired), pairs):
        assert (table["log10_p"] < -400).all()
        assert (table["p"] == tails.SMALLEST).all()
        assert table["p_text"].str.contains("e-").all()
    assert (pairs["log10_p_bonferroni"] - pairs["log10_p"]).tolist() == pytest.approx([np.log10(3)] * 3)


@pytest.mark.parametrize(
    ("tests", "columns", "status"),
    [
        ("all", {"a": [1, 2]}, "one_model"),
        ("all pair", {"a": [1, None], "b": [None, 1]}, "no_flows"),
        ("all pair", {"a": [1, 2], "b": [1, 2]}, "no_differences"),
        ("paired_t", {"a": [1], "b": [2]}, "one_flow"),
        ("paired_t repeated_measures_anova", {"a": [0, 1, 0], "b": [1, 2, 1]}, "no_variance"),
    ],
)
def test_tests_say_why_there_is_no_number(tests, columns, status):
    kinds = {"all": "friedman repeated_measures_anova", "pair": "wilcoxon_pairs paired_t"}
    for name in " ".join(kinds.get(part, part) for part in tests.split()).split():
        row = getattr(hypotheses, name)(frame(columns)).iloc[0]
        assert row["status"] == status
        assert row["reason"]
        assert row[["statistic", "log10_p"]].isna().all()


RANKS, NORMAL = ("friedman", "wilcoxon_pairs"), ("repeated_measures_anova", "paired_t")
BELL = frame({"a": np.repeat([-2, -1, 0, 1, 2], [3, 7, 10, 7, 3]), "b": np.tile([1, 0, -1, 0, 2, -2], 5)})


@pytest.mark.parametrize(
    ("paired", "tests", "why"),
    [
        (PLANTED, RANKS, "not normal (Shapiro-Wilk, n = 200"),
        (PLANTED.head(20), RANKS, "not normal (Shapiro-Wilk, n = 20"),
        (PLANTED.head(19), RANKS, "there are 19 complete flows"),
        (frame({"a": [0] * 30, "b": [1] * 30}), RANKS, "the same in every flow"),
        (PLANTED[["a"]], RANKS, "fewer than two models"),
        (BELL, NORMAL, "not rejected for any of 1 pairs (smallest p after Holm 0.29)"),
    ],
)
def test_norms_that_are_not_known_to_be_normal_get_rank_tests(paired, tests, why):
    choice = hypotheses.choose_tests(paired)
    assert (choice.overall, choice.pairwise) == tests
    assert why in choice.reason


def test_above_5000_flows_the_check_is_dagostino_and_pearsons():
    d = frame({"a": level(np.arange(6000), 1), "b": level(np.arange(6000), 4)})
    row = hypotheses.normality(d).iloc[0]
    expected = stats.normaltest((d["a"] - d["b"]).to_numpy(dtype=float))
    assert row["test"] == "D'Agostino-Pearson"
    assert row["statistic"] == pytest.approx(expected.statistic)
    assert row["p"] == pytest.approx(expected.pvalue)


def test_norms_are_paired_by_flow_with_missing_where_there_is_none():
    tables = {
        "a": norms_of([[2] * 5, [None], [0] * 5]),
        "b": norms_of([[1] * 3, [None], [-1] * 3]).iloc[[2, 0]],
    }
    one, four = (Thresholds(t_val, "plurality", "strict") for t_val in (1, 4))
    paired = hypotheses.pair_norms(tables, {"a": one, "b": one})
    assert paired.index.tolist() == [0, 1, 2]
    assert paired.index.name == "flow"
    assert (paired.dtypes == "Int8").all()
    assert paired["a"].tolist() == [2, pd.NA, 0]
    assert paired["b"].tolist() == [1, pd.NA, -1]
    by_model = hypotheses.pair_norms(tables, {"a": one, "b": four})
    assert by_model["b"].isna().all()


REGISTRY = pd.DataFrame(
    [
        ("7b", "tulu", 7, "none", "none"),
        ("13b", "tulu", 13, "none", "none"),
        ("dpo-7b", "tulu", 7, "dpo", "none"),
        ("7b-awq", "tulu", 7, "none", "awq"),
        ("dpo-7b-awq", "tulu", 7, "dpo", "awq"),
        ("llama", "llama", 8, "rlhf", "none"),
        ("gpt", "gpt", None, "rlhf", "none"),
    ],
    columns=["model", "family", "capacity", "alignment", "quantisation"],
).set_index("model")


@pytest.mark.parametrize(
    ("attribute", "pairs"),
    [
        ("capacity", [("7b", "13b")]),
        ("alignment", [("7b", "dpo-7b"), ("7b-awq", "dpo-7b-awq")]),
        ("quantisation", [("7b", "7b-awq"), ("dpo-7b", "dpo-7b-awq")]),
        ("alignment+quantisation", [("7b", "dpo-7b-awq")]),
        ("family", []),
    ],
)
def test_pairs_differ_in_one_attribute_only(attribute, pairs):
    found = hypotheses.factor_pairs(REGISTRY, attribute)
    assert list(zip(found["model_a"], found["model_b"], strict=True)) == pairs


def test_pairs_say_their_levels_and_the_base_comes_first():
    for table in (REGISTRY, REGISTRY.iloc[::-1]):
        (row,) = hypotheses.factor_pairs(table, "alignment+quantisation").itertuples()
        assert (row.model_a, row.level_a, row.model_b, row.level_b) == (
            *("7b", "none+none"),
            *("dpo-7b-awq", "dpo+awq"),
        )
    (sizes,) = hypotheses.factor_pairs(REGISTRY, "capacity").itertuples()
    assert (sizes.level_a, sizes.level_b) == ("7", "13")  # a column of floats, as one model has none
    # An attribute that is not published is the same as nothing.
    two = pd.DataFrame({"capacity": [None, None], "alignment": ["none", "dpo"]}, index=["x", "y"])
    assert hypotheses.factor_pairs(two, "alignment").empty
    assert len(hypotheses.factor_pairs(two[["alignment"]], "alignment")) == 1
