"""Which part of the variance of the answers each factor brings, next to templates and single answers.

An answer is a sum of independent effects: of each factor, of what factors do together, of the template, of flow and
template, and of the single answer: its order, and what differs when it is asked again (docs/method/stats/trust.md).
"""

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints
from cinorms.stats.wordings import template_sums
from rewordings.arrays import divide, mean_over

#: Sources of variance, next to which flows are divided into factors.
SOURCES = ("flow", "template", "flow x template", "order and single answer")
#: What factors do together, as a source.
TOGETHER = "interactions of the factors"
#: Rounds in which flows without an answer are filled in; the error falls by their share in each.
_ROUNDS = 50


class Cells(NamedTuple):
    """Flows x templates: sum, number, and sum of squares of the valid answers, about the mean of all."""

    sums: Floats
    size: Floats
    squares: Floats

    @classmethod
    def of(cls, levels: pd.DataFrame, templates: pd.Series) -> "Cells":
        """Return those of flows x variants."""
        centred = levels - np.nanmean(levels.to_numpy()) if levels.notna().any(axis=None) else levels
        return cls(*template_sums(centred, templates), template_sums(centred**2, templates)[0])

    def part(self, flows: Any = slice(None), templates: Any = slice(None)) -> "Cells":
        """Return the cells of some flows and templates."""
        return Cells(*(part[flows][:, templates] for part in self))


def components(levels: pd.DataFrame, templates: pd.Series, factors: Mapping[str, Ints]) -> pd.DataFrame:
    """Return variance and share of every source: the ``factors`` (codes of each flow's level), then those of answers.

    ``levels`` is `norms.level_matrix(answers)`. Shares are of this design, where the L levels of a factor are all:
    its variance counts (L - 1) / L times, and that of all combinations likewise. A negative variance has share 0.
    Status: ``ok``; ``negative``; ``one_level`` of a factor; ``incomplete`` where a flow without an answer was filled in
    with what its factors do elsewhere; ``not_crossed`` where not every combination of levels was asked equally often:
    what the flow brings is then in one row; and those of `variances`.
    """
    cells = Cells.of(levels, templates)
    rows = variances(cells)
    whole = rows["flow"]
    if whole[1] == "no_flows" or not crossed(factors):
        rows["flow"] = (whole[0], "not_crossed" if whole[1] == "ok" else whole[1])
        return shares_of(rows)
    of_flow = _of_factors(cells, factors, _noise(cells, rows))
    del rows["flow"]
    spread = {name: 1 - 1 / (int(codes.max()) + 1) for name, codes in factors.items()}
    n = len(cells.sums)
    spread[TOGETHER] = (n - 1 - sum(int(codes.max()) for codes in factors.values())) / n
    return shares_of(of_flow | rows, spread)


def shares_of(
    rows: Mapping[str, tuple[float, str]], spread: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return source, variance, share of the sum (a negative variance counting as 0) and status of each source.

    ``spread``: the part of a source's variance that counts; all of it where it is not named.
    """
    variance = np.array([number for number, _ in rows.values()])
    counted = np.maximum(variance, 0.0) * [(spread or {}).get(name, 1.0) for name in rows]
    total = np.nansum(counted)
    none = {"ok": "no_variance"} if not total > 0 else {}
    status = ["negative" if number < 0 else none.get(said, said) for number, said in rows.values()]
    share = counted / total if total > 0 else np.full(len(rows), np.nan)
    return pd.DataFrame({"source": [*rows], "variance": variance, "share": share, "status": status})


def by_source(shares: pd.DataFrame, models: Iterable[str]) -> pd.DataFrame:
    """Return the shares of ``models`` in a table of `components`: a row per model, a column per source."""
    return shares[shares["model"].isin(list(models))].pivot_table("share", "model", "source")


def over_models(shares: pd.DataFrame, models: Iterable[str]) -> "pd.Series[float]":
    """Return the mean of `by_source` over models."""
    return by_source(shares, models).mean()


def crossed(factors: Mapping[str, Ints]) -> bool:
    """Tell whether every combination of levels is asked equally often."""
    sizes = [int(codes.max()) + 1 for codes in factors.values()]
    # Factors of a list of flows can have more combinations than memory has room for.
    if not sizes or prod(sizes) > len(next(iter(factors.values()))):
        return False
    counts = np.bincount(np.ravel_multi_index(list(factors.values()), sizes), minlength=prod(sizes))
    return bool((counts == counts[0]).all())


def _noise(cells: Cells, sources: Mapping[str, tuple[float, str]]) -> float:
    """Return by how much the means of flows vary although the flows are alike."""
    size = cells.size[cells.size > 0]
    _, _, both, answer = (max(np.nan_to_num(variance), 0.0) for variance, _ in sources.values())
    templates = (cells.size > 0).sum(axis=1)
    noise = (both + answer * float((1 / size).mean())) * float((1 / templates[templates > 0]).mean())
    return float(noise)


def _of_factors(cells: Cells, factors: Mapping[str, Ints], noise: float) -> dict[str, tuple[float, str]]:
    """Return the variance of each factor and of what they do together, each with its status."""
    means = divide(cells.sums, cells.size)
    means -= np.nanmean(means, axis=0)  # templates differ alike for all flows, also where some are missing
    flow = mean_over(means, axis=1)
    missing = np.isnan(flow)
    filled = np.where(missing, 0.0, flow)
    for _ in range(_ROUNDS if missing.any() else 0):
        fitted = filled.mean() + sum(_effects(filled, codes) for codes in factors.values())
        filled = np.where(missing, fitted, filled)
    effects = {name: _effects(filled, codes) for name, codes in factors.items()}
    rest = filled - filled.mean() - sum(effects.values())
    used = {name: int(codes.max()) for name, codes in factors.items()}  # levels less 1
    spare = len(filled) - 1 - sum(used.values()) - int(missing.sum())
    together = float((rest**2).sum()) / spare if spare > 0 else np.nan
    status = "incomplete" if missing.any() else "ok"
    found = {}
    for name, effect in effects.items():
        if not used[name]:
            found[name] = (np.nan, "one_level")
            continue
        square = float((effect**2).sum()) / used[name]
        found[name] = ((square - np.nan_to_num(together)) * (used[name] + 1) / len(filled), status)
    return found | {TOGETHER: (together - noise, status)}


def _effects(values: Floats, codes: Ints) -> Floats:
    """Return what the level of each flow adds to the mean."""
    return np.asarray((np.bincount(codes, values) / np.bincount(codes))[codes] - values.mean())


# --- Flows, templates and single answers


def variances(asked: Cells) -> dict[str, tuple[float, str]]:
    """Return the variance of each source, NaN where it is not known, and ok or the reason.

    By Henderson's method 3 on the means of the (flow, template) cells, which allows for missing answers. Reasons:
    ``one_template``, ``one_order`` (then the source above holds the difference too), ``no_flows``.
    """
    sums, size, squares = asked.part((asked.size > 0).any(axis=1), (asked.size > 0).any(axis=0))
    cells = divide(sums, size)
    within = float((squares - np.nan_to_num(cells) * sums).sum())
    n_cells, (n_flows, n_templates) = int((size > 0).sum()), size.shape
    spare = int(size.sum()) - n_cells
    order = max(within, 0.0) / spare if spare > 0 else np.nan
    value = dict.fromkeys(SOURCES, np.nan) | {SOURCES[-1]: order}
    reason = dict.fromkeys(SOURCES, "ok") | ({} if spare > 0 else {SOURCES[-1]: "one_order"})
    spare_cells = n_cells - n_flows - n_templates + 1
    noise = 0.0 if np.isnan(order) else order * float(np.mean(1 / size[size > 0]))
    if n_flows < 2:
        reason = dict.fromkeys(SOURCES, "no_flows")
        value[SOURCES[-1]] = np.nan
    elif n_templates < 2 or spare_cells < 1:
        value["flow"] = float(np.nanvar(np.nanmean(cells, axis=1), ddof=1)) - noise
        reason |= {"template": "one_template", "flow x template": "one_template"}
    else:
        left, without_flow, without_template = _residual_sums(cells)
        mean_square = left / spare_cells
        value["flow x template"] = mean_square - noise
        value["flow"] = (without_flow - left - (n_flows - 1) * mean_square) / (n_cells - n_templates)
        value["template"] = (without_template - left - (n_templates - 1) * mean_square) / (n_cells - n_flows)
    return {source: (value[source], reason[source]) for source in SOURCES}


def _residual_sums(cells: Floats) -> tuple[float, float, float]:
    """Return the residual sums of squares of flow + template, of template only and of flow only.

    The additive least-squares fit is solved in the templates alone (few), with the flows eliminated.
    """
    has = ~np.isnan(cells)
    y = np.where(has, cells, 0)
    n_f, n_t = has.sum(axis=1), has.sum(axis=0)
    flow_mean = y.sum(axis=1) / n_f
    template_mean = y.sum(axis=0) / n_t
    scaled = has / n_f[:, None]
    normal = np.diag(n_t.astype(np.float64)) - has.T @ scaled
    template = np.linalg.lstsq(normal, y.sum(axis=0) - scaled.T @ y.sum(axis=1), rcond=None)[0]
    flow = (y - has * template).sum(axis=1) / n_f
    return (
        float(((y - flow[:, None] - template) ** 2)[has].sum()),
        float(((y - template_mean) ** 2)[has].sum()),
        float(((y - flow_mean[:, None]) ** 2)[has].sum()),
    )
