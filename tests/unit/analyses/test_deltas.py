"""Privacy bias and delta: what is held next to what is expected, flow by flow and slice by slice."""

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.deltas import mean_delta
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import ANSWERS, USUAL, VIGNETTES, norms_of, run


def test_privacy_bias_is_a_row_per_flow_with_what_is_expected(tmp_path):
    stated = tmp_path / "expected.csv"
    stated.write_text("recipient,sender,expected,note\npolice,,-2,law\npolice,robot,1,\n", encoding="utf-8")
    table = run("privacy_bias", expected=str(stated))
    assert len(table) == len(ANSWERS) * len(VIGNETTES)
    ours = table[table["model"] == "small"].set_index("flow")
    found = norms_of(ANSWERS["small"]).set_index("flow")
    held = found["value"].where(assessment.status(found, USUAL) == "kept").reindex(ours.index)
    assert ours["value"].isna().tolist() == held.isna().tolist()
    assert ours["value"].dropna().astype(int).tolist() == held.dropna().astype(int).tolist()
    flows = VIGNETTES.set_index("flow").loc[ours.index]
    by_rule = np.where(flows["sender"] == "robot", 1.0, -2.0)
    np.testing.assert_array_equal(ours["expected"], np.where(flows["recipient"] == "police", by_rule, np.nan))
    both = ours.dropna(subset=["value", "expected"])
    assert (both["delta"] == both["value"] - both["expected"]).all()
    assert len(both)
    without = {"no_expected", "no_majority", "tie", "below_t_val"}
    assert set(ours.loc[ours["recipient"] == "maker", "delta_status"]) <= without


def mean_deltas(
    norms: dict[str, pd.DataFrame], vignettes: pd.DataFrame, expected_range: tuple[float, float] | None
) -> pd.DataFrame:
    """Return the mean deltas of models whose flows have the factor ``a``; 30 valid answers would make a norm."""
    selected = [Selected("c", model, frame) for model, frame in norms.items()]
    entry = make_entry(
        "analyses",
        "mean_delta",
        {},
        [("c", model) for model in norms],
        t_val=30,
        factors_of={"c": DatasetFactors("d", ("a",), expected_range=expected_range)},
    )
    return mean_delta(selected, entry, {"c": vignettes})


def test_mean_delta_is_the_mean_answer_less_the_expected_value():
    norms = pd.DataFrame({"flow": [0, 1, 2, 3], "mean": [1.0, -2.0, 0.5, np.nan], "n_valid": [3, 1, 3, 0]})
    other = norms.assign(mean=[0.1, 0.1, 0.1, 0.1], n_valid=1)
    vignettes = pd.DataFrame(
        {"flow": [0, 1, 2, 3, 4], "a": list("vwxyz"), "expected": [0.0, -50.0, np.nan, 10.0, 20.0]}
    )
    table = mean_deltas({"far": norms, "near": other}, vignettes, (-100, 100)).set_index("model")
    assert table.loc["far", "mean_signed"] == pytest.approx(((50 - 0) + (-100 + 50)) / 2)
    assert table.loc["far", "mean_absolute"] == pytest.approx(50)
    assert table.loc["far", ["n", "n_missing", "status"]].tolist() == [2, 2, "ok"]
    assert table.loc["near", "mean_signed"] == pytest.approx((5 + 55 - 5) / 3)
    assert table["from_zero"].tolist() == [1, 2]
