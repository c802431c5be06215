"""Answers of two models that are alike, for the tests of how often a difference is found."""

import numpy as np
import pandas as pd

from cinorms.stats.clm import ClmFit, ClmmFit


def two_models(
    rng: np.random.Generator, templates: int, wording: float, shift: float = 0.0, own_flow: float = 0.3
) -> pd.DataFrame:
    """Return answers of two models about 72 flows, in three orders: each has its own effect of a wording (sd).

    On the latent scale, whose noise is logistic with scale 0.6; each also has its own effect of a flow.
    """
    flow, template, _ = (
        part.ravel() for part in np.meshgrid(range(72), range(templates), range(3), indexing="ij")
    )
    of_flow = rng.normal(0, 1, 72)
    parts = []
    for model in range(2):
        latent = (of_flow + rng.normal(0, own_flow, 72))[flow] + rng.normal(0, wording, templates)[template]
        latent = latent + shift * model + rng.logistic(0, 0.6, len(flow))
        level = np.clip(np.round(latent), -2, 2).astype(int)
        parts.append(pd.DataFrame({"flow": flow, "template": template, "level": level, "model": f"m{model}"}))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(
        recipient=(frame["flow"] % 3).astype(str), own=frame["model"] + frame["template"].astype(str)
    )


def p_of_model(fit: ClmFit | ClmmFit) -> float:
    """Return the p-value of the difference between the models."""
    return float(fit.coefficients.set_index("factor").loc["model", "p"])


def assert_is_rs(fit: ClmmFit, expected: pd.DataFrame, tolerance: float) -> None:
    """Compare thresholds, coefficients, standard deviations and log-likelihood with R's (index: parameter)."""
    assert fit.status == "ok"
    names = [*fit.thresholds["threshold"], *(fit.coefficients["factor"] + fit.coefficients["level"])]
    assert {*names, "logLik", *(f"sd_{group}" for group in fit.sd)} == set(expected.index)
    for column in ("estimate", "std_err"):
        found = np.concatenate([fit.thresholds[column], fit.coefficients[column]])
        np.testing.assert_allclose(found, expected.loc[names, column], atol=tolerance)
    for group, sd in fit.sd.items():
        np.testing.assert_allclose(sd, expected.loc[f"sd_{group}", "estimate"], atol=tolerance)
    np.testing.assert_allclose(fit.log_likelihood, expected.loc["logLik", "estimate"], atol=2 * tolerance)
