"""Rater intercepts on people's ratings, against R's ordinal::clmm (tests/reference/ratings_reference.R)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.clm import fit_clmm

from ....shared_ratings import confaide, needs_ratings

REFERENCE = Path(__file__).parents[3] / "reference/ratings_reference.csv"
CUTS = {"-100|-50": "-2|-1", "-50|0": "-1|0", "0|50": "0|1", "50|100": "1|2"}


@needs_ratings
@pytest.mark.parametrize("tier", ["2a", "2b"])
@pytest.mark.parametrize("groups", [("rater",), ("flow", "rater")])
def test_rater_intercepts_equal_r_clmm(tier: str, groups: tuple[str, ...]) -> None:
    reference = pd.read_csv(REFERENCE).query(f"model == '{tier}_{'_'.join(groups)}'")
    expected = reference.replace({"parameter": CUTS}).set_index("parameter")
    fit = fit_clmm(confaide(tier), "value", ["type"], groups if len(groups) > 1 else groups[0])
    assert fit.status == "ok"
    names = [*fit.thresholds["threshold"], *fit.coefficients["level"]]
    assert set(names) == set(expected.index) - {"logLik", "sd_rater", "sd_flow"}
    for column in ("estimate", "std_err"):
        found = np.concatenate([fit.thresholds[column], fit.coefficients[column]])
        np.testing.assert_allclose(found, expected.loc[names, column], atol=5e-4)
    for name in groups:
        assert fit.sd[name] == pytest.approx(expected.loc[f"sd_{name}", "estimate"], abs=5e-4)
    assert fit.log_likelihood == pytest.approx(expected.loc["logLik", "estimate"], abs=1e-3)
