"""Calibration: norms and coefficients planted, compared with those recovered."""

import pandas as pd
import pytest

from cinorms.analyses.calibration import calibration
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cumulink import clm

from .made import ANSWERS, EFFECT, PLANTED_LEVEL, SMALL, USUAL, VIGNETTES, entry_for, norms_of, run


def test_calibration_compares_norms_and_coefficients_with_what_was_planted():
    row = run("calibration", SMALL).iloc[0]
    frame = norms_of(ANSWERS["small"])
    kept = (assessment.status(frame, USUAL) == "kept").to_numpy()
    same = (frame["value"].astype("float64") == PLANTED_LEVEL - 2)[kept]
    assert row["kept"] == kept.sum()
    assert row["share_same"] == pytest.approx(same.mean())
    frame = VIGNETTES.assign(level=PLANTED_LEVEL)
    terms = clm("level ~ sender + place + recipient", frame).coefficients
    apart = terms["level"].map(EFFECT) - terms["baseline"].map(EFFECT)
    assert row["terms_planted"] == len(terms) == 4
    assert row["inside_planted"] == apart.between(terms["conf_low"], terms["conf_high"]).sum()
    assert row["coverage_planted"] == row["inside_planted"] / 4


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
