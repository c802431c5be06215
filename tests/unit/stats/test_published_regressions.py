"""Ordinal regressions of published answers and of people's ratings, against R's `ordinal` and the printed table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.norms import assessment
from cumulink import clm, clmm

from ...scales import ACCEPTABILITY
from ...shared_ratings import confaide, needs_ratings

REFERENCE = Path(__file__).parents[2] / "reference"
MODELS = {"gpt-4o-mini": "gpt-4o-mini-8B", "llama-3.1-8B": "Meta-Llama-3.1-8B-Instruct"}
BASELINES = {
    "sender": "a fitness tracker",
    "infotype": "owner's exercise routine",
    "recipient": "owner's immediate family",
    "transmission": "if the information is used to develop new features for the device",
}
FORMULA = f"value ~ {' + '.join(BASELINES)}"
#: Thresholds of R and of this project, whose levels are points divided by 50.
CUTS = {"-100|-50": "-2|-1", "-50|0": "-1|0", "0|50": "0|1", "50|100": "1|2"}


@pytest.fixture(scope="module")
def norms(published: Callable[[str], pd.DataFrame], iot: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the factors of each flow and its norm by the papers' rule, as text and Int8."""
    return {
        name: iot.merge(assessment.assess(published(model), "papers", ACCEPTABILITY), on="flow")
        for name, model in MODELS.items()
    }


def test_newton_on_the_published_responses(norms):
    fit = clm(FORMULA, norms["gpt-4o-mini"], baselines=BASELINES)
    assert fit.levels == (-2, -1, 1, 2)
    assert len(fit.coefficients) == 33
    assert fit.log_likelihood == pytest.approx(-3078.0269337, abs=1e-6)


def test_the_published_models_use_the_scale_differently(published):
    """R's clm(y ~ model, scale = ~ model, gradTol = 1e-10)."""
    models = ["Meta-Llama-3.1-8B-Instruct", "tulu-2-7b", "tulu-2-13b", "tulu-2-dpo-7b", "tulu-2-dpo-13b"]
    parts = [published(model).assign(model=model) for model in models]
    answers = pd.concat([part[part["flow"] % 28 == 0] for part in parts], ignore_index=True)
    plain, fit = (clm("level ~ model", answers, scale=scale) for scale in (None, "model"))
    assert fit.n == 37_681
    assert 2 * (fit.log_likelihood - plain.log_likelihood) == pytest.approx(6283.03464765, abs=1e-6)
    last = [part.set_index("level").loc["tulu-2-dpo-13b"] for part in (fit.coefficients, fit.scale)]
    assert last[0][["estimate", "std_err"]].tolist() == pytest.approx([2.050740956235, 0.055052387715])
    assert last[1][["estimate", "std_err"]].tolist() == pytest.approx([0.450956849759, 0.019299481756])
    assert plain.coefficients.set_index("level").loc["tulu-2-dpo-13b", "estimate"] == pytest.approx(0.8756622)


@needs_ratings
@pytest.mark.parametrize("tier", ["2a", "2b"])
@pytest.mark.parametrize("groups", [("rater",), ("flow", "rater")])
def test_rater_intercepts_of_peoples_ratings_equal_r_clmm(tier, groups):
    reference = pd.read_csv(REFERENCE / "ratings_reference.csv").query(
        f"model == '{tier}_{'_'.join(groups)}'"
    )
    expected = reference.replace({"parameter": CUTS}).set_index("parameter")
    fit = clmm("value ~ type" + "".join(f" + (1 | {group})" for group in groups), confaide(tier))
    names = fit.params.index.str.removeprefix("type[T.").str.removesuffix("]")
    for column, found in (("estimate", fit.params), ("std_err", fit.bse)):
        np.testing.assert_allclose(found, expected.loc[names, column], atol=5e-4)
    for group, sd in fit.sd.items():
        np.testing.assert_allclose(sd, expected.loc[f"sd_{group}", "estimate"], atol=5e-4)
    np.testing.assert_allclose(fit.log_likelihood, expected.loc["logLik", "estimate"], atol=1e-3)
