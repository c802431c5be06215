"""Whether a model's answers depend on the flow at all: its answers compared with the same answers in random order.

This module shuffles the valid answers of each template between its flows and answer orders. The remaining differences
between flows, and the remaining norms, are those that the model would show without reading the flow. Why, and what it
misses: docs/method/stats/trust.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cinorms.core.scales import Scale
from cinorms.norms.assessment import reasons
from cinorms.norms.thresholds import Thresholds
from cinorms.stats.arrays import Ints

#: A model whose most frequent level has this share of its valid answers gives one answer to everything.
ONE_ANSWER = 0.95
#: With a smaller share of valid answers, the flows and wordings with a valid answer are a selection.
ENOUGH_VALID = 0.5
#: p-values below this one count.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Dependence:
    """How much the answers depend on the flow.

    ``share`` is the part of the variance of the answers that the flow explains, beyond that of shuffled answers: 0 for
    none, 1 if the flow decides everything. ``norms`` is the number of norms; ``norms_exchanged`` is their average
    number with shuffled answers. ``status`` is ``ok``, ``no_answers`` or ``no_variance``.
    """

    flows: int
    valid: float
    top_share: float
    share: float
    p: float
    norms: int
    norms_exchanged: float
    status: str

    @property
    def verdict(self) -> str:
        """The verdict of the numbers, a key of `VERDICTS`."""
        if self.status == "no_answers":
            return "no_answers"
        if self.top_share >= ONE_ANSWER:
            return "one_answer"
        if not self.p < SIGNIFICANT:
            return "no_dependence"
        return "depends" if self.valid >= ENOUGH_VALID else "depends_few"


#: Every verdict with what it means.
VERDICTS = {
    "depends": "the answers depend on the flow",
    "depends_few": "the answers depend on the flow, but fewer than half of them could be read",
    "one_answer": "nearly every flow gets the same answer; norms here are not about single flows",
    "no_dependence": "there is no evidence that the answers depend on the flow; norms here are not about flows",
    "no_answers": "no answer could be read",
}

#: The verdicts under which a model's norms are norms about flows.
DEPENDS = ("depends", "depends_few")


def dependence(
    levels: pd.DataFrame, templates: pd.Series, scale: Scale, thresholds: Thresholds, seed: int, draws: int
) -> Dependence:
    """Return how much the answers in ``levels`` (`norms.level_matrix`) depend on the flow.

    ``templates`` is the template of each variant (index: variant), ``scale`` their scale; a number line counts in
    bins. The p-value is that of the permutation test on the variance between the flows' means; norms are counted under
    ``thresholds``.
    """
    levels = levels.sort_index().reindex(sorted(levels.columns), axis=1)
    x = levels.to_numpy()
    flow, variant = np.nonzero(~np.isnan(x))
    n_flows, valid = len(x), float(len(flow) / x.size) if x.size else 0.0
    if not len(flow):
        return Dependence(n_flows, valid, np.nan, np.nan, np.nan, 0, np.nan, "no_answers")
    # Templates one after another, so that each is a slice.
    template = pd.factorize(templates.reindex(levels.columns).to_numpy()[variant])[0]
    order = np.argsort(template, kind="stable")
    ends = np.cumsum(np.bincount(template))
    bins = scale.binned.levels
    steps = np.array(bins) - bins[0]
    cell = flow[order] * len(bins)
    code = scale.places(x[flow, variant][order])
    counts = _counts(cell, code, n_flows, len(bins))
    of_levels = counts.sum(axis=0)
    top_share = float(of_levels.max() / len(code))
    norms, observed = _norms(counts, thresholds), _between(counts, steps)
    total = float(of_levels @ steps**2 - (of_levels @ steps) ** 2 / len(code))
    if (of_levels > 0).sum() < 2:
        return Dependence(n_flows, valid, top_share, np.nan, np.nan, norms, float(norms), "no_variance")
    rng, between, held, dealt = np.random.default_rng(seed), np.empty(draws), np.empty(draws), code.copy()
    for draw in range(draws):
        for group in map(slice, [0, *ends[:-1]], ends):
            dealt[group] = rng.permutation(code[group])
        exchanged = _counts(cell, dealt, n_flows, len(bins))
        between[draw], held[draw] = _between(exchanged, steps), _norms(exchanged, thresholds)
    by_chance = float(between.mean())
    return Dependence(
        flows=n_flows,
        valid=valid,
        top_share=top_share,
        share=(observed - by_chance) / (total - by_chance) if total > by_chance else np.nan,
        # Sums of the same numbers in another order may differ in the last digits.
        p=float((1 + (between >= observed * (1 - 1e-12)).sum()) / (1 + draws)),
        norms=norms,
        norms_exchanged=float(held.mean()),
        status="ok",
    )


def _counts(cell: Ints, code: Ints, n_flows: int, n_levels: int) -> Ints:
    """Return how often each level (columns) was given to each flow (rows)."""
    return np.bincount(cell + code, minlength=n_flows * n_levels).reshape(-1, n_levels)


def _between(counts: Ints, steps: Ints) -> float:
    """Return the sum of squares between the flows' means."""
    n, sums = counts.sum(axis=1), counts @ steps
    asked = n > 0
    return float((sums[asked] ** 2 / n[asked]).sum() - sums.sum() ** 2 / n.sum())


def _norms(counts: Ints, thresholds: Thresholds) -> int:
    """Return how many flows hold a norm under ``thresholds``."""
    top, fewest = counts.max(axis=1), np.full(len(counts), float(thresholds.t_val))
    tie = (counts == top[:, None]).sum(axis=1) > 1
    return int((reasons(counts.sum(axis=1), top, tie, fewest, thresholds) == 0).sum())
