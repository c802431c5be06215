"""Linear mixed models: against R, against statsmodels, against matrices written out; and intervals that cover."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from cinorms.core.errors import DataError
from cinorms.stats.linear_mixed import INTERCEPT, fit_linear_mixed

from ...shared_ratings import CHATBOT_BASELINES, CHATBOT_FACTORS, chatbot, needs_ratings

REFERENCE = Path(__file__).parents[2] / "reference/ratings_reference.csv"


def made(rng: np.random.Generator, raters: int, flows: int, sd: float = 8.0) -> pd.DataFrame:
    """Return ratings of which each rater gives one to each flow: a high recipient adds 5, a rater and a flow noise."""
    rater, flow = np.divmod(np.arange(raters * flows), flows)
    own, of_flow = rng.normal(0, sd, raters), rng.normal(0, 3, flows)
    value = 40 + 5 * (flow % 3 == 1) + own[rater] + of_flow[flow] + rng.normal(0, 10, len(flow))
    recipient = np.array(["doctor", "shop", "state"])[flow % 3]
    return pd.DataFrame({"rater": rater, "flow": flow, "recipient": recipient, "value": value})


@needs_ratings
@pytest.mark.parametrize("outcome", ["appropriate_score", "concern_score"])
def test_the_chatbot_survey_equals_r_lmer_with_cluster_robust_errors(outcome):
    expected = pd.read_csv(REFERENCE).query("model == @outcome").set_index("parameter")
    fit = fit_linear_mixed(chatbot(), outcome, CHATBOT_FACTORS, "rater", ["rater"], CHATBOT_BASELINES)
    names = fit.terms["factor"] + fit.terms["level"]
    assert len(names) == 24
    np.testing.assert_allclose(fit.terms["estimate"], expected.loc[names, "estimate"], atol=1e-4)
    np.testing.assert_allclose(np.sqrt(fit.variances()), expected.loc[names, "std_err"], atol=1e-4)
    assert fit.sd_group**2 == pytest.approx(expected.loc["var_rater", "estimate"], rel=1e-4)
    assert fit.sd_residual**2 == pytest.approx(expected.loc["var_residual", "estimate"], rel=1e-4)
    assert (fit.n, fit.count("rater")) == (9000, 300)


def test_equals_statsmodels_reml():
    from statsmodels.regression.mixed_linear_model import MixedLM

    frame = made(np.random.default_rng(1), 12, 30)
    x = np.column_stack([np.ones(len(frame)), frame["recipient"] == "shop", frame["recipient"] == "state"])
    expected = MixedLM(frame["value"], x.astype(float), frame["rater"]).fit(reml=True, gtol=1e-10)
    fit = fit_linear_mixed(frame, "value", ["recipient"], "rater", ["rater"], {})
    np.testing.assert_allclose(fit.terms["estimate"], expected.fe_params, atol=1e-4)
    assert fit.sd_group**2 == pytest.approx(float(expected.cov_re.iloc[0, 0]), rel=1e-3)
    assert fit.sd_residual**2 == pytest.approx(expected.scale, rel=1e-3)


def test_robust_variances_equal_those_of_matrices_written_out():
    frame = made(np.random.default_rng(2), 6, 9).drop(index=[0, 7, 20]).reset_index(drop=True)
    fit = fit_linear_mixed(frame, "value", ["recipient"], "rater", ["rater", "flow"], {})
    x = (
        np.column_stack([np.ones(len(frame)), frame["recipient"] == "shop", frame["recipient"] == "state"])
        * 1.0
    )
    same = frame["rater"].to_numpy()[:, None] == frame["rater"].to_numpy()
    inverse = np.linalg.inv(np.eye(len(frame)) * fit.sd_residual**2 + same * fit.sd_group**2)
    bread = np.linalg.inv(x.T @ inverse @ x)
    beta = bread @ x.T @ inverse @ frame["value"]
    np.testing.assert_allclose(fit.terms["estimate"], beta, rtol=1e-8)
    # The coefficients differ from the true ones by bread @ (inverse @ x).T @ errors: this is what each row adds.
    scores = (inverse @ x) * (frame["value"] - x @ beta).to_numpy()[:, None]

    def variance(keys: list[str]) -> np.ndarray:
        by = pd.DataFrame(scores).groupby([frame[key] for key in keys]).sum().to_numpy()
        return np.diag(bread @ (by.T @ by) @ bread) * len(by) / (len(by) - 1)

    parts = [variance(["rater"]), variance(["flow"])]
    expected = np.maximum.reduce([sum(parts) - variance(["rater", "flow"]), *parts])
    np.testing.assert_allclose(fit.variances(), expected, rtol=1e-6)


def test_what_cannot_be_fitted_is_said():
    frame = made(np.random.default_rng(3), 4, 6)
    with pytest.raises(DataError, match="cannot be told apart"):
        fit_linear_mixed(
            frame.assign(twin=frame["recipient"]), "value", ["recipient", "twin"], "rater", ["rater"], {}
        )
    with pytest.raises(DataError, match="all rows have one rater"):
        fit_linear_mixed(frame.assign(rater=0), "value", ["recipient"], "rater", ["rater"], {})
    assert fit_linear_mixed(frame, "value", [], "rater", ["rater"], {}).terms["factor"].tolist() == [
        INTERCEPT
    ]


@pytest.mark.slow
def test_intervals_cover_over_raters_and_flows():
    """Planted: shops get 5 more. Raters and flows are drawn anew each time, so both must be in the interval."""
    covered, rng, times = 0, np.random.default_rng(4), 200
    for _ in range(times):
        fit = fit_linear_mixed(made(rng, 25, 60), "value", ["recipient"], "rater", ["rater", "flow"], {})
        reach = stdtrit(fit.freedom, 0.975) * np.sqrt(fit.variances()[1])
        covered += abs(fit.terms["estimate"].iloc[1] - 5) <= reach
    assert 0.93 <= covered / times <= 0.97
