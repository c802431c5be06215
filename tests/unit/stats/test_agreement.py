"""Agreement between models: worked examples, and kappa against another implementation."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from cinorms.core.errors import ConfigError
from cinorms.norms.thresholds import Thresholds
from cinorms.stats import agreement
from cinorms.stats.wordings import level_counts

from ...scales import ACCEPTABILITY, LEVELS
from .made import matrix


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
    assert found.loc["b alone", ["share_same", "share_same_sign"]].isna().all()
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


def test_kappa_is_that_of_statsmodels():
    values = pd.DataFrame(
        np.random.default_rng(1).choice([-2.0, -1, 1, 2, np.nan], (90, 2)), columns=["a", "b"]
    )
    table = pd.crosstab(values["a"], values["b"])
    for wt in ("linear", "quadratic"):
        theirs = cohens_kappa(table, table.index, wt=wt, return_results=False)
        assert agreement.pairs(values)[f"kappa_{wt}"].tolist() == [pytest.approx(theirs, abs=1e-12)]


def test_pairs_say_when_kappa_is_undefined():
    same = agreement.pairs(pd.DataFrame({"a": [1.0, 1.0], "b": [1.0, 1.0]})).iloc[0]
    assert (same["status"], same["agreement"]) == ("no_variance", 1)
    assert np.isnan(same["kappa_linear"])
    apart = agreement.pairs(pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, 1.0]})).iloc[0]
    assert (apart["status"], apart["n_flows"]) == ("no_flows", 0)
    assert np.isnan(apart["agreement"])


def counts_of(x):
    return level_counts(*matrix(x), ACCEPTABILITY)


def test_a_model_differs_from_itself_where_its_wordings_do(monkeypatch):
    monkeypatch.setattr(agreement, "CUTS", 200)
    needs = Thresholds(1, 0.5, "strict")
    same = np.repeat(np.array([-2.0, 0, 1])[:, None, None], 6, axis=1)

    def reworded(x):
        return agreement.pairs(agreement.halves(counts_of(x), needs, LEVELS)).iloc[0]

    same_norm, kappa = reworded(same)[["agreement", "kappa_quadratic"]]
    assert (same_norm, kappa) == (1, pytest.approx(1))
    # Of six templates, one answers 2 to the first flow and five -1: a half has one level, except for the other one.
    same[0, :, 0] = -1
    same[0, 0, 0] = 2
    assert reworded(same)["agreement"] == 1
    same[0, :3, 0] = 2  # as many of both: two halves of three that share none are always apart
    same_norm, kappa = reworded(same)[["agreement", "kappa_quadratic"]]
    assert same_norm == pytest.approx(2 / 3)
    # Both halves are 2 in half of the cuts and -1 in the others: nine levels squared of three flows, by chance 1.5.
    chance = np.mean([(a - b) ** 2 for a in (2, -1, 0, 0, 1, 1) for b in (2, -1, 0, 0, 1, 1)])
    assert kappa == pytest.approx(1 - 9 / 3 / chance, abs=0.05)
    same[0, :2, 0] = 1
    same[0, 2:, 0] = 2  # two of six: the halves differ where both are in one of them, which is 2 of 5 times
    assert reworded(same)["agreement"] == pytest.approx(1 - 1 / 3 * 2 / 5, abs=0.03)
    assert [agreement.halves(counts_of(same[:, :n]), needs, LEVELS).empty for n in (3, 4)] == [True, False]
