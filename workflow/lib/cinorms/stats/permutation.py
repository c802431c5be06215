"""Tests and contrasts between two models that include the noise of the wording (docs/method/stats/tests.md).

Whole wordings are the units. ``levels`` is `norms.level_matrix(answers)`:
flows x variants, NaN where there is no valid answer. Only cells that both models answered count. ``templates`` (index:
variant) is the wording of each variant; variants of a wording (its answer orders) are averaged within a flow.
"""

from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.arrays import Floats
from cinorms.stats.equivalence import DifferenceLimits, decide, paired
from cinorms.stats.pvalues import show
from cinorms.stats.wordings import mean_interval, template_means
from cumulink import tails
from rewordings import FEWEST

_CHUNK = 512
#: Sums of the same numbers in another order may differ in the last digits, and are still equal.
_ROUNDING = 1e-9


def compare(
    a: pd.DataFrame,
    b: pd.DataFrame,
    templates: pd.Series,
    seed: int,
    draws: int = 9999,
    margin: float | None = None,
) -> pd.DataFrame:
    """Return the mean difference of two models with its interval (`wordings`), and the label-swap test, as one row.

    The statistic is the mean of ``d[f, t]``, the difference of the two models' levels in flow f and template t.
    Swapping the models in a template turns the signs of all its d; the labels are swapped in whole templates. If there
    are at most ``draws`` swaps all are made, else ``draws`` at random: ``p = (1 + extreme) / (1 + draws)``.

    ``log10_p_equivalent`` is of the two one-sided tests that the difference is smaller than ``margin``, with a
    dissenting template of twice the margin. Raises ``DataError`` for a variant without a template.
    """
    # Flows x templates: the difference of the two models' means over the variants that both answered.
    flows = a.index.intersection(b.index).sort_values()
    variants = a.columns.intersection(b.columns).sort_values()
    d = template_means(a.loc[flows, variants] - b.loc[flows, variants], templates)
    d = d[(~np.isnan(d)).any(axis=1)][:, (~np.isnan(d)).any(axis=0)]
    n_flows, n_templates = d.shape
    row: dict[str, Any] = {"n_flows": n_flows, "n_templates": n_templates}
    row["estimate"] = float(np.nanmean(d)) if d.size else np.nan
    row |= dict.fromkeys(
        ("std_err", "conf_low", "conf_high", "log10_p", "p_smallest", "log10_p_equivalent"), np.nan
    )
    status, reason = "ok", ""
    if d.size == 0:
        status, reason = "no_flows", "the models have no answers to the same flow and wording"
    elif n_templates < FEWEST:
        status, reason = "one_template", "the test needs at least two wordings"
    if margin and status == "ok":
        p, _ = decide(paired(d, True), DifferenceLimits(-margin, margin, 2 * margin))
        row["log10_p_equivalent"] = float(np.log10(max(p, tails.SMALLEST)))
    if status == "ok" and not np.nansum(np.abs(d)):
        status, reason = "no_differences", "the models never differ in a common cell"
    elif status == "ok":
        p, smallest = _swap_p(d, seed, draws)
        if smallest > 0.05:
            reason = f"with {n_templates} wordings p cannot be below {show(np.log10(smallest))}"
        _, std_err, low, high = mean_interval(d, True)
        row |= {"std_err": std_err, "conf_low": low, "conf_high": high}
        row |= {"log10_p": float(np.log10(p)), "p_smallest": smallest}
    return pd.DataFrame([row | {"status": status, "reason": reason}])


def _swap_p(d: Floats, seed: int, draws: int) -> tuple[float, float]:
    """Return the p-value of the label-swap test and the smallest that it could give."""
    by_template = np.nansum(d, axis=0)
    observed = abs(float(by_template.sum())) - _ROUNDING * float(np.nansum(np.abs(d)))
    all_swaps = 2.0 ** (len(by_template) - 1)  # a swap and its opposite are equally extreme
    if 2 * all_swaps <= draws:
        bits = np.arange(int(2 * all_swaps))[:, None] >> np.arange(len(by_template)) & 1
        sums = (2.0 * bits - 1.0) @ by_template
        return float((np.abs(sums) >= observed).mean()), float(1 / all_swaps)
    rng, extreme = np.random.default_rng(seed).spawn(1)[0], 0
    for start in range(0, draws, _CHUNK):
        sums = _random_signs(rng, min(_CHUNK, draws - start), by_template)
        extreme += int((np.abs(sums) >= observed).sum())
    smallest = max(1 / (1 + draws), 1 / all_swaps)
    return max((1 + extreme) / (1 + draws), smallest), smallest


def _random_signs(rng: np.random.Generator, n: int, x: Floats) -> Floats:
    """Return n sums of ``x`` with random signs."""
    bits = np.unpackbits(rng.integers(256, size=(n, -(-len(x) // 8)), dtype=np.uint8), axis=1, count=len(x))
    return np.asarray(2.0 * (bits @ x) - x.sum())
