"""How often tests of a measurement reviewer err where they should not: proportional odds by flow, and equivalence.

`promises.py` has them all, so `run.py` runs them. The processes of ``equivalence`` are those of `processes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
import processes

from cinorms.stats.clm import fit_clm
from cinorms.stats.equivalence import DifferenceLimits, Estimate, decide, paired

FLOWS, ORDERS = 60, 3


class Rate(NamedTuple):
    """How often a test rejects at 5%, in one cell."""

    where: str
    rate: float


def norms_of_models(rng: np.random.Generator, flows: int, models: int) -> pd.DataFrame:
    """Return norms of several models on the same flows (probit, intercepts of flows: odds are proportional)."""
    of_flow, recipient = rng.normal(0, 1, flows), rng.integers(3, size=flows)
    parts = []
    for model in range(models):
        latent = (of_flow + np.array([0, 0.6, -0.8])[recipient] + 0.4 * model) / np.sqrt(2)
        level = np.digitize(latent + rng.normal(0, np.sqrt(0.5), flows), [-1.2, -0.4, 0.3, 1.1])
        parts.append(
            pd.DataFrame({"flow": range(flows), "recipient": recipient, "model": model, "level": level})
        )
    return pd.concat(parts, ignore_index=True)


def odds(runs: int, flows: int, models: int, cluster: str | None) -> Iterator[Rate]:
    """Yield how often the factor of the flows, that of the models, and all are found not proportional."""
    rng, found = np.random.default_rng([flows, models, 1]), []
    for _ in range(runs):
        frame = norms_of_models(rng, flows, models)
        fit = fit_clm(frame, "level", ["recipient", "model"], link="probit", cluster=cluster)
        table = fit.proportional_odds_test()
        found.append(table[table["level"].isna()].fillna({"factor": "all"}))
    rates = pd.concat(found).groupby("factor")["p"].agg(lambda p: (p.dropna() < 0.05).mean())
    for factor, rate in rates.items():
        yield Rate(f"{flows} flows, {models} models, {factor}", float(rate))


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
    return Rate(f"{templates} templates, {wording} wordings", called(found))


def moved(runs: int, templates: int, share: float) -> Rate:
    """Return the same where a ``share`` of the wordings moves one model by much more than the margin, the rest not."""
    rng, flow = np.random.default_rng(templates), np.random.default_rng(1).normal(0, 1.2, FLOWS)
    found = []
    for _ in range(runs):
        a, b = flow[:, None, None] + rng.normal(0, processes.ANSWER, (2, FLOWS, templates, ORDERS))
        a += (0.3 / share * (rng.random(templates) < share))[:, None]
        found.append(paired((processes.rounded(a) - processes.rounded(b)).mean(axis=2), True))
    return Rate(f"{templates} templates, {share:.0%} of the wordings move one model", called(found))


def called(found: list[Estimate]) -> float:
    """Return how often differences are called smaller than their own mean."""
    margin = float(np.mean([one.value for one in found]))
    limits = DifferenceLimits(-margin, margin, 2 * margin)
    return float(np.mean([decide(one, limits)[0] < 0.05 for one in found]))
