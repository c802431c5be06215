"""Kind ``mean_delta``: how far a model's mean answers lie from the expected values (PETS section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from cinorms import delta, expected
from cinorms.analyses.shared import Entry, chosen_each, for_each, stack
from cinorms.kinds import Selected

#: The number for the middle of the scale is the middle of the dataset's range; without one, levels are used.
_LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)
_METRICS = ("mean_signed", "std_signed", "mean_absolute")


def mean_delta(
    selected: Sequence[Selected], entry: Entry, vignettes: Mapping[str, pd.DataFrame]
) -> pd.DataFrame:
    """Return the mean signed delta of every model over the flows with an expected value.

    The delta of a flow is the mean of all its valid answers less the expected value, both in the units of the
    dataset's ``expected_range`` (levels where it has none); no threshold is applied.
    Columns: arm, model, mean_signed, std_signed, mean_absolute, n (flows it is of), n_missing, from_zero
    (rank of the arm's models by how near their mean is to 0, nearest first), status, reason.
    """
    selected = chosen_each(selected, entry, vignettes)
    table = for_each(selected, lambda one: _of_model(one, entry, vignettes[one.arm]))
    parts = [
        part.assign(from_zero=part["mean_signed"].abs().rank(method="min").astype("Int64"))
        for _, part in table.groupby("arm", sort=False)
    ]
    table = stack(parts)
    front = ["arm", "model", *_METRICS, "n", "n_missing", "from_zero"]
    return table[[*front, "status", "reason"]]


def _of_model(one: Selected, entry: Entry, vignettes: pd.DataFrame) -> pd.DataFrame:
    expected_range = entry["design"][one.arm]["expected_range"]
    points = tuple(np.linspace(expected_range[0], expected_range[1], 5)) if expected_range else _LEVELS
    mean = one.frame["mean"]
    status = np.where(mean.isna(), "below_t_val", "kept")
    bias = pd.DataFrame({"flow": one.frame["flow"], "value": mean, "status": status})
    stated = expected.from_vignettes(vignettes, tuple(expected_range) if expected_range else None)
    found = delta.delta_table(delta.bias_table(bias, stated, points), embedding=points).set_index("metric")
    first = found.loc["mean_signed"]
    numbers = found.loc[list(_METRICS), "value"].astype("Float64").to_frame().T.reset_index(drop=True)
    return numbers.assign(**{name: first[name] for name in ("n", "n_missing", "status", "reason")})
