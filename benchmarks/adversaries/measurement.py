"""How often claims of equivalence err where they should not.

`promises.py` has them all, so `run.py` runs them. The processes of ``equivalence`` are those of `processes.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import processes

from cinorms.stats.equivalence import DifferenceLimits, Estimate, decide, paired

FLOWS, ORDERS = 60, 3


class Rate(NamedTuple):
    """How often a test rejects at 5%, in one cell."""

    where: str
    rate: float


def equivalence(runs: int, templates: int, wording: str, reacts: str) -> Rate:
    """Return how often models that differ by the margin are called equivalent; ``reacts``: to wordings, both or one."""
    rng, flow = (
        np.random.default_rng([templates, len(wording)]),
        np.random.default_rng(1).normal(0, 1.2, FLOWS),
    )
    found = []
    for _ in range(runs):
        a = processes.latent(rng, flow + 0.3, templates, ORDERS, wording)
        b = processes.latent(rng, flow, templates, ORDERS, wording)
        if reacts == "one":
            b = flow[:, None, None] + rng.normal(0, processes.ANSWER, b.shape)
        found.append(paired((processes.rounded(a) - processes.rounded(b)).mean(axis=2), True))
    return Rate(f"{templates} wordings, {wording} wordings", called(found))


def moved(runs: int, templates: int, share: float) -> Rate:
    """Return the same where a ``share`` of the wordings moves one model by much more than the margin, the rest not."""
    rng, flow = np.random.default_rng(templates), np.random.default_rng(1).normal(0, 1.2, FLOWS)
    found = []
    for _ in range(runs):
        a, b = flow[:, None, None] + rng.normal(0, processes.ANSWER, (2, FLOWS, templates, ORDERS))
        a += (0.3 / share * (rng.random(templates) < share))[:, None]
        found.append(paired((processes.rounded(a) - processes.rounded(b)).mean(axis=2), True))
    return Rate(f"{templates} wordings, {share:.0%} of the wordings move one model", called(found))


def called(found: list[Estimate]) -> float:
    """Return how often differences are called smaller than their own mean."""
    margin = float(np.mean([one.value for one in found]))
    limits = DifferenceLimits(-margin, margin, 2 * margin)
    return float(np.mean([decide(one, limits)[0] < 0.05 for one in found]))
