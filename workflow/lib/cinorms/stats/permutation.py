"""Tests and contrasts between two models that include the noise of the wording.

All flows are asked in the same few variants, so a wording that moves one model more than another moves it
in every flow at once. A test that takes each flow's norm as one error-free number and the flows as
independent (signed-rank, Friedman, paired t) counts that one shift as thousands of agreeing observations;
with enough flows it finds a difference between any two models. Here whole templates are the units, and
whole flows too where they are a sample.

``levels`` is `norms.level_matrix(answers)`: flows x variants, NaN where there is no valid answer. Only
cells that both models answered count. Variants of one template (its answer orders) share its wording:
``templates`` (index: variant) is the template of each variant; variants of a template are averaged within a flow.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.stats import pvalues, wordings
from cinorms.stats.wordings import FEWEST, template_means

Floats = npt.NDArray[np.float64]

_CHUNK = 512
#: Sums of the same numbers in another order may differ in the last digits, and are still equal.
_ROUNDING = 1e-9


def compare(
    levels: Mapping[str, pd.DataFrame],
    templates: pd.Series[Any],
    seed: int,
    fixed_flows: bool = False,
    draws: int = 9999,
    confidence: float = wordings.CONFIDENCE,
) -> pd.DataFrame:
    """Return the label-swap test and the contrast with its interval for each pair of models, corrected over all pairs.

    Parameters
    ----------
    levels
        Flows x variants, per model.
    templates
        The template of each variant (index: variant).
    fixed_flows
        Whether results are about exactly these flows, in wordings like these; else about flows and wordings
        like these.
    seed, draws
        Of the test.
    confidence
        Of the interval: see `wordings`.

    Columns: model_a, model_b, n_flows, n_templates, estimate (mean level of a less that of b), std_err, low,
    high, p, log10_p, p_text, each correction, p_smallest (no p-value can be smaller with so few templates),
    status (``ok``, ``no_flows``, ``one_flow``, ``one_template``, ``no_differences``), reason. Raises
    ``DataError`` for a variant without a template.

    """
    rows = [
        pd.concat(
            [
                pd.DataFrame({"model_a": [a], "model_b": [b]}),
                _compare_two(levels[a], levels[b], templates, seed, fixed_flows, draws, confidence),
            ],
            axis=1,
        )
        for a, b in itertools.combinations(levels, 2)
    ]
    columns = ["model_a", "model_b", "n_flows", "n_templates", "estimate", "std_err", "low", "high"]
    columns += ["log10_p", "p_smallest", "status", "reason"]
    table = pd.concat(rows, ignore_index=True)[columns] if rows else pd.DataFrame(columns=columns)
    return pvalues.add_columns(table, corrections=True)


def label_swap(
    a: pd.DataFrame,
    b: pd.DataFrame,
    templates: pd.Series[Any],
    seed: int,
    fixed_flows: bool = False,
    draws: int = 9999,
) -> pd.DataFrame:
    """Return the test that swapping the two models' labels makes no difference, by whole templates.

    With the difference ``d[f, t]`` of the two models' levels in flow f and template t, the statistic is the
    mean of d over all cells. Swapping the models in a template turns the signs of all its d.

    ``fixed_flows``: the labels are swapped in whole templates. Null hypothesis: within each template, the
    answers of the two models to all these flows could be swapped without changing how the answers are
    distributed, the templates being independent. So no model answers these flows higher in wordings like these.
    Exact: every swap is made if there are at most ``draws``, else ``draws`` at random:
    ``p = (1 + extreme) / (1 + draws)``.

    Otherwise: ``d[f, t] = flow[f] + template[t] + rest[f, t]``, all independent of each other and each as likely
    positive as negative. So no model answers higher in flows and wordings like these. The statistic is taken
    apart into what flows and what templates brought to it, in proportion to the variance of either's mean, and
    both parts get random signs, by whole flows and by whole templates. Where only one of them varies this is
    the exact test by that one; in between it is approximate, and as both parts contain ``rest`` it is safe
    (rejects less than it may) where the noise of single answers dominates.

    Neither tests that single norms are equal: differences that cancel in the mean are not found.

    One row: n_flows, n_templates, estimate, p, log10_p, p_text, p_smallest, status, reason; see `compare`.
    """
    row = _swap_row(paired_differences(a, b, templates), seed, fixed_flows, draws)
    return pvalues.add_columns(pd.DataFrame([row]), corrections=False)


def paired_differences(a: pd.DataFrame, b: pd.DataFrame, templates: pd.Series[Any]) -> Floats:
    """Return flows x templates: the difference of the two models' means over the variants that both answered.

    Flows and templates without a common answer are left out; both are sorted.
    """
    flows = a.index.intersection(b.index).sort_values()
    variants = a.columns.intersection(b.columns).sort_values()
    a, b = a.loc[flows, variants], b.loc[flows, variants]
    # The mean of the differences is the difference of the means.
    d = template_means(a - b, templates)
    there = ~np.isnan(d)
    return np.asarray(d[there.any(axis=1)][:, there.any(axis=0)])


def _compare_two(
    a: pd.DataFrame,
    b: pd.DataFrame,
    templates: pd.Series[Any],
    seed: int,
    fixed_flows: bool,
    draws: int,
    confidence: float,
) -> pd.DataFrame:
    d = paired_differences(a, b, templates)
    swap = pvalues.add_columns(pd.DataFrame([_swap_row(d, seed, fixed_flows, draws)]), corrections=False)
    if swap["status"].iloc[0] != "ok":
        return swap.assign(std_err=np.nan, low=np.nan, high=np.nan)
    _, std_err, low, high = wordings.mean_interval(d, fixed_flows, confidence)
    return swap.assign(std_err=std_err, low=low, high=high)


def _swap_row(d: Floats, seed: int, fixed_flows: bool, draws: int) -> dict[str, Any]:
    n_flows, n_templates = d.shape
    row: dict[str, Any] = {"n_flows": n_flows, "n_templates": n_templates, "estimate": np.nan}
    row |= {"log10_p": np.nan, "p_smallest": np.nan}
    if d.size == 0:
        return row | {
            "status": "no_flows",
            "reason": "the models have no answers to the same flow and wording",
        }
    row["estimate"] = float(np.nanmean(d))
    if n_templates < FEWEST:
        return row | {"status": "one_template", "reason": "the test needs at least two templates"}
    if not fixed_flows and n_flows < FEWEST:
        return row | {"status": "one_flow", "reason": "the test needs at least two flows"}
    if not np.nansum(np.abs(d)):
        return row | {"status": "no_differences", "reason": "the models never differ in a common cell"}
    p, smallest = _swap_p(d, seed, fixed_flows, draws)
    reason = ""
    if smallest > 0.05:
        reason = f"with {n_templates} templates p cannot be below {smallest:.2g}"
    return row | {"log10_p": float(np.log10(p)), "p_smallest": smallest, "status": "ok", "reason": reason}


def _swap_p(d: Floats, seed: int, fixed_flows: bool, draws: int) -> tuple[float, float]:
    """Return the p-value of the label-swap test and the smallest that it could give."""
    by_template = np.nansum(d, axis=0)
    observed = abs(float(by_template.sum())) - _ROUNDING * float(np.nansum(np.abs(d)))
    all_swaps = 2.0 ** (len(by_template) - 1)  # a swap and its opposite are equally extreme
    if fixed_flows and 2 * all_swaps <= draws:
        bits = np.arange(int(2 * all_swaps))[:, None] >> np.arange(len(by_template)) & 1
        sums = (2.0 * bits - 1.0) @ by_template
        return float((np.abs(sums) >= observed).mean()), float(1 / all_swaps)
    templates, flows = np.random.default_rng(seed).spawn(2)
    if not fixed_flows:
        by_template, by_flow = _parts(d)
    extreme = 0
    for start in range(0, draws, _CHUNK):
        n = min(_CHUNK, draws - start)
        sums = _random_signs(templates, n, by_template)
        if not fixed_flows:
            sums = sums + _random_signs(flows, n, by_flow)
        extreme += int((np.abs(sums) >= observed).sum())
    smallest = max(1 / (1 + draws), 1 / all_swaps)
    return max((1 + extreme) / (1 + draws), smallest), smallest


def _parts(d: Floats) -> tuple[Floats, Floats]:
    """Return what each template and each flow brought to the sum of ``d``; together they sum to it.

    The sum is shared out by the variance of the templates' and of the flows' totals about the common mean.
    """
    there = ~np.isnan(d)
    mean = float(np.nanmean(d))
    templates, flows = np.nansum(d, axis=0), np.nansum(d, axis=1)
    of_templates, of_flows = mean * there.sum(axis=0), mean * there.sum(axis=1)
    template_variance, flow_variance = (
        float((x**2).sum()) for x in (templates - of_templates, flows - of_flows)
    )
    whole = template_variance + flow_variance
    share = flow_variance / whole if whole > 0 else 0.0
    return templates - share * of_templates, flows - (1 - share) * of_flows


def _random_signs(rng: np.random.Generator, n: int, x: Floats) -> Floats:
    """Return n sums of ``x`` with random signs."""
    bits = np.unpackbits(rng.integers(256, size=(n, -(-len(x) // 8)), dtype=np.uint8), axis=1, count=len(x))
    return np.asarray(2.0 * (bits @ x) - x.sum())
