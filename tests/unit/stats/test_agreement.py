"""Agreement between models: worked examples, and kappa against another implementation."""

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.stats import agreement


@pytest.fixture
def values():
    return pd.DataFrame({"a": [1, 1, -1, 2, np.nan], "b": [1.0, 2, -2, -1, 1], "c": [1.0, 1, 0, 2, 1]})


def test_common_norms_by_hand(values):
    sets = {"all": ["a", "b", "c"], "a and c": ["a", "c"], "b alone": ["b"]}
    found = agreement.common(values, sets, 0.0).set_index("set")
    columns = ["models", "flows", "n_all", "n_same", "n_same_sign"]
    assert found.loc["all", columns].tolist() == [3, 5, 4, 1, 2]
    assert found.loc["a and c", columns].tolist() == [2, 5, 4, 3, 3]
    assert found.loc["a and c", ["share_same", "share_same_sign"]].tolist() == [0.75, 0.75]
    assert found.loc["all", ["share_same", "share_same_sign"]].tolist() == [0.25, 0.5]
    assert found.loc["b alone", "status"] == "one_model"
    assert np.isnan(found.loc["b alone", "share_same"])
    with pytest.raises(ConfigError, match=r"models \['z'\]"):
        agreement.common(values, {"x": ["a", "z"]}, 0.0)


def test_pairs_by_hand(values):
    found = agreement.pairs(values).set_index(["model_a", "model_b"])
    assert found.index.tolist() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.loc[("a", "b"), ["n_flows", "agreement", "mean_difference"]].tolist() == [4, 0.25, 0.75]
    assert found.loc[("b", "c"), "n_flows"] == 5


def test_kappa_weighs_by_the_distance_of_the_levels():
    """Levels -2, -1 and 2, once each on either side: worked by hand."""
    row = agreement.pairs(pd.DataFrame({"a": [-2.0, -1, 2], "b": [-2.0, 2, -1]})).iloc[0]
    assert row["kappa_linear"] == pytest.approx(1 - (3 + 3) / ((1 + 4 + 1 + 3 + 4 + 3) / 3))
    assert row["kappa_quadratic"] == pytest.approx(1 - (9 + 9) / ((1 + 16 + 1 + 9 + 16 + 9) / 3))


def test_pairs_say_when_kappa_is_undefined():
    same = agreement.pairs(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0]})).iloc[0]
    assert (same["status"], same["agreement"]) == ("no_variance", 1)
    assert np.isnan(same["kappa_linear"])
    apart = agreement.pairs(pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, 1.0]})).iloc[0]
    assert (apart["status"], apart["n_flows"]) == ("no_flows", 0)
    assert np.isnan(apart["agreement"])
