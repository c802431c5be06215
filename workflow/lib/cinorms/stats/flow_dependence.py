"""Whether a model's answers depend on the flow at all: its answers compared with the same answers in random order.

This module shuffles the answers of each template between its flows; those of one flow in all orders stay together, as a
model may answer each prompt at random and yet alike in every order. The remaining differences between flows are those
that the model would show without reading the flow. Why, and what it misses: docs/method/stats/trust.md.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cinorms.core.arrays import Ints
from cinorms.core.labels import share
from cinorms.core.scales import Scale
from cinorms.stats.wordings import ALIKE_TEMPLATES, level_counts
from rewordings import worth_of

#: With a smaller share of valid answers, the flows and wordings with a valid answer are a selection.
ENOUGH_VALID = 0.5
#: Below this share of valid answers the page says that what is missing can look like dependence.
FEW_MISSING = 0.9
#: p-values below this one count.
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Dependence:
    """How much the answers depend on the flow.

    ``share`` is the part of the variance of the answers that the flow explains, beyond that of shuffled answers: 0 for
    none, 1 if the flow decides everything. ``status`` is ``ok``, ``no_answers``,
    ``no_variance``, or ``alike_templates``: answers to wordings that are alike agree without a flow, so the test finds
    too much.
    """

    flows: int
    valid: float
    top_share: float
    share: float
    p: float
    status: str

    @property
    def verdict(self) -> str:
        """The verdict of the numbers, a key of `VERDICTS`."""
        if self.status == "no_answers":
            return "no_answers"
        if self.status == "no_variance":
            return "one_answer"
        if not self.p < SIGNIFICANT:
            return "no_dependence"
        return "depends" if self.valid >= ENOUGH_VALID else "depends_few"

    @property
    def words(self) -> str:
        """The share of the variance, the verdict, and what missing answers and alike wordings can do to it."""
        explains = (
            f"the flow explains {share(self.share, 1)} of the variance: " if self.verdict in DEPENDS else ""
        )
        found = self.verdict in DEPENDS
        missing = IF_MISSING if found and self.valid < FEW_MISSING else ""
        alike = IF_ALIKE if found and self.status == ALIKE_TEMPLATES else ""
        return explains + VERDICTS[self.verdict] + missing + alike


#: Every verdict with what it means.
VERDICTS = {
    "depends": "the answers depend on the flow",
    "depends_few": "the answers depend on the flow, but fewer than half of them could be read",
    "one_answer": "every answer is the same, whatever the flow",
    "no_dependence": "nothing shows that the answers depend on the flow",
    "no_answers": "no answer could be read",
}

#: What is added where more than a tenth is missing: the test does not hold if that depends on flow and answer together.
IF_MISSING = "; answers that are missing can look like this"
#: What is added where wordings are alike: the test takes them for different ones.
IF_ALIKE = "; wordings that are alike can look like this"

#: The verdicts of answers that depend on the flow.
DEPENDS = ("depends", "depends_few")


def dependence(levels: pd.DataFrame, templates: pd.Series, scale: Scale, seed: int, draws: int) -> Dependence:
    """Return how much the answers in ``levels`` (`norms.level_matrix`) depend on the flow.

    ``templates`` is the template of each variant (index: variant), ``scale`` their scale; a number line counts in
    bins. The p-value is that of the permutation test on the variance between the flows' means.
    """
    levels = levels.sort_index().reindex(sorted(levels.columns), axis=1)
    x = levels.to_numpy()
    flow = np.nonzero(~np.isnan(x))[0]
    n_flows, valid = len(x), float(len(flow) / x.size) if x.size else 0.0
    if not len(flow):
        return Dependence(n_flows, valid, np.nan, np.nan, np.nan, "no_answers")
    steps = np.array(scale.binned.levels) - scale.binned.levels[0]
    asked = templates.reindex(levels.columns)
    # Of one template alone, the variants are exchanged one by one.
    if asked[~np.isnan(x).all(axis=0)].nunique() < 2:
        templates = pd.Series(np.arange(x.shape[1]), index=levels.columns)
    # Templates x levels x flows: what each flow was answered in each template.
    of_cells = level_counts(levels, templates, scale)
    cells = of_cells.transpose(2, 0, 1).astype(np.int64, order="C")
    counts = cells.sum(axis=0)
    of_levels = counts.sum(axis=1)
    top_share = float(of_levels.max() / len(flow))
    observed = _between(counts, steps)
    total = float(of_levels @ steps**2 - (of_levels @ steps) ** 2 / len(flow))
    if (of_levels > 0).sum() < 2:
        return Dependence(n_flows, valid, top_share, np.nan, np.nan, "no_variance")
    rng, between = np.random.default_rng(seed), np.empty(draws)
    answered = [np.flatnonzero(part.any(axis=0)) for part in cells]
    for draw in range(draws):
        exchanged = np.zeros_like(counts)
        for part, there in zip(cells, answered, strict=True):
            # Flows without an answer keep their place: to take all is three times as fast as to choose some.
            origin = np.arange(n_flows)
            origin[there] = rng.permutation(there)
            exchanged += part.take(origin, axis=1)
        between[draw] = _between(exchanged, steps)
    shuffled = float(between.mean())
    return Dependence(
        flows=n_flows,
        valid=valid,
        top_share=top_share,
        share=(observed - shuffled) / (total - shuffled) if total > shuffled else np.nan,
        # Sums of the same numbers in another order may differ in the last digits.
        p=float((1 + (between >= observed * (1 - 1e-12)).sum()) / (1 + draws)),
        status=ALIKE_TEMPLATES if len(cells) > 1 and worth_of(of_cells).too_alike else "ok",
    )


def _between(counts: Ints, steps: Ints) -> float:
    """Return the sum of squares between the flows' means."""
    n, sums = counts.sum(axis=0), steps @ counts
    asked = n > 0
    return float((sums[asked] ** 2 / n[asked]).sum() - sums.sum() ** 2 / n.sum())
