"""Marginal means and average marginal component effects: what each level of a factor does, without a model.

A design crosses its factors, so the mean level of all flows with one level of a factor is already an average
over every combination of the other factors, each counted once: its marginal mean. The difference between
two levels of a factor, within each combination of the others and averaged over them, is the average
marginal component effect (AMCE). Both speak of the combinations in the design, equally weighted.

Linked factors vary together and are one joint factor here ("place + inference"): nothing in the design
can tell their effects apart. Combinations of the other factors are called contexts below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import ConfigError, DataError
from cinorms.norms.assessment import divide
from cinorms.stats.resampling import FEWEST, Resample, check_resample, draw_weights, interval
from cinorms.vignettes.factors import JOINT

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_CHUNK = 256


@dataclass(frozen=True)
class _Cells:
    """The design as cells (combinations of levels): their codes per factor and their mean per variant."""

    levels: dict[str, list[str]]
    codes: Ints  # cells x factors
    means: Floats  # cells x variants, NaN where there is no valid answer

    def grid(self, factor: int) -> Ints:
        """Return the cell at each level (row) and context (column) of a factor, -1 where there is none."""
        others = np.delete(self.codes, factor, axis=1)
        context = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
        n_levels = len(list(self.levels.values())[factor])
        grid = np.full((n_levels, context.max(initial=-1) + 1), -1, dtype=np.intp)
        grid[self.codes[:, factor], context] = np.arange(len(self.codes))
        return grid


def marginal_means(
    values: pd.DataFrame,
    factors: Sequence[str],
    seed: int,
    linked: Sequence[Sequence[str]] = (),
    resample: Resample = "both",
    draws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the marginal mean of every level of every factor.

    Parameters
    ----------
    values
        One row per answer (``variant``, ``value``, the factors) or per norm (without ``variant``); a missing
        ``value`` is an answer or norm that is not there. An answer counts within its cell only: each cell is
        the mean of its valid answers, and each cell weighs the same, however many of them were valid. With
        templates in place of variants in ``variant``, templates are what is drawn.
    factors
        All factors of the design; what is left out is averaged over within the cells.
    seed, draws, confidence
        Of the two-way bootstrap: contexts and variants are drawn with replacement, independently of each
        other; percentile intervals.
    linked
        Groups of factors that vary together.
    resample
        ``both`` contexts and variants, as if the contexts were a sample of more; or ``variants`` only: the
        design's combinations are all there are.

    Columns: factor, level, n (cells with a value), n_missing (contexts in which this level has none), mean,
    std_err, conf_low, conf_high (levels), status, reason. ``incomplete``: the mean is over the n cells there
    are, which other levels need not share. ``not_separable``: no context is shared with any other level, so
    the mean would be one of the contexts, and none is given. ``no_answers``: no cell has a value.
    ``no_interval``: too few contexts or variants to draw.

    Raises `ConfigError` for an unknown factor or half a linked group, `DataError` for a missing level.

    """
    cells = _cells(values, factors, linked)
    replicates = _replicates(cells, [None] * len(cells.levels), seed, resample, draws)
    rows = [
        {"factor": factor, "level": level} | _mean_row(cells, i, j, replicates[i][:, j], resample, confidence)
        for i, (factor, names) in enumerate(cells.levels.items())
        for j, level in enumerate(names)
    ]
    columns = ["factor", "level", "n", "n_missing", "mean", "std_err", "conf_low", "conf_high"]
    return pd.DataFrame(rows, columns=[*columns, "status", "reason"])


def amce(
    values: pd.DataFrame,
    factors: Sequence[str],
    baselines: Mapping[str, str],
    seed: int,
    linked: Sequence[Sequence[str]] = (),
    resample: Resample = "both",
    draws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the average marginal component effect of every level against its factor's baseline.

    The difference of level and baseline is taken within each context in which both have a value, and
    averaged over these contexts, so a missing cell never makes two levels be compared in different contexts.
    In a complete design it is the difference of their marginal means. Parameters as of `marginal_means`;
    ``baselines`` names the baseline of each factor, a linked group's under its joint name
    ("place + inference") or by its parts; the first level is taken where none is named.

    Columns: factor, level, baseline, n (contexts compared), n_missing (contexts left out), estimate, std_err,
    conf_low, conf_high (levels), status, reason. ``incomplete``: some contexts were left out.
    ``no_common_context``: level and baseline never meet in one, so no effect can be told from the others'.
    ``constant``: the factor has one level. ``no_answers`` and ``no_interval`` as of `marginal_means`.
    """
    cells = _cells(values, factors, linked)
    bases = [_baseline(factor, names, baselines) for factor, names in cells.levels.items()]
    replicates = _replicates(cells, bases, seed, resample, draws)
    rows = [
        {"factor": factor, "level": level, "baseline": names[base]}
        | _effect_row(cells, i, j, base, replicates[i][:, j], resample, confidence)
        for i, ((factor, names), base) in enumerate(zip(cells.levels.items(), bases, strict=True))
        for j, level in enumerate(names)
        if j != base or len(names) == 1
    ]
    columns = ["factor", "level", "baseline", "n", "n_missing", "estimate", "std_err", "conf_low"]
    return pd.DataFrame(rows, columns=[*columns, "conf_high", "status", "reason"])


def _mean_row(
    cells: _Cells, factor: int, level: int, drawn: Floats, resample: Resample, confidence: float
) -> dict[str, Any]:
    table = _table(cells.means, cells.grid(factor))
    present = ~np.isnan(table)
    n = int(present[level].sum())
    shared = bool((present[level] & np.delete(present, level, axis=0)).any())
    alone = len(table) > 1 and not shared
    missing = table.shape[1] - n
    status, reason = _mean_status(n, missing, alone)
    mean = float(table[level, present[level]].mean()) if n and not alone else np.nan
    row = {"n": n, "n_missing": missing, "mean": mean}
    return row | _interval(cells, drawn, n, resample, confidence, status, reason)


def _effect_row(
    cells: _Cells, factor: int, level: int, base: int, drawn: Floats, resample: Resample, confidence: float
) -> dict[str, Any]:
    table = _table(cells.means, cells.grid(factor))
    gaps = table[level] - table[base]
    n = int((~np.isnan(gaps)).sum()) if level != base else 0
    missing = table.shape[1] - n
    answered = bool((~np.isnan(table[[level, base]])).any(axis=1).all())
    status, reason = _effect_status(n, missing, len(table), answered)
    row = {"n": n, "n_missing": missing, "estimate": float(np.nanmean(gaps)) if n else np.nan}
    return row | _interval(cells, drawn, n, resample, confidence, status, reason)


def _cells(values: pd.DataFrame, factors: Sequence[str], linked: Sequence[Sequence[str]]) -> _Cells:
    """Return the design's cells; levels in the order of their categories, or else sorted."""
    _check(values, factors, linked)
    group_of = {name: tuple(group) for group in linked for name in group}
    groups = dict.fromkeys(group_of.get(name, (name,)) for name in factors)
    levels, codes = {}, []
    for group in groups:
        names, code = _joint(values, group)
        levels[JOINT.join(group)] = names
        codes.append(code)
    cell_codes, cell = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    variant, n_variants = np.zeros(len(values), dtype=np.intp), 1
    if "variant" in values:
        variant, names_of = pd.factorize(values["variant"].astype(str), sort=True)
        n_variants = max(len(names_of), 1)
    value = values["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    ok = ~np.isnan(value)
    at = cell[ok] * n_variants + variant[ok]
    size = len(cell_codes) * n_variants
    counts = np.bincount(at, minlength=size)
    sums = np.bincount(at, weights=value[ok], minlength=size)
    return _Cells(levels, cell_codes, divide(sums, counts).reshape(-1, n_variants))


def _check(values: pd.DataFrame, factors: Sequence[str], linked: Sequence[Sequence[str]]) -> None:
    unknown = [name for name in [*factors, "value"] if name not in values]
    if unknown or not factors:
        raise ConfigError(f"factors {unknown or list(factors)}: name columns among {list(values.columns)}")
    for group in linked:
        named = [name for name in group if name in factors]
        if named and len(named) < len(group):
            raise ConfigError(f"factors {named}: linked with {list(group)}; name all of them or none")
    for name in factors:
        if values[name].isna().any():
            raise DataError(f"factor '{name}': a flow has no level; every flow needs one of each factor")


def _joint(values: pd.DataFrame, group: tuple[str, ...]) -> tuple[list[str], Ints]:
    """Return the levels of one factor or linked group that occur, and each row's code among them."""
    parts = [
        column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype(str).astype("category")
        for column in (values[name] for name in group)
    ]
    codes = np.stack([part.cat.codes.to_numpy(dtype=np.intp) for part in parts], axis=1)
    used, code = np.unique(codes, axis=0, return_inverse=True)
    labels = [
        JOINT.join(str(part.cat.categories[c]) for part, c in zip(parts, row, strict=True)) for row in used
    ]
    return labels, code.reshape(-1)


def _baseline(factor: str, names: list[str], baselines: Mapping[str, str]) -> int:
    """Return the position of a factor's baseline: the first level where none is named."""
    parts = factor.split(JOINT)
    if factor in baselines:
        base = baselines[factor]
    elif all(part in baselines for part in parts):
        base = JOINT.join(baselines[part] for part in parts)
    else:
        return 0
    if base not in names:
        raise ConfigError(f"baseline '{base}' is no level of factor '{factor}'; choose among {names}")
    return names.index(base)


def _table(means: Floats, grid: Ints) -> Floats:
    """Return levels x contexts: the mean of each cell's valid answers, NaN where there is none."""
    valid = ~np.isnan(means)
    cell = divide(np.nansum(means, axis=1), valid.sum(axis=1))
    return np.where(grid >= 0, cell[grid], np.nan)


def _replicates(
    cells: _Cells, bases: Sequence[int | None], seed: int, resample: Resample, draws: int
) -> list[Floats]:
    """Return, per factor, draws x levels: the marginal means drawn, or the effects against its base."""
    check_resample(resample)
    by_variant, *by_context = np.random.default_rng(seed).spawn(1 + len(bases))
    grids = [cells.grid(i) for i in range(len(bases))]
    parts: list[list[Floats]] = [[] for _ in bases]
    valid = (~np.isnan(cells.means)).astype(np.float64).T
    sums = np.nan_to_num(cells.means).T
    for start in range(0, draws, _CHUNK):
        n = min(_CHUNK, draws - start)
        weight = draw_weights(by_variant, cells.means.shape[1], n)
        # A draw of the variants may hold none of a cell's valid answers; the cell is then not there.
        drawn = divide(weight @ sums, weight @ valid)
        for grid, base, rng, part in zip(grids, bases, by_context, parts, strict=True):
            contexts = grid.shape[1]
            of_context = draw_weights(rng, contexts, n) if resample == "both" else np.ones((n, contexts))
            part.append(_averages(drawn, grid, base, of_context))
    return [np.concatenate(part) for part in parts]


def _averages(drawn: Floats, grid: Ints, base: int | None, weight: Floats) -> Floats:
    """Return draws x levels weighted means over the contexts in which a level (and the base) is there."""
    table = drawn[:, grid]
    if (grid < 0).any():
        table[:, grid < 0] = np.nan
    if base is not None:
        table = table - table[:, [base]]
    absent = np.isnan(table)
    if not absent.any():
        return np.asarray(np.einsum("dlc,dc->dl", table, weight) / weight.sum(axis=1, keepdims=True))
    table[absent] = 0.0
    there = (~absent).astype(np.float64)
    return divide(np.einsum("dlc,dc->dl", table, weight), np.einsum("dlc,dc->dl", there, weight))


def _interval(
    cells: _Cells, drawn: Floats, n: int, resample: Resample, confidence: float, status: str, reason: str
) -> dict[str, Any]:
    """Return standard error, interval, status and reason of one row."""
    none = {"std_err": np.nan, "conf_low": np.nan, "conf_high": np.nan, "status": status, "reason": reason}
    if status not in ("ok", "incomplete"):
        return none
    variants = cells.means.shape[1]
    if variants < FEWEST and (resample == "variants" or n < FEWEST):
        why = f"{variants} variant and {n} contexts give no spread to draw from"
        return none | {"status": "no_interval", "reason": f"{reason}; {why}" if reason else why}
    std_err, low, high = interval(drawn, confidence)
    return none | {"std_err": std_err, "conf_low": low, "conf_high": high}


def _mean_status(n: int, missing: int, alone: bool) -> tuple[str, str]:
    if n == 0:
        return "no_answers", "no flow with this level has a value"
    if alone:
        return "not_separable", "no combination of the other factors occurs with this and another level"
    if missing:
        return "incomplete", f"{missing} of {n + missing} combinations of the other factors have no value"
    return "ok", ""


def _effect_status(n: int, missing: int, n_levels: int, answered: bool) -> tuple[str, str]:
    if n_levels < 2:
        return "constant", "the factor has one level"
    if not answered:
        return "no_answers", "no flow with this level, or with the baseline, has a value"
    if n == 0:
        return "no_common_context", "level and baseline share no combination of the other factors"
    if missing:
        return "incomplete", f"{missing} of {n + missing} combinations of the other factors were left out"
    return "ok", ""
