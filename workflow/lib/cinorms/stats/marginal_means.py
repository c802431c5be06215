"""Marginal means: what each level of a factor does, without a model.

They speak of the combinations in the design, equally weighted (docs/method/stats/tests.md). Linked factors vary
together and are one joint factor here ("place + inference"). Combinations of the other factors are called contexts
below.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.stats.wordings import Units, spread
from cinorms.vignettes.factors import JOINT
from cumulink import group_rows
from rewordings import FEWEST, interval
from rewordings.arrays import divide, mean_over

_COUNTS = ("n", "n_missing", "templates")
_INTERVAL = ("std_err", "conf_low", "conf_high", "status", "reason")


def marginal_means(
    values: pd.DataFrame,
    factors: Sequence[str],
    linked: Sequence[Sequence[str]],
) -> pd.DataFrame:
    """Return the marginal mean of every level of every factor, with its interval (`wordings`).

    ``values`` has one row per answer: ``template``, ``value`` (missing where there is no valid answer), the
    factors. A cell is the mean of its templates, each the mean of its valid answers; each cell weighs the same.
    What is left out of ``factors`` is averaged over within the cells; ``linked`` are groups of factors that vary
    together. The design's combinations are all there are.

    Status ``incomplete``: the mean is over the contexts and templates there are, which other levels need not share;
    ``not_separable``: no context is shared with any other level; the mean would be one of the contexts.
    """
    rows = []
    for factor, names, tables in _tables(values, factors, linked):
        present = np.asarray(~np.isnan(tables).all(axis=2))
        for j, level in enumerate(names):
            problem = None
            if not present[j].any():
                problem = "no_answers", "no flow with this level has a value"
            elif len(names) > 1 and not (present[j] & np.delete(present, j, axis=0)).any():
                lonely = "no combination of the other factors occurs with this and another level"
                problem = "not_separable", lonely
            row = _row(tables[j], problem)
            rows.append({"factor": factor, "level": level} | row)
    return pd.DataFrame(rows, columns=["factor", "level", *_COUNTS, "mean", *_INTERVAL])


def _row(table: Floats, problem: tuple[str, str] | None) -> dict[str, Any]:
    """Return counts, mean, interval, status and reason of a table (contexts x templates).

    ``problem`` is the status and the reason for having no mean.
    """
    there = ~np.isnan(table)
    n, templates = (int(there.any(axis=axis).sum()) for axis in (1, 0))
    missing = (len(table) - n, table.shape[1] - templates)
    row: dict[str, Any] = dict(zip(_COUNTS, (n, missing[0], templates), strict=True))
    if problem:
        return row | {"status": problem[0], "reason": problem[1]}
    counted = zip(missing, table.shape, ("combinations of the other factors", "templates"), strict=True)
    lost = [f"{gone} of {size} {what}" for gone, size, what in counted if gone]
    status, reason = ("incomplete", f"{' and '.join(lost)} have no value") if lost else ("ok", "")
    value, of_templates = _mean(table)
    row["mean"] = value
    if templates < FEWEST:
        few = "an interval needs at least two wordings"
        return row | {"status": "no_interval", "reason": "; ".join(filter(None, (reason, few)))}
    return row | dict(zip(_INTERVAL, (*interval(value, *spread(of_templates)), status, reason), strict=True))


def _mean(table: Floats) -> tuple[float, Units]:
    """Return the mean of a level, over the templates of a context, then over the contexts; and what templates add."""
    size: Ints = (~np.isnan(table)).sum(axis=1)
    of_context, there = mean_over(table, axis=1), size > 0
    n = there.sum()
    mean = float(of_context[there].mean())
    weight = np.where(np.isnan(table), 0.0, divide(1.0, size)[:, None] / n)[there]
    templates = Units(np.nansum((table - of_context[:, None])[there] * weight, axis=0), weight.sum(axis=0))
    return mean, templates


def _tables(
    values: pd.DataFrame, factors: Sequence[str], linked: Sequence[Sequence[str]]
) -> Iterator[tuple[str, list[str], Floats]]:
    """Yield each factor, its levels, and levels x contexts x templates: the means, NaN where there is none.

    Linked factors are one; levels are in the order of their categories, or else sorted.
    """
    group_of = {name: tuple(group) for group in linked for name in group}
    groups = dict.fromkeys(group_of.get(name, (name,)) for name in factors)
    levels, codes_of = [], []
    for group in groups:
        parts = [
            column if isinstance(column.dtype, pd.CategoricalDtype) else column.astype(str).astype("category")
            for column in (values[name] for name in group)
        ]
        first, code = group_rows(np.stack([part.cat.codes.to_numpy(dtype=np.int64) for part in parts]))
        used = zip(*(part.iloc[first] for part in parts), strict=True)
        levels.append([JOINT.join(map(str, row)) for row in used])
        codes_of.append(code)
    first, cell = group_rows(codes_of)
    codes = np.stack(codes_of, axis=1)[first]
    template, template_names = pd.factorize(values["template"].astype(str), sort=True)
    n_templates = max(len(template_names), 1)
    value = values["value"].to_numpy(dtype=np.float64, na_value=np.nan)
    ok = ~np.isnan(value)
    at, size = cell[ok] * n_templates + template[ok], len(codes) * n_templates
    sums, counts = np.bincount(at, value[ok], size), np.bincount(at, minlength=size)
    means = divide(sums, counts).reshape(-1, n_templates)
    for factor, (group, names) in enumerate(zip(groups, levels, strict=True)):
        _, context = group_rows(np.delete(codes, factor, axis=1).T)
        tables = np.full((len(names), context.max(initial=-1) + 1, n_templates), np.nan)
        tables[codes[:, factor], context] = means
        yield JOINT.join(group), names, tables
