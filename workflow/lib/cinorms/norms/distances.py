"""Delta: the distance of privacy bias from expected values, of a flow and of slices (PETS section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import validation
from cinorms.core.errors import ConfigError, DataError
from cinorms.norms.assessment import divide

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

#: Numbers this near are the same: further apart than rounding errors, nearer than any two stated values.
SAME = 1e-9

#: What a metric of a slice can be: computed, or why not.
DELTA_STATUSES = ("ok", "no_flows", "no_expected", "no_norms", "no_pairs", "undefined")

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


def numerical(value: npt.ArrayLike, expected: npt.ArrayLike) -> Floats:
    """Return |value - expected| of each flow, NaN where either is missing."""
    return np.abs(np.asarray(value, dtype=np.float64) - np.asarray(expected, dtype=np.float64))


def categorical(value: npt.ArrayLike, expected: npt.ArrayLike) -> Floats:
    """Return 0 where value and expected are the same, 1 where not, NaN where either is missing.

    An expected value between two levels, such as the mean of a survey, differs from every level.
    """
    distance = numerical(value, expected)
    return np.where(np.isnan(distance), np.nan, (distance > SAME).astype(np.float64))


def embed(values: npt.ArrayLike, scale: Sequence[int], embedding: Sequence[float] | None = None) -> Floats:
    """Return the numbers that ``embedding`` gives to ``values`` on the levels of the ``scale``, NaN where missing.

    ``embedding`` holds a number for each level, lowest first; values between two levels are
    placed in proportion between their numbers. Without one, the numbers are the levels.

    Raises `ConfigError` unless these are rising numbers, one per level, `DataError` for a value off the scale.
    """
    points = _points(scale, embedding)
    levels = np.asarray(values, dtype=np.float64)
    # Means of levels can pass the ends by a rounding error, which np.interp puts right.
    if ((levels > scale[-1] + SAME) | (levels < scale[0] - SAME)).any():
        raise DataError(f"delta: a value is outside the answer scale {scale[0]}..{scale[-1]}")
    return np.interp(levels, scale, points)


def bias_table(
    bias: pd.DataFrame,
    scale: Sequence[int],
    expected: pd.DataFrame | None = None,
    embedding: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return one row per flow: ``bias`` with its expected value and delta.

    Parameters
    ----------
    bias
        Flow, any further columns (factors), value on the scale and status: `PrivacyBias.to_frame`.
    scale
        The levels of the scale, lowest first.
    expected
        Flow, expected on the scale and expected_source (`expected.from_vignettes`, `expected.read_expected`);
        ``None`` where nothing is expected.
    embedding
        The numbers for the levels in value, expected and delta (`embed`).

    Added columns: expected, expected_source, delta (value - expected; positive: the model answers higher than
    expected), delta_absolute (numerical and ordinal delta), delta_category (0 or 1), delta_status (``ok``,
    the flow's status where it has no value, else ``no_expected``).

    Raises `DataError` if a flow is expected twice, else as `embed`.

    """
    _check_names([str(name) for name in bias])
    value = embed(bias["value"].to_numpy(dtype=np.float64, na_value=np.nan), scale, embedding)
    goal = np.full(len(bias), np.nan)
    source = np.full(len(bias), None, dtype=object)
    if expected is not None:
        if expected["flow"].duplicated().any():
            raise DataError(
                f"delta: flow {expected['flow'][expected['flow'].duplicated()].iloc[0]} is expected twice"
            )
        found = expected.set_index("flow").reindex(bias["flow"])
        goal = embed(found["expected"].to_numpy(dtype=np.float64, na_value=np.nan), scale, embedding)
        source = found["expected_source"].astype(object).to_numpy()
    status = np.where(np.isnan(goal), "no_expected", "ok")
    status = np.where(np.isnan(value), bias["status"].astype(object), status)
    return bias.assign(
        value=_nullable(value),
        expected=_nullable(goal),
        expected_source=pd.array(source, dtype="str"),
        delta=_nullable(value - goal),
        delta_absolute=_nullable(numerical(value, goal)),
        delta_category=_nullable(categorical(value, goal)).astype("Int8"),
        delta_status=status,
    )


def delta_table(
    table: pd.DataFrame,
    scale: Sequence[int],
    by: Sequence[str] | None = None,
    embedding: Sequence[float] | None = None,
) -> pd.DataFrame:
    """Return every metric of `METRICS` for each slice that ``by`` makes of a `bias_table`, or for all of it.

    Columns: those of ``by``, metric, value (missing unless ``ok``), unit, n (flows with a value and an
    expected value, which the metric is of), n_missing (the slice's other flows), status (`DELTA_STATUSES`),
    reason (what is missing; empty where nothing is).
    ``scale`` and ``embedding`` are those that the table was made with. For the definitions see
    ``docs/method/norms/delta.md``.

    Raises `ConfigError` if ``by`` names no column of the table, or a column of this result, and
    `DataError` for numbers that the embedding cannot give.
    """
    points = _points(scale, embedding)
    names = list(by or [])
    for name in names:
        if name not in table:
            raise validation.unknown("delta", "by", name, [str(column) for column in table], "column")
    group, slices = _slices(table, names)
    value = table["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    expected = table["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.maximum(value, expected) > points[-1]).any() or (np.minimum(value, expected) < points[0]).any():
        raise DataError(
            f"delta: the table has numbers outside {points[0]:g}..{points[-1]:g}; "
            "give the embedding it was made with"
        )
    whole = ~np.isnan(value - expected)
    n = np.bincount(group[whole], minlength=len(slices))
    found = _metrics(value[whole], expected[whole], group[whole], n, scale, points)
    status, reason = _statuses(value, expected, group, n)
    base = "levels" if points.tolist() == list(scale) else f"points ({points[0]:g} to {points[-1]:g})"
    return _long(slices, np.column_stack([found[m] for m in METRICS]), status, reason, base, n, group)


def _points(scale: Sequence[int], embedding: Sequence[float] | None) -> Floats:
    if embedding is None:
        return np.asarray(scale, dtype=np.float64)
    points = np.asarray(embedding, dtype=np.float64)
    if points.shape != (len(scale),) or not np.isfinite(points).all() or (np.diff(points) <= 0).any():
        raise ConfigError(
            f"embedding: {list(embedding)} is not a list of {len(scale)} rising numbers, one per level; "
            f"give one such as {', '.join(f'{x:g}' for x in np.linspace(-100, 100, len(scale)).round())}"
        )
    return points


def _check_names(given: Sequence[str]) -> None:
    own = ("expected", "expected_source", "delta", "delta_absolute", "delta_category", "delta_status")
    clash = [name for name in given if name in own]
    if clash:
        raise ConfigError(
            f"delta: the table has a column {clash[0]!r} already; rename that factor in the dataset"
        )


def _nullable(values: Floats) -> pd.arrays.FloatingArray:
    # Arrays, not series: those would be aligned by the index of a filtered table.
    return pd.arrays.FloatingArray(np.where(np.isnan(values), 0, values), np.isnan(values))


def _slices(table: pd.DataFrame, names: list[str]) -> tuple[Ints, pd.DataFrame]:
    """Return the number of each row's slice, and a row with the columns ``names`` for each slice."""
    own = ("metric", "value", "unit", "n", "n_missing", "status", "reason")
    clash = [name for name in names if name in own]
    if clash:
        raise ConfigError(f"delta: by: {clash[0]!r} is a column of the result; choose or rename to another")
    if not names:
        return np.zeros(len(table), dtype=np.intp), pd.DataFrame(index=range(1))
    group: Ints = np.asarray(table.groupby(names, observed=True, dropna=False).ngroup(), dtype=np.intp)
    first = np.unique(group, return_index=True)[1]
    return group, table[names].iloc[first].reset_index(drop=True)


def _metrics(
    value: Floats, expected: Floats, group: Ints, n: Ints, scale: Sequence[int], points: Floats
) -> dict[str, Floats]:
    """Return each metric per slice: NaN without flows, infinite where the KL divergence is undefined."""
    found: dict[str, Floats] = {}
    delta = value - expected
    for kind, x in (("absolute", np.abs(delta)), ("signed", delta)):
        mean = _mean(x, group, n)
        variance = _mean((x - mean[group]) ** 2, group, n)
        found |= {f"mean_{kind}": mean, f"variance_{kind}": variance, f"std_{kind}": np.sqrt(variance)}
        ranked = _ranked(x, group)
        found |= {f"{name}_{kind}": _quantile(ranked, n, q) for name, q in QUANTILES.items()}
        if kind == "absolute":
            found["maximum_absolute"] = _quantile(ranked, n, 1)
            found["share_zero"] = _mean((x <= SAME).astype(np.float64), group, n)
    # Both are ranked within the same slices, so that row i of one belongs to row i of the other.
    moved = np.abs(_ranked(value, group) - _ranked(expected, group))
    found["wasserstein"] = _mean(moved, np.sort(group), n)
    held, wanted = (_distribution(x, group, n, scale, points) for x in (value, expected))
    found["total_variation"] = np.abs(held - wanted).sum(axis=1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(held > 0, held * np.log2(held / wanted), 0.0)
    found["kl_divergence"] = np.where(n > 0, terms.sum(axis=1), np.nan)
    return found


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


def _place_of(x: Floats, points: Floats, first: int) -> Ints:
    """Return the position of the level nearest to each number.

    Halfway it is the even level, so that both ends of a scale about 0 are treated alike; ``first`` is the lowest level.
    """
    # Rounded first: halfway must not be missed by a rounding error.
    place = np.interp(x, points, np.arange(first, first + len(points))).round(9)
    return np.rint(place).astype(np.intp) - first


def _distribution(x: Floats, group: Ints, n: Ints, scale: Sequence[int], points: Floats) -> Floats:
    """Return the share of each level per slice, NaN without flows."""
    n_levels = len(points)
    cell = group * n_levels + _place_of(x, points, scale[0])
    counts = np.bincount(cell, minlength=len(n) * n_levels).reshape(-1, n_levels)
    return divide(counts, n[:, None])


def _statuses(value: Floats, expected: Floats, group: Ints, n: Ints) -> tuple[list[str], list[str]]:
    """Return the status of each slice, and in words what is missing in it."""
    sizes, with_value, with_expected = (
        np.bincount(group[rows], minlength=len(n)).tolist()
        for rows in (np.ones(len(group), dtype=bool), ~np.isnan(value), ~np.isnan(expected))
    )
    pairs = [_status(*counts) for counts in zip(sizes, with_value, with_expected, n.tolist(), strict=True)]
    return [status for status, _ in pairs], [reason for _, reason in pairs]


def _status(size: int, with_value: int, with_expected: int, n: int) -> tuple[str, str]:
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


def _long(
    slices: pd.DataFrame,
    found: Floats,
    status: list[str],
    reason: list[str],
    base: str,
    n: Ints,
    group: Ints,
) -> pd.DataFrame:
    """Return a row per slice and metric from the matrix ``found``, slices first."""
    n_metrics = len(METRICS)
    long = slices.loc[slices.index.repeat(n_metrics)].reset_index(drop=True)
    long["metric"] = list(METRICS) * len(slices)
    flat = found.ravel()
    without = ~np.isfinite(flat)
    long["value"] = pd.arrays.FloatingArray(np.where(without, 0, flat), without)
    long["unit"] = [unit.replace("points", base) for unit in METRICS.values()] * len(slices)
    long["n"] = n.repeat(n_metrics)
    long["n_missing"] = (np.bincount(group, minlength=len(n)) - n).repeat(n_metrics)
    long["status"] = np.where(
        np.isinf(flat), "undefined", np.repeat(np.array(status, dtype=object), n_metrics)
    )
    zero = "a level is held that is never expected: the divergence is infinite"
    long["reason"] = np.where(np.isinf(flat), zero, np.repeat(np.array(reason, dtype=object), n_metrics))
    return long
