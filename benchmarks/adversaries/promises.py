"""What is promised beyond intervals over wordings: claims of gates, tests, and distances from people.

Each function yields its cells: where the promise is tried, and how often it is kept (an interval) or broken (a test,
a claim). The truth of an interval is what was planted, or the mean of its estimates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import measurement
import numpy as np
import pandas as pd
import processes
from processes import Floats
from tests.scales import ACCEPTABILITY

from cinorms.gate.claims import DISSENT, FARTHEST
from cinorms.stats import (
    ceilings,
    equivalence,
    flow_dependence,
    reliability,
    wordings,
)
from cinorms.stats.equivalence import DifferenceLimits
from cinorms.stats.samples import Sample
from cumulink import clm
from rewordings import groups, worth_of

TEMPLATES = (3, 5, 7, 11, 15, 30)
ALPHA = 0.05


class Tried(NamedTuple):
    """One promise in one process: how often it was kept or broken."""

    where: str
    rate: float


def held(found: Floats) -> float:
    """Return how often intervals hold the mean estimate; ``found`` is studies x (estimate, low, high)."""
    truth = np.nanmean(found[:, 0])
    return float(((found[:, 1] <= truth) & (truth <= found[:, 2])).mean())


def few(share: float) -> Callable[[np.random.Generator, int], Floats]:
    """Return what draws wordings of which a ``share`` moves answers, with mean 0 and variance 1."""
    return lambda rng, n: ((rng.random(n) < share) - share) / math.sqrt(share * (1 - share))


def reactions() -> dict[str, Callable[[np.random.Generator, int], Floats]]:
    """Return how much a wording moves the new model, with mean 1: the claim is at its limit, and so not true."""
    relative = {name: draw for name, draw in processes.WORDINGS.items() if name not in ("rare", "alike")}
    drawn = {name: (lambda rng, n, d=draw: 1 + 0.8 * d(rng, n)) for name, draw in relative.items()}
    drawn["skewed from 0"] = lambda rng, n: rng.gamma(0.5, 2, n)
    return drawn | {"a fifth moved": lambda rng, n: 5.0 * (rng.random(n) < 0.2)}


def tenth() -> dict[str, Callable[[np.random.Generator, int], Floats]]:
    return {"a tenth moved": lambda rng, n: 10.0 * (rng.random(n) < 0.1)}


def shift_passes(rng: np.random.Generator, moved: Floats) -> bool:
    margin = 0.25
    cells = margin * moved + rng.normal(0, 0.2, (40, len(moved)))
    limits = DifferenceLimits(-margin, margin, DISSENT * margin)
    return equivalence.decide(equivalence.paired(cells, True), limits)[0] <= ALPHA


def status_passes(rng: np.random.Generator, moved: Floats) -> bool:
    limit, shape = 0.02, (40, len(moved))
    share = np.clip(0.01 + limit * moved, 0, 1)
    cells = (rng.binomial(9, share, shape) - rng.binomial(9, 0.01, shape)) / 9
    limits = DifferenceLimits(-np.inf, limit, DISSENT * limit)
    return equivalence.decide(equivalence.paired(cells, True), limits)[0] <= ALPHA


def side_passes(rng: np.random.Generator, moved: Floats) -> bool:
    """One flow whose mean is in the middle: most wordings below it, and what moves is above."""
    most = 2 / max(moved.max(), 1.0)  # no answer is beyond the end of the scale
    cells = min(most, 0.5) * (moved - 1) + rng.normal(0, 0.2, len(moved))
    found = equivalence.sides(cells[None, :], 0.0, 1, FARTHEST * 2)
    return equivalence.decide_sides(found, 0)[0] <= ALPHA


def claim(passes: Callable[[np.random.Generator, Floats], bool], wordings_of=reactions):
    """Return what yields how often a claim at its limit passes."""

    def cells(runs: int) -> Iterator[Tried]:
        for templates, (name, draw) in itertools.product(TEMPLATES, wordings_of().items()):
            rng = np.random.default_rng([templates, len(name)])
            rate = np.mean([passes(rng, draw(rng, templates)) for _ in range(runs)])
            yield Tried(f"{templates} wordings, reaction of wordings: {name}", float(rate))

    return cells


def dependence(runs: int) -> Iterator[Tried]:
    """Yield how often a model that does not read the flow is said to depend on it."""
    rng = np.random.default_rng(5)
    kinds: dict[str, Callable[[int], Floats]] = {
        "at random per prompt": lambda t: processes.random_per_prompt(rng, 24, t, 3),
        "at random per answer": lambda t: rng.choice(processes.LEVELS, (24, t, 3)).astype(float),
        "45% take the first option": lambda t: processes.first_takers(
            rng, rng.choice(processes.LEVELS, (24, t, 3)).astype(float), 0.45
        ),
    }
    for (name, draw), templates in itertools.product(kinds.items(), (5, 11)):
        yield Tried(f"{templates} wordings, {name}", _rejected(draw, templates, runs))


def missing_dependence(runs: int) -> Iterator[Tried]:
    """Yield the same where half of the flows' low answers are refused, which depends on the flow itself."""
    rng = np.random.default_rng(6)
    for templates, flows in ((5, 24), (11, 24), (11, 120)):

        def draw(templates: int, flows: int = flows) -> Floats:
            x = rng.choice(processes.LEVELS, (flows, templates, 3)).astype(float)
            odd = (np.arange(flows) % 2 == 0)[:, None, None]
            return np.where(odd & (x < 0) & (rng.random(x.shape) < 0.5), np.nan, x)

        where = f"{templates} wordings, {flows} flows, half of them refuse half of what they reject"
        yield Tried(where, _rejected(draw, templates, runs))


def named_alike(runs: int) -> Iterator[Tried]:
    """Yield how often a study does not say that its wordings are alike, or says so where they are not."""
    grid = [*itertools.product((60,), processes.WORDINGS), (400, "normal"), (400, "alike")]
    for templates, (flows, wording) in itertools.product((7, 11, 30), grid):
        flow = processes.FLOW * np.random.default_rng(1).normal(0, 1, flows)
        rng = np.random.default_rng([templates, len(wording)])
        studies = (processes.asked(rng, flow, templates, 3, wording, "complete") for _ in range(runs))
        counts = (wordings.level_counts(*processes.levels_of(x), ACCEPTABILITY) for x in studies)
        named = np.array([worth_of(x).too_alike for x in counts])
        rate = float((named != (wording == "alike")).mean())
        yield Tried(f"{templates} wordings, {wording} wordings, {flows} flows", rate)


def _rejected(draw: Callable[[int], Floats], templates: int, runs: int) -> float:
    p = [
        flow_dependence.dependence(*processes.levels_of(draw(templates)), ACCEPTABILITY, i, 99).p
        for i in range(runs)
    ]
    return float((np.array(p) < ALPHA).mean())


# --- People


def signed(raters: tuple[int, ...]):
    """Return what yields the coverage of the mean distance between a model and few raters, some much stricter."""

    def cells(runs: int) -> Iterator[Tried]:
        for n, skewed, per_flow in itertools.product(raters, (False, True), (5, 0)):
            rng, hits = np.random.default_rng([n, skewed, per_flow]), []
            flow = np.random.default_rng(2).normal(0, 1, 40)
            for _ in range(runs):
                strict = 0.5 * (processes.skewed if skewed else processes.normal)(rng, n)
                x = flow[:, None] + strict + rng.normal(0, 0.8, (40, n))
                if per_flow:
                    there = np.argsort(rng.random(x.shape), axis=1) < per_flow
                    x = np.where(there, x, np.nan)
                model = flow[:, None] + 0.4 + rng.normal(0, 0.2, 11) + rng.normal(0, 0.3, (40, 11))
                row = ceilings.distances(Sample(model), Sample(x)).set_index("metric").loc["mean_signed"]
                hits.append(row["conf_low"] <= 0.4 <= row["conf_high"])
            how = f"{per_flow} per flow" if per_flow else "all rate all"
            yield Tried(f"{n} {'skewed' if skewed else 'normal'} raters, {how}", float(np.mean(hits)))

    return cells


def ratings_alike(runs: int) -> Iterator[Tried]:
    """Yield the coverage of the intraclass correlation over raters; the flows are given."""
    flow = np.random.default_rng(2).normal(0, 1, 40)
    for n, skewed, per_flow in itertools.product((8, 20, 60), (False, True), (5, 0)):
        rng, found = np.random.default_rng([n, skewed, per_flow]), []
        for _ in range(runs):
            strict = 0.5 * (processes.skewed if skewed else processes.normal)(rng, n)
            x = processes.rounded(flow[:, None] + strict + rng.normal(0, 0.8, (40, n)))
            if per_flow:
                x = np.where(np.argsort(rng.random(x.shape), axis=1) < per_flow, x, np.nan)
            one = reliability.intraclass_over(pd.DataFrame(x), groups(n))
            found.append((np.nan if one.estimate is None else one.estimate, one.low, one.high))
        how = f"{per_flow} per flow" if per_flow else "all rate all"
        yield Tried(f"{n} {'skewed' if skewed else 'normal'} raters, {how}", held(np.array(found)))


def equivalent(reacts: str):
    """Return what yields how often models that differ by the margin are called equivalent."""

    def cells(runs: int) -> Iterator[Tried]:
        for templates, wording in itertools.product((5, 11, 30), processes.WORDINGS):
            yield Tried(*measurement.equivalence(runs, templates, wording, reacts))

    return cells


def moved(runs: int) -> Iterator[Tried]:
    """Yield the same where a share of the wordings moves one model alone."""
    for templates, share in itertools.product((7, 11, 15, 30), (0.1, 0.2, 0.4)):
        yield Tried(*measurement.moved(runs, templates, share))


# --- Regressions

#: Levels of the factors, flows, wordings, and what these add to each level of each factor.
REGRESSIONS = [
    *(((6, 5, 8), 2000, 11, sd) for sd in (0.0, 0.15, 0.3)),
    *(((6, 5, 8), 240, n, 0.3) for n in (5, 11, 30)),
    *(((5, 4, 2), 40, 11, sd) for sd in (0.0, 0.3)),
]


def null_terms(runs: int) -> Iterator[Tried]:
    """Yield how often `answer_regression` rejects a term that is 0: those of all factors but the first."""
    for sizes, flows, templates, sd in REGRESSIONS:
        rng, rejected = np.random.default_rng([flows, templates, int(100 * sd)]), []
        for _ in range(runs):
            answers = processes.reacting(rng, sizes, flows, templates, (sd,) * 3)
            terms = clm("level ~ a + b + c", answers, cluster=["flow", "template"]).coefficients
            rejected.append((terms.loc[terms["factor"] != "a", "p"] < ALPHA).mean())
        where = f"{templates} wordings, reaction to levels {sd}, {flows:,} flows"
        yield Tried(where, float(np.mean(rejected)))


INTERVALS: dict[str, Callable[[int], Iterator[Tried]]] = {
    "icc_1": ratings_alike,
    "mean distance": signed((15, 26, 46)),
    "mean distance, 8 raters": signed((8,)),
}
#: Lower is better.
TESTS: dict[str, Callable[[int], Iterator[Tried]]] = {
    "shift": claim(shift_passes),
    "shift, a tenth of the wordings": claim(shift_passes, tenth),
    "status": claim(status_passes),
    "status, a tenth of the wordings": claim(status_passes, tenth),
    "side": claim(side_passes),
    "side, a tenth of the wordings": claim(side_passes, tenth),
    "flow_dependence": dependence,
    "flow_dependence, missing by flow and answer": missing_dependence,
    "alike wordings": named_alike,
    "answer_regression": null_terms,
    "equivalence": equivalent("both"),
    "equivalence, one model reacts": equivalent("one"),
    "equivalence, few wordings move one model": moved,
}
#: The claims of gates.
OF_GATES = tuple(
    f"{kind}{part}" for kind in ("shift", "status", "side") for part in ("", ", a tenth of the wordings")
)
#: What is promised of each.
ABOUT = {
    "mean": "interval of a mean",
    "alpha": "Krippendorff's alpha",
    "icc_1": "intraclass correlation of one rating",
    "alike wordings": "status `alike_templates`, missing or wrong",
    "mean distance": "`mean_signed`, 15 raters or more",
    "mean distance, 8 raters": "8 raters",
    "flow_dependence": "test, where the flow is not read",
    "flow_dependence, missing by flow and answer": "low answers missing in half of the flows",
    "answer_regression": "terms that are 0; wordings react to each level",
    "equivalence": "claim of `margin`, both react to wordings",
    "equivalence, one model reacts": "one model reacts to wordings",
    "equivalence, few wordings move one model": "by several margins",
    **{
        f"{kind}{part}": "a tenth of the wordings moves" if part else f"gate's claim `{kind}` at its limit"
        for kind in ("shift", "status", "side")
        for part in ("", ", a tenth of the wordings")
    },
}


def limits(promise: str) -> tuple[float, float]:
    """Return the lowest and the highest rate that keep a promise."""
    return (0.0, 0.06) if promise in TESTS else (0.93, 0.97)
