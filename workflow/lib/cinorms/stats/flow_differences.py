"""On which flows a model and people differ beyond the noise of raters and wordings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tails
from cinorms.norms.assessment import divide
from cinorms.stats.samples import Sample
from cinorms.stats.wordings import CONFIDENCE

Floats = npt.NDArray[np.float64]

#: Why a flow has no test.
STATUSES = ("ok", "no_people", "no_model", "no_spread")


def flow_differences(model: Sample, people: Sample, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return, per flow (row of both samples), the model's mean less people's, with Welch's t.

    Both variances are moderated (`samples.moderated`), or a few raters who agree by chance would make any difference
    significant. Columns: people, model, difference, std_err, conf_low, conf_high, statistic, log10_p, n_raters,
    n_templates, status (``ok``, ``no_people``, ``no_model``, ``no_spread``: the values of all flows agree, or no flow
    has two).
    """
    d = model.means - people.means
    (of_model, model_freedom), (of_people, people_freedom) = model.moderated_noise, people.moderated_noise
    variance = of_model + of_people
    freedom = divide(variance**2, of_model**2 / model_freedom + of_people**2 / people_freedom)
    std_err = np.sqrt(variance)
    t = divide(d, std_err)
    status = np.select(
        [people.sizes == 0, model.sizes == 0, np.isnan(t)], ["no_people", "no_model", "no_spread"], "ok"
    )
    tested = status == "ok"
    reach, log10_p = np.full(len(d), np.nan), np.full(len(d), np.nan)
    reach[tested] = _quantile(freedom[tested], confidence) * std_err[tested]
    log10_p[tested] = [tails.student(*pair) for pair in zip(t[tested], freedom[tested], strict=True)]
    return pd.DataFrame(
        {
            "people": people.means,
            "model": model.means,
            "difference": d,
            "std_err": np.where(tested, std_err, np.nan),
            "conf_low": d - reach,
            "conf_high": d + reach,
            "statistic": np.where(tested, t, np.nan),
            "log10_p": log10_p,
            "n_raters": np.zeros_like(people.sizes) if people.exact else people.sizes,
            "n_templates": model.sizes,
            "status": status,
        }
    )


def _quantile(freedom: Floats, confidence: float) -> Floats:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(freedom, (1 + confidence) / 2))
