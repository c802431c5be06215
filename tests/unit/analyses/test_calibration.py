"""Calibration: norms and coefficients planted, compared with those recovered."""

import pandas as pd
import pytest

from cinorms.analyses.calibration import calibration
from cinorms.entries.entry import Selected
from cinorms.norms import assessment

from .made import ANSWERS, PLANTED_LEVEL, SMALL, USUAL, VIGNETTES, entry_for, norms_of, run


def test_calibration_compares_norms_and_coefficients_with_what_was_planted():
    row = run("calibration", SMALL).iloc[0]
    frame = norms_of(ANSWERS["small"])
    kept = (assessment.status(frame, USUAL) == "kept").to_numpy()
    same = (frame["value"].astype("float64") == PLANTED_LEVEL - 2)[kept]
    assert row["kept"] == kept.sum()
    assert row["share_same"] == pytest.approx(same.mean())
    terms = run("calibration_coefficients", SMALL)
    planted = terms[terms["source"] == "planted"]
    assert row["terms_planted"] == len(planted) == 4
    assert row["coverage_planted"] == pytest.approx(planted["inside"].mean())


def test_a_linked_level_has_the_sum_of_its_parts_planted():
    terms = run("calibration_coefficients", SMALL, baselines={"recipient": "police"})
    planted = terms[terms["source"] == "planted"].set_index("factor")
    assert planted.loc["place + inference", "planted"] in (0.5, -0.5)
    assert planted.loc["recipient", ["level", "planted"]].tolist() == ["maker", 1.2]


def test_a_model_that_was_asked_and_a_control_have_nothing_planted():
    frame = [Selected("main", "small", norms_of(ANSWERS["small"]))]
    entry = entry_for("calibration", ["small"])
    asked = calibration(frame, entry, vignettes={"main": VIGNETTES}, planted={}, coefficients={})
    assert asked["status"].tolist() == ["not_planted"]
    pair, none = ("main", "small"), VIGNETTES[["flow"]].assign(level=pd.Series(pd.NA, dtype="Int8"))
    facts = {"planted": {pair: none}, "coefficients": {pair: {"coefficients": []}}}
    control = calibration(frame, entry, vignettes={"main": VIGNETTES}, **facts)
    assert control["status"].tolist() == ["none_planted"]
    assert control["coverage"].isna().all()
