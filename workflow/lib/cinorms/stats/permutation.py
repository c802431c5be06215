"""Tests and contrasts between two models that hold the noise of the wording.

All flows are asked in the same few variants, so a wording that moves one model more than another moves it
in every flow at once. A test that takes each flow's norm as one error-free number and the flows as
independent (signed-rank, Friedman, paired t) counts that one shift as thousands of agreeing observations;
with enough flows it finds a difference between any two models. Here whole variants are the units, and
whole flows too if asked.

``levels`` is `norms.level_matrix(answers)`: flows x variants, NaN where there is no valid answer. Only
cells that both models answered count. Variants of one template (its answer orders) share its wording, so
``templates`` says which variants belong together: they are averaged within a flow and drawn as one unit,
and every flow and template then weighs the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.stats import bootstrap, pvalues
from cinorms.stats.resampling import FEWEST, Resample, check_resample

Floats = npt.NDArray[np.float64]

_CHUNK = 512
#: Sums of the same numbers in another order may differ in the last digits, and are still equal.
_ROUNDING = 1e-9


def compare(
    levels: Mapping[str, pd.DataFrame],
    seed: int,
    resample: Resample = "both",
    templates: pd.Series[Any] | None = None,
    draws: int = 9999,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the label-swap test and the bootstrap contrast for every two models, corrected over all pairs.

    Parameters
    ----------
    levels
        Flows x variants, per model.
    seed, draws, confidence
        Of the test and the bootstrap.
    resample
        ``both`` flows and wordings, to speak of flows and wordings like these; or ``variants``, to speak of
        exactly these flows in wordings like these.
    templates
        The template of each variant (index: variant); None if each variant is its own.

    Columns: model_a, model_b, n_flows, n_units (templates or variants), estimate (mean level of a less that
    of b), std_err, low, high (percentile interval), p, log10_p, p_text, each correction, p_smallest (no
    p-value can be smaller with so few units), status (``ok``, ``no_flows``, ``one_flow``, ``one_variant``,
    ``no_differences``), reason. Raises `ConfigError` for a variant without a template or another
    ``resample``.

    """
    rows = [
        pd.concat(
            [
                pd.DataFrame({"model_a": [a], "model_b": [b]}),
                _compare_two(levels[a], levels[b], seed, resample, templates, draws, confidence),
            ],
            axis=1,
        )
        for a, b in itertools.combinations(levels, 2)
    ]
    columns = ["model_a", "model_b", "n_flows", "n_units", "estimate", "std_err", "low", "high"]
    columns += ["log10_p", "p_smallest", "status", "reason"]
    table = pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)
    return pvalues.add_columns(table, corrections=True)


def label_swap(
    a: pd.DataFrame,
    b: pd.DataFrame,
    seed: int,
    resample: Resample = "both",
    templates: pd.Series[Any] | None = None,
    draws: int = 9999,
) -> pd.DataFrame:
    """Return the test that swapping the two models' labels makes no difference, by whole units.

    With the difference ``d[f, v]`` of the two models' levels in flow f and unit v, the statistic is the
    mean of d over all cells. Swapping the models in a unit turns the signs of all its d.

    ``variants``: the labels are swapped in whole units. Null hypothesis: within each unit, the answers of
    the two models to all these flows could be swapped without changing how the answers are distributed, the
    units being independent. So no model answers these flows higher in wordings like these. Exact: every
    swap is made if there are at most ``draws``, else ``draws`` at random:
    ``p = (1 + extreme) / (1 + draws)``.

    ``both``: ``d[f, v] = flow[f] + unit[v] + rest[f, v]``, all independent of each other and each as likely
    positive as negative. So no model answers higher in flows and wordings like these. The statistic is taken
    apart into what flows and what units brought to it, in proportion to the variance of either's mean, and
    both parts get random signs, by whole flows and by whole units. Where only one of them varies this is
    the exact test by that one; in between it is approximate, and as both parts contain ``rest`` it is safe
    (rejects less than it may) where the noise of single answers dominates.

    Neither tests that single norms are equal: differences that cancel in the mean are not found.

    One row: n_flows, n_units, estimate, p, log10_p, p_text, p_smallest, status, reason; see `compare`.
    """
    check_resample(resample)
    a, b = paired_cells(a, b, templates)
    row = _swap_row((a - b).to_numpy(), seed, resample, draws)
    return pvalues.add_columns(pd.DataFrame([row]), corrections=False)


def paired_cells(
    a: pd.DataFrame, b: pd.DataFrame, templates: pd.Series[Any] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both models' levels in the cells that both answered, by flow and unit.

    Flows and units without a common answer are left out, rows and columns are sorted; within a template the
    mean over its common variants is taken.
    """
    flows = a.index.intersection(b.index).sort_values()
    variants = sorted(a.columns.intersection(b.columns))
    a, b = a.loc[flows, variants], b.loc[flows, variants]
    a, b = a.where(b.notna()), b.where(a.notna())
    if templates is not None:
        unit = templates.reindex(variants)
        if unit.isna().any():
            raise ConfigError(
                f"templates: variant {unit.index[unit.isna()][0]} has none; name one for each variant"
            )
        names = unit.astype(str).to_numpy()
        a, b = a.T.groupby(names).mean().T, b.T.groupby(names).mean().T
    some = a.notna()
    rows, columns = some.any(axis=1), some.any(axis=0)
    return a.loc[rows, columns], b.loc[rows, columns]


def _compare_two(
    a: pd.DataFrame,
    b: pd.DataFrame,
    seed: int,
    resample: Resample,
    templates: pd.Series[Any] | None,
    draws: int,
    confidence: float,
) -> pd.DataFrame:
    swap = label_swap(a, b, seed, resample, templates, draws)
    if swap["status"].iloc[0] != "ok":
        return swap.assign(std_err=np.nan, low=np.nan, high=np.nan)
    a, b = paired_cells(a, b, templates)
    # The mean of the differences under common draws is the difference of the means: one pass, not two.
    interval = bootstrap.group_means(a - b, None, seed, resample, confidence=confidence)
    return swap.assign(**{name: interval[name].to_numpy() for name in ("std_err", "low", "high")})


def _swap_row(d: Floats, seed: int, resample: Resample, draws: int) -> dict[str, Any]:
    n_flows, n_units = d.shape
    row: dict[str, Any] = {"n_flows": n_flows, "n_units": n_units, "estimate": np.nan}
    row |= {"log10_p": np.nan, "p_smallest": np.nan}
    if d.size == 0:
        return row | {"status": "no_flows", "reason": "no flow and wording was answered by both models"}
    row["estimate"] = float(np.nanmean(d))
    if n_units < FEWEST:
        return row | {"status": "one_variant", "reason": "one wording says nothing about others"}
    if resample == "both" and n_flows < FEWEST:
        return row | {"status": "one_flow", "reason": "one flow says nothing about others"}
    if not np.nansum(np.abs(d)):
        return row | {"status": "no_differences", "reason": "the models never differ in a common cell"}
    p, smallest = _swap_p(d, seed, resample, draws)
    reason = ""
    if smallest > 0.05:
        reason = f"with {n_units} wordings p cannot be below {smallest:.2g}"
    return row | {"log10_p": float(np.log10(p)), "p_smallest": smallest, "status": "ok", "reason": reason}


def _swap_p(d: Floats, seed: int, resample: Resample, draws: int) -> tuple[float, float]:
    """Return the p-value of the label-swap test and the smallest that it could give."""
    by_unit = np.nansum(d, axis=0)
    observed = abs(float(by_unit.sum())) - _ROUNDING * float(np.nansum(np.abs(d)))
    all_swaps = 2.0 ** (len(by_unit) - 1)  # a swap and its opposite are equally extreme
    if resample == "variants" and 2 * all_swaps <= draws:
        bits = np.arange(int(2 * all_swaps))[:, None] >> np.arange(len(by_unit)) & 1
        sums = (2.0 * bits - 1.0) @ by_unit
        return float((np.abs(sums) >= observed).mean()), float(1 / all_swaps)
    units, flows = np.random.default_rng(seed).spawn(2)
    if resample == "both":
        by_unit, by_flow = _parts(d)
    extreme = 0
    for start in range(0, draws, _CHUNK):
        n = min(_CHUNK, draws - start)
        sums = _random_signs(units, n, by_unit)
        if resample == "both":
            sums = sums + _random_signs(flows, n, by_flow)
        extreme += int((np.abs(sums) >= observed).sum())
    smallest = max(1 / (1 + draws), 1 / all_swaps)
    return max((1 + extreme) / (1 + draws), smallest), smallest


def _parts(d: Floats) -> tuple[Floats, Floats]:
    """Return what each unit and each flow brought to the sum of ``d``; together they sum to it.

    The sum is shared out by the variance of the units' and of the flows' totals about the common mean.
    """
    there = ~np.isnan(d)
    mean = float(np.nanmean(d))
    units, flows = np.nansum(d, axis=0), np.nansum(d, axis=1)
    of_units, of_flows = mean * there.sum(axis=0), mean * there.sum(axis=1)
    unit_variance, flow_variance = (float((x**2).sum()) for x in (units - of_units, flows - of_flows))
    whole = unit_variance + flow_variance
    share = flow_variance / whole if whole > 0 else 0.0
    return units - share * of_units, flows - (1 - share) * of_flows


def _random_signs(rng: np.random.Generator, n: int, x: Floats) -> Floats:
    """Return n sums of ``x`` with random signs."""
    bits = np.unpackbits(rng.integers(256, size=(n, -(-len(x) // 8)), dtype=np.uint8), axis=1, count=len(x))
    return np.asarray(2.0 * (bits @ x) - x.sum())
