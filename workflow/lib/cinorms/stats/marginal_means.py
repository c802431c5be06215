"""Marginal means and average marginal component effects: what each level of a factor does, without a model.

A design crosses its factors, so the mean level of all flows with one level of a factor is already an average
over every combination of the other factors, each counted once: its marginal mean. The difference between
two levels of a factor, within each combination of the others and averaged over them, is the average
marginal component effect (AMCE). Both speak of the combinations in the design, equally weighted.

Linked factors vary together and are one joint factor here ("place + inference"): nothing in the design
can tell their effects apart. Combinations of the other factors are called contexts below.

Every difference is taken within one template: where a level is not answered in some wordings, comparing it over the
others would take what the wordings add for an effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import ConfigError, DataError
from cinorms.norms.assessment import divide
from cinorms.stats.grouping import group_rows
from cinorms.stats.wordings import CONFIDENCE, FEWEST, Units, interval, spread
from cinorms.vignettes.factors import JOINT

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_COUNTS = ("n", "n_missing", "templates", "templates_missing")
_INTERVAL = ("std_err", "conf_low", "conf_high", "status", "reason")
#: The statuses of a row that has an estimate.
_WITH_NUMBERS = ("ok", "incomplete")


@dataclass(frozen=True)
class _Cells:
    """The design as cells (combinations of levels): their codes per factor and their mean per template."""

    levels: dict[str, list[str]]
    codes: Ints  # cells x factors
    means: Floats  # cells x templates, NaN where there is no valid answer

    def tables(self, factor: int) -> Floats:
        """Return levels of a factor x contexts x templates: the means, NaN where there is no valid answer."""
        _, context = group_rows(np.delete(self.codes, factor, axis=1).T)
        shape = (len(list(self.levels.values())[factor]), context.max(initial=-1) + 1, self.means.shape[1])
        found = np.full(shape, np.nan)
        found[self.codes[:, factor], context] = self.means
        return found


def marginal_means(
    values: pd.DataFrame,
    factors: Sequence[str],
    linked: Sequence[Sequence[str]] = (),
    fixed_flows: bool = False,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the marginal mean of every level of every factor.

    Parameters
    ----------
    values
        One row per answer: ``template``, ``value`` (missing where there is no valid answer), the factors. A cell
        is the mean of its templates, each the mean of its valid answers; each cell weighs the same.
    factors
        All factors of the design; what is left out is averaged over within the cells.
    linked
        Groups of factors that vary together.
    fixed_flows
        Whether the design's combinations are all there are; otherwise they are a sample of more.
    confidence
        Of the interval: see `wordings`.

    Columns: factor, level, n (contexts with a value), n_missing (contexts in which this level has none),
    templates (in which it has a value), templates_missing, mean, std_err, conf_low, conf_high (levels), status,
    reason. ``incomplete``: the mean is over the contexts and templates there are, which other levels need not
    share. ``not_separable``: no context is shared with any other level, so the mean would be one of the
    contexts, and none is given. ``no_answers``: no cell has a value. ``no_interval``: too few templates or
    contexts.

    Raises `ConfigError` for an unknown factor or half a linked group, `DataError` for a missing level.

    """
    cells = _cells(values, factors, linked)
    rows = [
        {"factor": factor, "level": level} | _mean_row(tables, j, fixed_flows, confidence)
        for i, (factor, names) in enumerate(cells.levels.items())
        for tables in [cells.tables(i)]
        for j, level in enumerate(names)
    ]
    return pd.DataFrame(rows, columns=["factor", "level", *_COUNTS, "mean", *_INTERVAL])


def amce(
    values: pd.DataFrame,
    factors: Sequence[str],
    baselines: Mapping[str, str],
    linked: Sequence[Sequence[str]] = (),
    fixed_flows: bool = False,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the average marginal component effect of every level against its factor's baseline.

    The difference of level and baseline is taken within each context and template in which both have a
    value, averaged over the contexts of a template, and then over the templates, which count equally. So a missing
    cell never leads to a comparison of different contexts or wordings. In a complete design it is the
    difference of their marginal means. Parameters as in `marginal_means`; ``baselines`` names the baseline
    of each factor, a linked group's under its joint name ("place + inference") or by its parts; the default is
    the first level.

    Columns: factor, level, baseline, n (contexts compared), n_missing (contexts left out), templates (in which
    they are compared), templates_missing, estimate, std_err, conf_low, conf_high (levels), status, reason.
    ``incomplete``: some contexts or templates were left out. ``no_common_context``: level and baseline never
    meet in one, so the effect cannot be separated from others. ``no_common_template``: they do, but never in the
    same wording. ``constant``: the factor has one level. ``no_answers`` and ``no_interval`` as of
    `marginal_means`.
    """
    cells = _cells(values, factors, linked)
    bases = [_baseline(factor, names, baselines) for factor, names in cells.levels.items()]
    rows = [
        {"factor": factor, "level": level, "baseline": names[base]}
        | _effect_row(tables, j, base, fixed_flows, confidence)
        for i, ((factor, names), base) in enumerate(zip(cells.levels.items(), bases, strict=True))
        for tables in [cells.tables(i)]
        for j, level in enumerate(names)
        if j != base or len(names) == 1
    ]
    return pd.DataFrame(rows, columns=["factor", "level", "baseline", *_COUNTS, "estimate", *_INTERVAL])


def _mean_row(tables: Floats, level: int, fixed_flows: bool, confidence: float) -> dict[str, Any]:
    table = tables[level]
    present = np.asarray(~np.isnan(tables).all(axis=2))
    shared = bool((present[level] & np.delete(present, level, axis=0)).any())
    alone = len(tables) > 1 and not shared
    row = _counts(table)
    status, reason = _mean_status(row, alone)
    if status not in _WITH_NUMBERS:
        return row | {"mean": np.nan} | _no_interval(status, reason)
    size: Ints = (~np.isnan(table)).sum(axis=1)
    of_context, n = divide(np.nansum(table, axis=1), size), row["n"]
    there = np.asarray(size > 0)
    mean = float(of_context[there].mean())
    weight = np.where(np.isnan(table), 0.0, divide(1.0, size)[:, None] / n)[there]
    templates = Units(np.nansum((table - of_context[:, None])[there] * weight, axis=0), weight.sum(axis=0))
    contexts = Units((of_context[there] - mean) / n, weight.sum(axis=1))
    found = _Estimate(mean, templates, contexts, (table - mean)[there] * weight)
    return row | {"mean": mean} | _interval(found, row, fixed_flows, confidence, status, reason)


def _effect_row(
    tables: Floats, level: int, base: int, fixed_flows: bool, confidence: float
) -> dict[str, Any]:
    gaps = tables[level] - tables[base] if level != base else np.full_like(tables[level], np.nan)
    row = _counts(gaps)
    answered = ~np.isnan(tables[[level, base]])
    status, reason = _effect_status(row, len(tables), answered)
    if status not in _WITH_NUMBERS:
        return row | {"estimate": np.nan} | _no_interval(status, reason)
    used = gaps[:, ~np.isnan(gaps).all(axis=0)]
    of_template = np.nanmean(used, axis=0)
    n_templates, n = used.shape[1], (~np.isnan(used)).sum(axis=0)
    effect = float(of_template.mean())
    used = used[~np.isnan(used).all(axis=1)]
    weight = np.where(np.isnan(used), 0.0, 1.0 / (n * n_templates))
    templates = Units((of_template - effect) / n_templates, weight.sum(axis=0))
    contexts = Units(np.nansum((used - of_template) * weight, axis=1), weight.sum(axis=1))
    found = _Estimate(effect, templates, contexts, (used - effect) * weight)
    return row | {"estimate": effect} | _interval(found, row, fixed_flows, confidence, status, reason)


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
    first, cell = group_rows(codes)
    cell_codes = np.stack(codes, axis=1)[first]
    template, names_of = pd.factorize(values["template"].astype(str), sort=True)
    n_templates = max(len(names_of), 1)
    value = values["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    ok = ~np.isnan(value)
    at = cell[ok] * n_templates + template[ok]
    size = len(cell_codes) * n_templates
    counts = np.bincount(at, minlength=size)
    sums = np.bincount(at, weights=value[ok], minlength=size)
    return _Cells(levels, cell_codes, divide(sums, counts).reshape(-1, n_templates))


def _check(values: pd.DataFrame, factors: Sequence[str], linked: Sequence[Sequence[str]]) -> None:
    unknown = [name for name in [*factors, "template", "value"] if name not in values]
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
    first, code = group_rows(np.stack([part.cat.codes.to_numpy(dtype=np.int64) for part in parts]))
    used = zip(*(part.iloc[first] for part in parts), strict=True)
    return [JOINT.join(map(str, row)) for row in used], code


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


def _counts(table: Floats) -> dict[str, int]:
    """Return how many contexts and templates of a table (contexts x templates) have a value, and how many not."""
    there = ~np.isnan(table)
    contexts, templates = int(there.any(axis=1).sum()), int(there.any(axis=0).sum())
    missing = (table.shape[0] - contexts, templates, table.shape[1] - templates)
    return dict(zip(_COUNTS, (contexts, *missing), strict=True))


class _Estimate(NamedTuple):
    """A mean or an effect, and what templates, contexts and each context in each template bring to it."""

    value: float
    templates: Units
    contexts: Units
    cells: Floats


def _interval(
    found: _Estimate,
    counts: Mapping[str, int],
    fixed_flows: bool,
    confidence: float,
    status: str,
    reason: str,
) -> dict[str, Any]:
    """Return standard error, interval, status and reason of one row."""
    few = []
    if counts["templates"] < FEWEST:
        few.append("an interval needs at least two templates")
    if not fixed_flows and counts["n"] < FEWEST:
        few.append("an interval needs at least two combinations of the other factors")
    if few:
        return _no_interval("no_interval", "; ".join([*([reason] if reason else []), *few]))
    variance, freedom = spread(found.templates, None if fixed_flows else found.contexts, found.cells)
    numbers = interval(found.value, variance, freedom, confidence)
    return dict(zip(_INTERVAL, (*numbers, status, reason), strict=True))


def _no_interval(status: str, reason: str) -> dict[str, Any]:
    return dict(zip(_INTERVAL, (np.nan, np.nan, np.nan, status, reason), strict=True))


def _mean_status(row: Mapping[str, int], alone: bool) -> tuple[str, str]:
    if row["n"] == 0:
        return "no_answers", "no flow with this level has a value"
    if alone:
        return "not_separable", "no combination of the other factors occurs with this and another level"
    return _complete(row, "have no value")


def _effect_status(row: Mapping[str, int], n_levels: int, answered: npt.NDArray[np.bool_]) -> tuple[str, str]:
    """Return the status of an effect; ``answered`` is level and baseline x contexts x templates."""
    if n_levels < 2:
        return "constant", "the factor has one level"
    if not answered.any(axis=(1, 2)).all():
        return "no_answers", "no flow with this level, or with the baseline, has a value"
    if not answered.any(axis=2).all(axis=0).any():
        return "no_common_context", "level and baseline share no combination of the other factors"
    if row["n"] == 0:
        return (
            "no_common_template",
            "level and baseline have values in common combinations, but never in the same template",
        )
    return _complete(row, "are left out")


def _complete(row: Mapping[str, int], fate: str) -> tuple[str, str]:
    """Return ``ok``, or ``incomplete`` with what has no value and its ``fate``."""
    parts = [
        f"{row[missing]} of {row[missing] + row[there]} {what}"
        for there, missing, what in (
            ("n", "n_missing", "combinations of the other factors"),
            ("templates", "templates_missing", "templates"),
        )
        if row[missing]
    ]
    return ("incomplete", f"{' and '.join(parts)} {fate}") if parts else ("ok", "")
