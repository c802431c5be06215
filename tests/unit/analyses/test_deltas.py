"""Privacy bias and delta: what is held next to what is expected."""

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.deltas import mean_delta
from cinorms.entries.entry import Selected
from cinorms.norms.assessment import held
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import ANSWERS, SMALL, USUAL, VIGNETTES, norms_of, run

POINTS = DatasetFactors("d", ("a",), expected_range=(-100, 100))


def test_privacy_bias_is_a_row_per_flow_with_what_is_expected(tmp_path):
    stated = tmp_path / "expected.csv"
    stated.write_text("recipient,sender,expected,note\npolice,,-2,law\npolice,robot,1,\n", encoding="utf-8")
    ours = run("privacy_bias", SMALL, expected=str(stated)).set_index("flow")
    found, flows = held(norms_of(ANSWERS["small"]), USUAL).set_index("flow"), VIGNETTES.set_index("flow")
    pd.testing.assert_series_equal(ours["value"], found["value"], check_dtype=False)
    by_rule = np.where(flows["sender"] == "robot", 1.0, -2.0)
    np.testing.assert_array_equal(ours["expected"], np.where(flows["recipient"] == "police", by_rule, np.nan))
    both = ours.dropna(subset=["value", "expected"])
    assert (both["delta"] == both["value"] - both["expected"]).all()
    assert len(both)
    without = {"no_expected", "no_majority", "tie", "below_t_val"}
    assert set(ours.loc[ours["recipient"] == "maker", "delta_status"]) <= without


def test_mean_delta_is_the_mean_answer_less_the_expected_value():
    far = pd.DataFrame({"flow": [0, 1, 2, 3], "mean": [1.0, -2.0, 0.5, np.nan], "n_valid": [3, 1, 3, 0]})
    near, expected = far.assign(mean=[0.1, 0.1, 0.1, 0.1], n_valid=1), [0.0, -50.0, np.nan, 10.0, 20.0]
    vignettes = pd.DataFrame({"flow": range(5), "a": list("vwxyz"), "expected": expected})
    selected = [Selected("c", "far", far), Selected("c", "near", near)]
    # 30 valid answers would make a norm.
    entry = make_entry(
        "analyses", "mean_delta", {}, [one.pair for one in selected], t_val=30, factors_of={"c": POINTS}
    )
    table = mean_delta(selected, entry, {"c": vignettes}).set_index("model")
    assert table.loc["far", "mean_signed"] == pytest.approx(((50 - 0) + (-100 + 50)) / 2)
    assert table.loc["far", "mean_absolute"] == pytest.approx(50)
    assert table.loc["far", ["n", "n_missing", "status"]].tolist() == [2, 2, "ok"]
    assert table.loc["near", "mean_signed"] == pytest.approx((5 + 55 - 5) / 3)
    assert table["from_zero"].tolist() == [1, 2]
