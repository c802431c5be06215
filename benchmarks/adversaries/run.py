"""Which 95% interval, test and claim holds worst against processes that nobody chose for it.

Run: ``python benchmarks/adversaries/run.py`` (minutes; ``run.py 40``: 40 studies per cell instead of 400; ``run.py 400
held_share alpha``: these alone). It prints every cell, then the worst of each. The slow tests run a small grid of it.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import processes
from processes import Floats
from tests.scales import ACCEPTABILITY

from cinorms.norms.thresholds import Thresholds
from cinorms.stats import reliability, wordings

FLOWS, ORDERS = 60, 3
TEMPLATES = (5, 11, 30)
NORM = Thresholds(1, 0.67, "strict")


class Cell(NamedTuple):
    """One promise in one process: how often it is kept (an interval) or broken (a test, a claim)."""

    promise: str
    where: str
    rate: float
    runs: int


def levels_of(x: Floats) -> tuple[pd.DataFrame, pd.Series]:
    names = [f"{t}_{o}" for t, o in np.ndindex(x.shape[1:])]
    table = pd.DataFrame(x.reshape(len(x), -1), columns=names)
    return table, pd.Series([t for t, _ in np.ndindex(x.shape[1:])], index=names)


def mean(x: Floats) -> tuple[float, float, float]:
    value, _, low, high = wordings.mean_interval(np.nanmean(x, axis=2), True)
    return value, low, high


def held_share(x: Floats) -> tuple[float, float, float]:
    held, _ = wordings.held_share(wordings.level_counts(*levels_of(x), ACCEPTABILITY), NORM)
    return held.value, held.low, held.high


def mean_share(x: Floats) -> tuple[float, float, float]:
    _, agree = wordings.held_share(wordings.level_counts(*levels_of(x), ACCEPTABILITY), NORM)
    return agree.value, agree.low, agree.high


def _alpha(x: Floats) -> tuple[float, float, float]:
    counts = wordings.level_counts(*levels_of(x), ACCEPTABILITY)
    without = [reliability._alpha(np.delete(counts, t, axis=2).sum(axis=2).T) for t in range(counts.shape[2])]
    found = reliability._alpha(counts.sum(axis=2).T).over(without)
    return found.estimate or np.nan, found.low, found.high


def split_half(x: Floats) -> tuple[float, float, float]:
    found = reliability.split_half(*levels_of(x), seed=1, splits=25)
    return found.estimate or np.nan, found.low, found.high


def spearman_brown(x: Floats) -> tuple[float, float, float]:
    found = reliability.spearman_brown(reliability.split_half(*levels_of(x), seed=1, splits=25))
    return found.estimate or np.nan, found.low, found.high


INTERVALS: dict[str, Callable[[Floats], tuple[float, float, float]]] = {
    "mean": mean,
    "held_share": held_share,
    "mean_share": mean_share,
    "alpha": _alpha,
    "split_half": split_half,
    "spearman_brown": spearman_brown,
}


def coverage(name: str, runs: int, templates: int, wording: str, missing: str) -> Cell:
    """Return how often an interval holds what studies like this one give on average; the flows are given."""
    rng = np.random.default_rng([templates, len(wording), len(missing)])
    flow = np.random.default_rng(1).normal(0, processes.FLOW, FLOWS)
    found = np.array(
        [
            INTERVALS[name](processes.asked(rng, flow, templates, ORDERS, wording, missing))
            for _ in range(runs)
        ]
    )
    truth = np.nanmean(found[:, 0])
    rate = float(((found[:, 1] <= truth) & (truth <= found[:, 2])).mean())
    return Cell(name, f"{templates} templates, {wording} wordings, {missing}", rate, runs)


def cells(runs: int, names: set[str]) -> Iterator[Cell]:
    """Yield every cell of the promises ``names`` (none: all)."""
    for name in INTERVALS:
        if not names or name in names:
            for grid in itertools.product(TEMPLATES, processes.WORDINGS, processes.MISSING):
                yield coverage(name, runs, *grid)


def worst(found: list[Cell]) -> list[Cell]:
    """Return the worst cell of each promise: the lowest coverage of an interval, the highest rate of a test."""
    return [
        (min if promise in INTERVALS else max)(group, key=lambda cell: cell.rate)
        for promise, rows in itertools.groupby(found, key=lambda cell: cell.promise)
        for group in [list(rows)]
    ]


def main() -> None:
    """Print the cells and the worst of each promise."""
    warnings.simplefilter("ignore")
    runs = int(sys.argv[1]) if sys.argv[1:] else 400
    found = []
    for cell in cells(runs, set(sys.argv[2:])):
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where}", flush=True)
        found.append(cell)
    print("\nThe worst cell of each promise")
    for cell in worst(found):
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where} ({cell.runs} studies)")


if __name__ == "__main__":
    main()
