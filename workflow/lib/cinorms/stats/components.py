"""Which part of the variance of the answers each factor brings, next to templates and single answers.

An answer is a sum of independent effects: of each factor, of what factors do together, of the template, of flow and
template, and of the single answer. Method of moments of a balanced design (docs/method/stats/trust.md).
"""

from collections.abc import Mapping
from math import prod

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats, Ints, divide, mean_over
from cinorms.stats.reliability import Cells, shares_of, variances

#: What factors do together, as a source.
TOGETHER = "interactions of the factors"
#: Rounds in which flows without an answer are filled in; the error falls by their share in each.
_ROUNDS = 50


def components(levels: pd.DataFrame, templates: pd.Series, factors: Mapping[str, Ints]) -> pd.DataFrame:
    """Return variance and share of every source: the ``factors`` (codes of each flow's level), then those of answers.

    ``levels`` is `norms.level_matrix(answers)`. Shares are of this design, where the L levels of a factor are all:
    its variance counts (L - 1) / L times, and that of all combinations likewise. A negative variance has share 0.
    Status: ``ok``; ``negative``; ``one_level`` of a factor; ``incomplete`` where a flow without an answer was filled in
    with what its factors do elsewhere; ``not_crossed`` where not every combination of levels was asked equally often:
    what the flow brings is then in one row; and those of `reliability.variance_shares`.
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
