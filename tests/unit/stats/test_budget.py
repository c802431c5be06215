"""The budget: predictions against sub-sampling, with and without missing answers."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.core.errors import ConfigError
from cinorms.norms import assessment
from cinorms.published import frames
from cinorms.stats import budget, reliability

MIRROR = Path(os.environ.get("CINORMS_MIRROR", ""))
KS = [1, 3, 5, 9, 15]


def pilot(seed=0, flows=400, variants=33, missing=0.0):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, (flows, 1)) + rng.normal(0, rng.uniform(0.2, 1.5, (flows, 1)), (flows, variants))
    x[rng.random(x.shape) < missing * rng.random((flows, 1)) * 2] = np.nan
    return pd.DataFrame(x, columns=[f"{i}_0" for i in range(variants)])


def test_without_missing_answers_the_prediction_is_the_formula():
    levels = pilot()
    rms = np.sqrt(levels.var(axis=1, ddof=1).mean())
    k = np.array(KS)
    found = budget.predicted(levels, KS, of=33)
    assert found["rmse"].to_numpy() == pytest.approx(rms * np.sqrt(1 / k - 1 / 33))
    assert budget.predicted(levels, KS)["rmse"].to_numpy() == pytest.approx(rms / np.sqrt(k))
    assert found["n_flows"].tolist() == [400] * 5


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_prediction_is_what_sub_sampling_shows(missing):
    levels = pilot(missing=missing)
    found = budget.observed(levels, [*KS, 33], seed=1, draws=200)
    assert found["rmse"].to_numpy()[:-1] == pytest.approx(
        budget.predicted(levels, KS, of=33)["rmse"], rel=0.03
    )
    assert found["rmse"].iloc[-1] == pytest.approx(0, abs=1e-12)
    assert budget.observed(levels, KS, seed=1)["rmse"].equals(budget.observed(levels, KS, seed=1)["rmse"])


def test_what_cannot_be_predicted_says_why():
    assert budget.predicted(pilot(), [40], of=33)["status"].tolist() == ["too_many"]
    assert budget.observed(pilot(), [40], seed=1)["status"].tolist() == ["too_many"]
    one = pilot(variants=1)
    for found in (budget.predicted(one, [1]), budget.observed(one, [1], seed=1), budget.needed(one, 0.2)):
        assert set(found["status"]) == {"one_variant"}
    assert budget.needed(one, 0.2)["ask"].isna().all()


def test_needed_variants_reach_the_target():
    levels = pd.DataFrame(np.tile([1.0, -1.0, 1.0, -1.0], (10, 1)), columns=list("abcd"))  # S^2 = 4/3
    found = budget.needed(levels, 0.5).set_index("flows")
    assert found["valid"].tolist() == [6, 6, 6, 6]  # 4/3 / 0.25 = 5.33
    assert (
        budget.predicted(levels, [6])["rmse"].iloc[0] <= 0.5 < budget.predicted(levels, [5])["rmse"].iloc[0]
    )
    exact = budget.needed(levels, np.sqrt(4 / 3) / 2)
    assert exact["valid"].tolist() == [4] * 4
    levels.iloc[:, 3] = np.nan
    assert budget.needed(levels, 0.5)["ask"].iloc[0] == np.ceil(
        budget.needed(levels, 0.5)["valid"].iloc[0] / 0.75
    )
    with pytest.raises(ConfigError, match="target standard error 0"):
        budget.needed(levels, 0)


@given(st.floats(0.02, 2), st.floats(1.01, 3))
@settings(max_examples=30, deadline=None)
def test_a_stricter_target_never_needs_fewer(target, factor):
    levels = pilot(flows=20, variants=6)
    strict, loose = budget.needed(levels, target), budget.needed(levels, target * factor)
    assert (strict["valid"] >= loose["valid"]).all()


def test_the_design_grid_by_hand():
    shares = pd.DataFrame(
        {"source": reliability.SOURCES, "variance": [1.0, 0.4, -0.1, 0.6], "share": np.nan, "status": "ok"}
    )
    found = budget.design_grid(shares, [1, 4], [1, 3]).set_index(["templates", "orders"])
    assert found.loc[(4, 3), "variants"] == 12
    assert found.loc[(4, 3), "relative"] == pytest.approx(np.sqrt(0.6 / 12))
    assert found.loc[(4, 3), "absolute"] == pytest.approx(np.sqrt(0.4 / 4 + 0.6 / 12))
    assert found.loc[(1, 3), "absolute"] == pytest.approx(np.sqrt(0.4 + 0.2))
    shares.loc[3, ["variance", "status"]] = [np.nan, "one_order"]
    unknown = budget.design_grid(shares, [1], [1])
    assert unknown["status"].tolist() == ["one_order"]
    assert unknown["relative"].isna().all()


@pytest.mark.published
@pytest.mark.skipif("CINORMS_MIRROR" not in os.environ, reason="CINORMS_MIRROR is not set")
@pytest.mark.parametrize("model", ["Meta-Llama-3.1-8B-Instruct", "tulu-2-7b", "tulu-2-dpo-13b"])
def test_the_prediction_holds_on_the_published_answers(model):
    frame = frames.read_frame(MIRROR / "responses" / "pivot_prompt_df_without_NA_regular_run.pkl.lzma")
    vignettes = frames.read_vignettes(MIRROR / "vignettes" / "iot.csv")
    levels = assessment.level_matrix(frames.to_answers(frame, model, vignettes))
    found = budget.observed(levels, KS, seed=1, draws=100)
    assert found["rmse"].to_numpy() == pytest.approx(budget.predicted(levels, KS, of=33)["rmse"], rel=0.06)
