"""Kinds ``privacy_bias``, ``delta``, ``mean_delta``: norms next to expected values (PETS 3.1, 5.3)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.analyses.columns import WHO, usual
from cinorms.analyses.options import Expects, Sliced
from cinorms.analyses.shared import Frames, for_each_model
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfFlows
from cinorms.norms import assessment, distances
from cinorms.vignettes import expectations


class DeltaOptions(Sliced, Expects):
    """Options of the measures of slices."""


@for_each_model
def bias_of_flows(
    one: Selected, entry: Entry[Expects], vignettes: pd.DataFrame, expected: Path | None
) -> pd.DataFrame:
    """Return one row per flow and model: the factors, the value, the expected value, and the delta."""
    table, _ = _stated(one, entry, vignettes, expected)
    return table.astype(dict.fromkeys(entry.factors_of[one.arm].factors, "str"))


@for_each_model
def delta(
    one: Selected, entry: Entry[DeltaOptions], vignettes: pd.DataFrame, expected: Path | None
) -> pd.DataFrame:
    """Return every metric of every slice that ``by`` makes, or of all flows: a row each (`distances.delta_table`)."""
    table, points = _stated(one, entry, vignettes, expected)
    return distances.delta_table(table, entry.scales[one.arm].levels, points, entry.options.by)


def mean_delta(selected: Sequence[Selected], entry: Entry[OfFlows], vignettes: Frames) -> pd.DataFrame:
    """Return the mean signed delta of every model over the flows with an expected value.

    The delta of a flow is the mean of all its valid answers less the expected value, both in the units of the
    dataset's ``expected_range`` (levels where it has none); no threshold is applied.
    """

    @for_each_model
    def make(one: Selected, entry: Entry[OfFlows], vignettes: pd.DataFrame) -> pd.DataFrame:
        bias, points = bias_and_points(one, distances.mean_values(one.frame), entry, vignettes)
        table = distances.delta_table(bias, entry.scales[one.arm].levels, points).set_index("metric")
        row = table.loc[["mean_signed"], ["n", "n_missing", "status", "reason"]].reset_index(drop=True)
        metrics = ("mean_signed", "std_signed", "mean_absolute")
        return row.assign(**{metric: table["value"][[metric]].array for metric in metrics})

    table = make(selected, entry, vignettes=vignettes)
    from_zero = table["mean_signed"].abs().groupby(table["arm"]).rank(method="min")
    return table.assign(from_zero=from_zero.astype("Int64"))


def _stated(
    one: Selected, entry: Entry[Expects], vignettes: pd.DataFrame, expected: Path | None
) -> tuple[pd.DataFrame, Sequence[float]]:
    """Return `bias_and_points` of one model with what the entry's options make of value and expected value."""
    needed, options = entry.thresholds[one.model], entry.options
    if options.of == "means":
        values = distances.mean_values(one.frame, needed.t_val)
    else:
        values = assessment.held(one.frame, needed)
    return bias_and_points(one, values, entry, vignettes, expected)


def bias_and_points(
    one: Selected,
    values: pd.DataFrame,
    entry: Entry[Any],
    vignettes: pd.DataFrame,
    expected: Path | None = None,
) -> tuple[pd.DataFrame, Sequence[float]]:
    """Return the flows of one model with value, expected value and delta, and the numbers for the levels.

    These are in proportion over the dataset's range, or the levels where it states none.
    """
    dataset, scale = entry.factors_of[one.arm], entry.scales[one.arm].levels
    ends, between = (float(scale[0]), float(scale[-1])), dataset.expected_range
    points: Sequence[float] = tuple(np.interp(scale, ends, between) if between else scale)
    if expected:
        stated = expectations.read_expected(expected, vignettes, dataset.factors, ends, between)
    else:
        stated = expectations.from_vignettes(vignettes, ends, between)
    flows = vignettes.loc[vignettes["flow"].isin(one.frame["flow"]), ["flow", *dataset.factors]]
    flows = flows.reset_index(drop=True).astype(dict.fromkeys(dataset.factors, "category"))
    return distances.bias_table(values, flows, scale, points, stated), points


_PAIRS = "Flows with a value and an expected value."
_OTHERS = "Flows without a value or without an expected value."


KINDS = (
    Kind(
        name="privacy_bias",
        about="For every flow, what each model holds, the expected value, and the delta (PETS section 3.1).",
        function=bias_of_flows,
        reads="norms",
        report_section="answers",
        key=("arm", "model", "flow"),
        columns={
            **WHO,
            "flow": "Number of the flow.",
            "<factor>": "Level of each factor of the dataset.",
            "value": "What the model holds, in the numbers of the levels; missing where it holds none.",
            "status": "kept, or why there is no value.",
            "expected": "The expected value, on the same scale.",
            "expected_source": "Where the expected value comes from.",
            "delta": "value minus expected: above 0 where the model answers higher than expected.",
            "delta_absolute": "Absolute value of delta.",
            "delta_category": "0 where value and expected are the same, else 1.",
            "delta_status": "ok, or why there is no delta.",
        },
    ),
    Kind(
        name="delta",
        about="Every measure of the distance from the expected values, for each slice (PETS section 3.1).",
        function=delta,
        reads="norms",
        report_section="delta",
        key=("arm", "model", "<factor>", "metric"),
        columns={
            **WHO,
            "<factor>": "The slice's level of each factor in by; no such column if all flows are together.",
            "metric": "Name of the measure, such as mean_signed or kl_divergence.",
            "value": "The measure; missing where the status is not ok.",
            "unit": "Unit of the measure: levels or points, their squares, a share, or bits.",
            "n": _PAIRS,
            "n_missing": _OTHERS,
            **usual("status"),
            "reason": "What is missing, in words; empty where nothing is.",
        },
    ),
    Kind(
        name="mean_delta",
        about="How far the mean answers of each model are from the expected values (PETS section 5.3).",
        function=mean_delta,
        reads="norms",
        report_section="delta",
        key=("arm", "model"),
        columns={
            **WHO,
            "mean_signed": "Mean delta: mean answer minus expected value, in the dataset's units.",
            "std_signed": "Standard deviation of the delta over flows.",
            "mean_absolute": "Mean absolute delta.",
            "n": _PAIRS,
            "n_missing": _OTHERS,
            "from_zero": "Rank among the arm's models by the distance of the mean from 0; 1 is the closest.",
            **usual("status"),
            "reason": "What is missing, in words; empty where nothing is.",
        },
    ),
)
