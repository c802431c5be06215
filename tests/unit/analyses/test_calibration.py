"""Calibration: norms and coefficients planted, compared with those recovered."""

import pandas as pd
import pytest

from cinorms.analyses.calibration import calibration
from cinorms.entries.entry import Selected
from cinorms.norms.assessment import held
from cumulink import clm

from .made import ANSWERS, EFFECT, PLANTED_LEVEL, SMALL, USUAL, VIGNETTES, entry_for, norms_of, run


def test_calibration_compares_norms_and_coefficients_with_what_was_planted():
    row, value = run("calibration", SMALL).iloc[0], held(norms_of(ANSWERS["small"]), USUAL)["value"]
    assert row["kept"] == value.count()
    assert row["share_same"] == pytest.approx((value == PLANTED_LEVEL - 2).mean())
    terms = clm("level ~ sender + place + recipient", VIGNETTES.assign(level=PLANTED_LEVEL)).coefficients
    apart = terms["level"].map(EFFECT) - terms["baseline"].map(EFFECT)
    assert row["terms_planted"] == len(terms) == 4
    assert row["inside_planted"] == apart.between(terms["conf_low"], terms["conf_high"]).sum()
    assert row["coverage_planted"] == row["inside_planted"] / 4


def test_a_model_that_was_asked_and_a_control_have_nothing_planted():
    pair, none = ("main", "small"), VIGNETTES[["flow"]].assign(level=pd.Series(pd.NA, dtype="Int8"))
    selected, entry = [Selected(*pair, norms_of(ANSWERS["small"]))], entry_for("calibration", ["small"])
    for planted, coefficients, status in (
        ({}, {}, "not_planted"),
        ({pair: none}, {pair: {"coefficients": []}}, "none_planted"),
    ):
        facts = {"planted": planted, "coefficients": coefficients}
        (row,) = calibration(selected, entry, vignettes={"main": VIGNETTES}, **facts).to_dict("records")
        assert row["status"] == status
        assert pd.isna(row["coverage"])
