"""Agreement between models: worked examples, and kappa against another implementation."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds
from cinorms.stats import agreement

from ...scales import ACCEPTABILITY


def norms_of(values):
    """Return norms whose flows hold the given values; None: two answers that tie."""
    rows = []
    for flow, value in enumerate(values):
        for variant, level in enumerate([-2, 2] if value is None else [value, value]):
            rows.append((flow, str(variant), level, "ok"))
    frame = pd.DataFrame(rows, columns=["flow", "variant", "level", "status"])
    return assessment.assess(frame, "strict", ACCEPTABILITY)


@pytest.fixture
def values():
    tables = {
        "a": norms_of([1, 1, -1, 2, None]),
        "b": norms_of([1, 2, -2, -1, 1]),
        "c": norms_of([1, 1, 0, 2, 1]),
    }
    return agreement.value_matrix(tables, Thresholds(0, "plurality", "strict"))


def test_value_matrix_has_all_flows_and_no_value_where_there_is_no_norm(values):
    assert values.shape == (5, 3)
    assert np.isnan(values.loc[4, "a"])
    assert values.loc[3].tolist() == [2, -1, 2]


def test_models_asked_different_flows_are_joined_by_flow():
    tables = {"a": norms_of([1, 2, 0]), "b": norms_of([1, 2, 0]).iloc[1:]}
    values = agreement.value_matrix(tables, Thresholds(0, "plurality", "strict"))
    assert np.isnan(values.loc[0, "b"])
    assert agreement.common(values, {"both": ["a", "b"]}, 0.0)[
        ["flows", "n_all", "n_same"]
    ].values.tolist() == [[3, 2, 2]]


def test_common_norms_by_hand(values):
    sets = {"all": ["a", "b", "c"], "a and c": ["a", "c"], "b alone": ["b"]}
    found = agreement.common(values, sets, 0.0).set_index("set")
    columns = ["models", "flows", "n_all", "n_same", "n_same_sign"]
    assert found.loc["all", columns].tolist() == [3, 5, 4, 1, 2]
    assert found.loc["a and c", columns].tolist() == [2, 5, 4, 3, 3]
    assert found.loc["a and c", "share_same"] == 0.75
    assert found.loc["b alone", "status"] == "one_model"
    assert np.isnan(found.loc["b alone", "share_same"])
    with pytest.raises(ConfigError, match=r"models \['z'\]"):
        agreement.common(values, {"x": ["a", "z"]}, 0.0)


def test_pairs_by_hand(values):
    found = agreement.pairs(values).set_index(["model_a", "model_b"])
    assert found.index.tolist() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.loc[("a", "b"), "n_flows"] == 4
    assert found.loc[("a", "b"), "agreement"] == 0.25
    assert found.loc[("a", "b"), "mean_difference"] == 0.75
    assert found.loc[("b", "c"), "n_flows"] == 5


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_weighted_kappa_agrees_with_statsmodels(weights):
    from statsmodels.stats.inter_rater import cohens_kappa

    table = np.random.default_rng(4).integers(0, 20, (5, 5)).astype(float)
    expected = cohens_kappa(table, wt=weights, return_results=False)
    assert agreement.weighted_kappa(table, np.arange(5), weights) == pytest.approx(expected)
    assert agreement.weighted_kappa(np.diag([3.0, 0, 2, 0, 1]), np.arange(5), weights) == 1


def test_pairs_say_when_kappa_is_undefined():
    same = agreement.pairs(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0]})).iloc[0]
    assert (same["status"], same["agreement"]) == ("no_variance", 1)
    assert np.isnan(same["kappa_linear"])
    apart = agreement.pairs(pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, 1.0]})).iloc[0]
    assert (apart["status"], apart["n_flows"]) == ("no_flows", 0)
    assert np.isnan(apart["agreement"])
    assert agreement.pairs(pd.DataFrame({"a": [1.0]})).empty
