"""Kinds ``privacy_bias``, ``delta`` and ``mean_delta``: what models hold beside what is expected (PETS 3.1, 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from cinorms.analyses.shared import Entry, chosen_each, for_each, stack, thresholds
from cinorms.core import scales
from cinorms.entries.kinds import Selected
from cinorms.norms import distances, privacy_bias
from cinorms.vignettes import expectations

_METRICS = ("mean_signed", "std_signed", "mean_absolute")

Vignettes = Mapping[str, pd.DataFrame]


def bias_of_flows(
    selected: Sequence[Selected], entry: Entry, vignettes: Vignettes, expected: Path | None
) -> pd.DataFrame:
    """Return one row per flow and model: the factors, the value, what is expected, and the delta.

    Columns: arm, model, flow, the dataset's factors, value, status, expected, expected_source, delta,
    delta_absolute, delta_category, delta_status (`delta.bias_table`).
    """
    table = for_each(
        chosen_each(selected, entry, vignettes), lambda one: _bias(one, entry, vignettes[one.arm], expected)
    )
    factors = [f for arm in entry["arms"] for f in entry["design"][arm]["factors"]]
    return table.astype(dict.fromkeys(factors, "str"))


def delta(
    selected: Sequence[Selected], entry: Entry, vignettes: Vignettes, expected: Path | None
) -> pd.DataFrame:
    """Return every metric of every slice that ``by`` makes, or of all flows: a row each (`delta.delta_table`).

    Columns: arm, model, those of ``by``, metric, value, unit, n, n_missing, status, reason.
    """

    def of_model(one: Selected) -> pd.DataFrame:
        table = _bias(one, entry, vignettes[one.arm], expected)
        return distances.delta_table(table, entry.get("by"), _points(entry, one.arm))

    return for_each(chosen_each(selected, entry, vignettes), of_model)


def mean_delta(selected: Sequence[Selected], entry: Entry, vignettes: Vignettes) -> pd.DataFrame:
    """Return the mean signed delta of every model over the flows with an expected value.

    The delta of a flow is the mean of all its valid answers less the expected value, both in the units of the
    dataset's ``expected_range`` (levels where it has none); no threshold is applied.
    Columns: arm, model, mean_signed, std_signed, mean_absolute, n (flows it is of), n_missing, from_zero
    (rank of the arm's models by how near their mean is to 0, nearest first), status, reason.
    """
    means = {**entry, "of": "means", "t_val": dict.fromkeys(entry["t_val"], 0)}
    table = delta(selected, means, vignettes, None)
    found = table[table["metric"].isin(_METRICS)].set_index(["arm", "model", "metric"])["value"]
    wide = found.unstack("metric")  # noqa: PD010 (keys are unique)
    first = table[table["metric"] == _METRICS[0]].drop(columns=["metric", "value", "unit"])
    numbers = wide.reindex(pd.MultiIndex.from_frame(first[["arm", "model"]]))[list(_METRICS)]
    table = pd.concat([first.reset_index(drop=True), numbers.reset_index(drop=True)], axis=1)
    parts = [
        part.assign(from_zero=part["mean_signed"].abs().rank(method="min").astype("Int64"))
        for _, part in table.groupby("arm", sort=False)
    ]
    return stack(parts)[["arm", "model", *_METRICS, "n", "n_missing", "from_zero", "status", "reason"]]


def _bias(one: Selected, entry: Entry, vignettes: pd.DataFrame, expected: Path | None) -> pd.DataFrame:
    """Return the flows of one model with value, expected value and delta."""
    needed = thresholds(entry, one.model)
    of_means = entry.get("of") == "means"
    values = (
        privacy_bias.mean_values(one.frame, needed.t_val)
        if of_means
        else privacy_bias.norm_values(one.frame, needed)
    )
    design = entry["design"][one.arm]
    asked = vignettes[vignettes["flow"].isin(one.frame["flow"])]
    bias = privacy_bias.PrivacyBias.from_values(values, asked, design["factors"])
    between = tuple(design["expected_range"]) if design["expected_range"] else None
    stated = (
        expectations.read_expected(expected, vignettes, design["factors"], between)
        if expected
        else expectations.from_vignettes(vignettes, between)
    )
    return distances.bias_table(bias.to_frame(), stated, _points(entry, one.arm))


def _points(entry: Entry, arm: str) -> tuple[float, ...]:
    """Return the numbers for the five levels: the entry's, else evenly over the dataset's range, else -2..2."""
    between = entry["design"][arm]["expected_range"]
    if entry.get("embedding"):
        return tuple(entry["embedding"])
    return (
        tuple(np.linspace(between[0], between[1], len(scales.LEVELS)))
        if between
        else tuple(map(float, scales.LEVELS))
    )
