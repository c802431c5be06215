"""Privacy bias, and delta: its distance from expected values, of a flow and of slices (PETS section 3.1)."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import ConfigError, DataError
from rewordings.arrays import divide

#: Numbers this near are the same: further apart than rounding errors, nearer than any two stated values.
SAME = 1e-9

QUANTILES = {"q05": 0.05, "q25": 0.25, "median": 0.5, "q75": 0.75, "q95": 0.95}

#: Metrics of a slice, with the kind of their unit.
METRICS = {
    "mean_absolute": "points",
    "mean_signed": "points",
    "std_absolute": "points",
    "std_signed": "points",
    "variance_absolute": "points squared",
    "variance_signed": "points squared",
    **{f"{q}_absolute": "points" for q in QUANTILES},
    **{f"{q}_signed": "points" for q in QUANTILES},
    "maximum_absolute": "points",
    "share_zero": "share",
    "kl_divergence": "bits",
    "wasserstein": "points",
    "total_variation": "share",
}


def mean_values(norms: pd.DataFrame, t_val: int = 0) -> pd.DataFrame:
    """Return flow, value and status with the mean level over the valid answers of all variants as the value.

    As in PETS section 5.3: no majority is asked for. A flow with fewer valid answers than ``t_val``, or none,
    is ``below_t_val`` and has no value.
    """
    enough = (norms["n_valid"] >= t_val) & (norms["n_valid"] > 0)
    value = norms["mean"].astype("Float64").where(enough)
    status = np.where(enough, "kept", "below_t_val")
    return pd.DataFrame({"flow": norms["flow"], "value": value, "status": status})


def embed(values: npt.ArrayLike, scale: Sequence[int], points: Sequence[float]) -> Floats:
    """Return the numbers that ``values`` on the levels of the ``scale`` stand for, NaN where missing.

    ``points`` holds a number for each level, rising; values between two levels are placed in proportion between their
    numbers. Raises `DataError` for a value off the scale.
    """
    levels = np.asarray(values, dtype=np.float64)
    # Means of levels can pass the ends by a rounding error, which np.interp puts right.
    if ((levels > scale[-1] + SAME) | (levels < scale[0] - SAME)).any():
        raise DataError(f"delta: a value is outside the answer scale {scale[0]}..{scale[-1]}")
    return np.interp(levels, scale, points)


def bias_table(
    values: pd.DataFrame,
    flows: pd.DataFrame,
    scale: Sequence[int],
    points: Sequence[float],
    expected: pd.DataFrame,
) -> pd.DataFrame:
    """Return one row per flow of ``flows`` (flow and factors), with what is held and what is expected.

    ``values`` is of `assessment.held` or `mean_values`. ``scale`` has its levels, lowest first; ``points`` the numbers
    for them in value, expected and delta (`embed`). ``expected`` has flow, expected on the scale and expected_source.

    Added columns: value, status, expected, expected_source, delta (value - expected; positive: the model answers higher
    than expected), delta_absolute (numerical and ordinal delta), delta_category (0 or 1), delta_status (``ok``, the
    flow's status where it has no value, else ``no_expected``).

    Raises `DataError` if a flow is expected twice, else as `embed`.
    """
    columns = ("expected", "expected_source", "delta", "delta_absolute", "delta_category", "delta_status")
    clash = [name for name in flows if name in columns]
    if clash:
        raise ConfigError(
            f"delta: the table has a column {clash[0]!r} already; rename that factor in the dataset"
        )
    if (twice := expected["flow"].duplicated()).any():
        raise DataError(f"delta: flow {expected['flow'][twice].iloc[0]} is expected twice")
    held, stated = (table.set_index("flow").reindex(flows["flow"]) for table in (values, expected))
    value, goal = (
        embed(column.to_numpy(dtype=np.float64, na_value=np.nan), scale, points)
        for column in (held["value"], stated["expected"])
    )
    distance = np.abs(value - goal)
    status = np.where(np.isnan(goal), "no_expected", "ok")
    status = np.where(np.isnan(value), held["status"], status)
    return flows.assign(
        value=_nullable(value),
        status=held["status"].to_numpy(),
        expected=_nullable(goal),
        expected_source=pd.array(list(stated["expected_source"]), dtype="str"),
        delta=_nullable(value - goal),
        delta_absolute=_nullable(distance),
        # An expected value between two levels, such as the mean of a survey, differs from every level.
        delta_category=_nullable(np.where(np.isnan(distance), np.nan, distance > SAME)).astype("Int8"),
        delta_status=status,
    )


def delta_table(
    table: pd.DataFrame, scale: Sequence[int], points: Sequence[float], by: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return every metric of `METRICS` for each slice that ``by`` makes of a `bias_table`, or for all of it.

    Columns: those of ``by``, metric, value (missing unless ``ok``), unit, n (flows with a value and an
    expected value, which the metric is of), n_missing (the slice's other flows), status (``ok``,
    ``no_flows``, ``no_expected``, ``no_norms``, ``no_pairs``, ``undefined``), reason (what is missing; empty where
    nothing is). ``scale`` and ``points`` are those that the table was made with. For the definitions see
    ``docs/method/norms/assessment.md``.

    Raises `ConfigError` if ``by`` names a column of this result.
    """
    names = list(by or [])
    columns = ("metric", "value", "unit", "n", "n_missing", "status", "reason")
    clash = [name for name in names if name in columns]
    if clash:
        raise ConfigError(f"delta: by: {clash[0]!r} is a column of the result; choose or rename to another")
    group, slices = np.zeros(len(table), dtype=np.intp), pd.DataFrame(index=range(1))
    if names:
        group = np.asarray(table.groupby(names, observed=True, dropna=False).ngroup(), dtype=np.intp)
        slices = table[names].iloc[np.unique(group, return_index=True)[1]].reset_index(drop=True)
    value = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    expected = table["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
    whole = ~np.isnan(value - expected)
    n = np.bincount(group[whole], minlength=len(slices))
    metrics = _metrics(value[whole], expected[whole], group[whole], n, scale, points)
    parts = (group, group[~np.isnan(value)], group[~np.isnan(expected)])
    counts = (np.bincount(rows, minlength=len(n)).tolist() for rows in parts)
    statuses = [_status(*of_slice) for of_slice in zip(*counts, n.tolist(), strict=True)]
    base = "levels" if list(points) == list(scale) else f"points ({points[0]:g} to {points[-1]:g})"
    n_metrics = len(METRICS)
    long = slices.loc[slices.index.repeat(n_metrics)].reset_index(drop=True)
    long["metric"] = list(METRICS) * len(slices)
    numbers = np.column_stack([metrics[metric] for metric in METRICS]).ravel()
    without, infinite = ~np.isfinite(numbers), np.isinf(numbers)
    long["value"] = pd.arrays.FloatingArray(np.where(without, 0, numbers), without)
    long["unit"] = [unit.replace("points", base) for unit in METRICS.values()] * len(slices)
    long["n"] = n.repeat(n_metrics)
    long["n_missing"] = (np.bincount(group, minlength=len(n)) - n).repeat(n_metrics)
    status, reason = np.array(statuses, dtype=object).reshape(-1, 2).repeat(n_metrics, axis=0).T
    zero = "a level is held that is never expected: the divergence is infinite"
    long["status"] = np.where(infinite, "undefined", status)
    long["reason"] = np.where(infinite, zero, reason)
    return long


def _nullable(values: Floats) -> pd.arrays.FloatingArray:
    # Arrays, not series: those would be aligned by the index of a filtered table.
    return pd.arrays.FloatingArray(np.where(np.isnan(values), 0, values), np.isnan(values))


def _metrics(
    value: Floats, expected: Floats, group: Ints, n: Ints, scale: Sequence[int], points: Sequence[float]
) -> dict[str, Floats]:
    """Return each metric per slice: NaN without flows, infinite where the KL divergence is undefined."""
    metrics: dict[str, Floats] = {}
    delta = value - expected
    for kind, x in (("absolute", np.abs(delta)), ("signed", delta)):
        mean = _mean(x, group, n)
        variance = _mean((x - mean[group]) ** 2, group, n)
        metrics |= {f"mean_{kind}": mean, f"variance_{kind}": variance, f"std_{kind}": np.sqrt(variance)}
        ranked = _ranked(x, group)
        metrics |= {f"{name}_{kind}": _quantile(ranked, n, q) for name, q in QUANTILES.items()}
        if kind == "absolute":
            metrics["maximum_absolute"] = _quantile(ranked, n, 1)
            metrics["share_zero"] = _mean((x <= SAME).astype(np.float64), group, n)
    # Both are ranked within the same slices, so that row i of one belongs to row i of the other.
    moved = np.abs(_ranked(value, group) - _ranked(expected, group))
    metrics["wasserstein"] = _mean(moved, np.sort(group), n)
    held, wanted = (_distribution(x, group, n, scale, points) for x in (value, expected))
    metrics["total_variation"] = np.abs(held - wanted).sum(axis=1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(held > 0, held * np.log2(held / wanted), 0.0)
    metrics["kl_divergence"] = np.where(n > 0, terms.sum(axis=1), np.nan)
    return metrics


def _mean(x: Floats, group: Ints, n: Ints) -> Floats:
    return divide(np.bincount(group, weights=x, minlength=len(n)), n)


def _ranked(x: Floats, group: Ints) -> Floats:
    return x[np.lexsort((x, group))]


def _quantile(ranked: Floats, n: Ints, q: float) -> Floats:
    """Return the quantile ``q`` of each slice, linear between the two nearest ranks; NaN without flows."""
    some = n > 0
    place = q * (n[some] - 1)
    below = np.floor(place).astype(np.intp)
    start = (np.cumsum(n) - n)[some]
    low, high = ranked[start + below], ranked[start + np.ceil(place).astype(np.intp)]
    result = np.full(len(n), np.nan)
    result[some] = low + (high - low) * (place - below)
    return result


def _distribution(x: Floats, group: Ints, n: Ints, scale: Sequence[int], points: Sequence[float]) -> Floats:
    """Return the share of each level per slice, NaN without flows; a number counts as the level nearest to it.

    Halfway it is the even level, so that both ends of a scale about 0 are treated alike.
    """
    n_levels, first = len(points), scale[0]
    # Rounded first: halfway must not be missed by a rounding error.
    place = np.interp(x, points, np.arange(first, first + n_levels)).round(9)
    cell = group * n_levels + np.rint(place).astype(np.intp) - first
    counts = np.bincount(cell, minlength=len(n) * n_levels).reshape(-1, n_levels)
    return divide(counts, n[:, None])


def _status(size: int, with_value: int, with_expected: int, n: int) -> tuple[str, str]:
    """Return the status of a slice, and in words what is missing in it."""
    if not size:
        return "no_flows", "the slice has no flows"
    if not with_expected:
        return "no_expected", f"none of the {size} flows has an expected value"
    if not with_value:
        return "no_norms", f"none of the {size} flows has a value"
    lacking = f"of {size} flows {size - with_value} have no value, {size - with_expected} no expected value"
    if not n:
        return "no_pairs", f"{lacking}; none has both"
    return "ok", lacking if n < size else ""
