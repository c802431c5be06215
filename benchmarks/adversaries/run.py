"""Which 95% interval, test and claim holds worst against processes that nobody chose for it.

Run: ``python benchmarks/adversaries/run.py`` (hours; ``run.py 40``: 40 studies per cell instead of 400; ``run.py 400
held_share alpha``: these alone). It prints every cell, then the worst of each. ``--write`` also puts the worst cells
into `cinorms.stats.worst_cells`, which the page of a gate reads, and into the docs, wherever they have a mark for it.
The slow tests run a small grid of it.
"""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import processes
import promises
from processes import Floats
from tests.scales import ACCEPTABILITY

from cinorms.norms.thresholds import Thresholds
from cinorms.stats import reliability, wordings, worst_cells
from cinorms.stats.worst_cells import WORST, WorstCell

FLOWS, ORDERS = 60, 3
TEMPLATES = (5, 11, 30)
NORM = Thresholds(1, 0.67, "strict")


class Cell(NamedTuple):
    """One promise in one process: how often it is kept (an interval) or broken (a test, a claim)."""

    promise: str
    where: str
    rate: float
    runs: int


def mean(x: Floats) -> tuple[float, float, float]:
    value, _, low, high = wordings.mean_interval(np.nanmean(x, axis=2), True)
    return value, low, high


def held_share(x: Floats) -> tuple[float, float, float]:
    held, _ = wordings.held_share(wordings.level_counts(*processes.levels_of(x), ACCEPTABILITY), NORM)
    return held.value, held.low, held.high


def mean_share(x: Floats) -> tuple[float, float, float]:
    _, agree = wordings.held_share(wordings.level_counts(*processes.levels_of(x), ACCEPTABILITY), NORM)
    return agree.value, agree.low, agree.high


def _alpha(x: Floats) -> tuple[float, float, float]:
    counts = wordings.level_counts(*processes.levels_of(x), ACCEPTABILITY)
    without = [reliability._alpha(np.delete(counts, t, axis=2).sum(axis=2).T) for t in range(counts.shape[2])]
    found = reliability._alpha(counts.sum(axis=2).T).over(without)
    return found.estimate or np.nan, found.low, found.high


def split_half(x: Floats) -> tuple[float, float, float]:
    found = reliability.split_half(*processes.levels_of(x), seed=1, splits=25)
    return found.estimate or np.nan, found.low, found.high


def spearman_brown(x: Floats) -> tuple[float, float, float]:
    found = reliability.spearman_brown(reliability.split_half(*processes.levels_of(x), seed=1, splits=25))
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
    for name, tried in (promises.INTERVALS | promises.TESTS).items():
        if not names or name in names:
            for where, rate, studies in tried(runs):
                yield Cell(name, where, rate, studies or runs)


def worst(found: list[Cell]) -> list[Cell]:
    """Return the worst cell of each promise: the lowest coverage of an interval, the highest rate of a test."""
    return [
        (max if promise in promises.TESTS else min)(group, key=lambda cell: cell.rate)
        for promise, rows in itertools.groupby(found, key=lambda cell: cell.promise)
        for group in [list(rows)]
    ]


#: A mark in the docs, and the cell after it: <!-- worst: shift -->12.3% (...)<!-- -->.
_MARK = re.compile(r"<!-- worst: ([\w ,]+?) -->.*?<!-- -->", re.DOTALL)
ROOT = Path(__file__).resolve().parents[2]


def with_cells(text: str, known: dict[str, WorstCell]) -> str:
    """Return a page of the docs with the cell after each mark as it was measured."""
    return _MARK.sub(lambda found: f"<!-- worst: {found[1]} -->{known[found[1]].words}<!-- -->", text)


def write(found: list[Cell]) -> None:
    """Write the worst cells into the module of the library and into the docs."""
    known = WORST | {
        cell.promise: WorstCell(round(cell.rate, 3), cell.where, cell.runs) for cell in worst(found)
    }
    path = Path(worst_cells.__file__)
    head = path.read_text(encoding="utf-8").partition("WORST: ")[0]
    rows = "".join(
        f'    "{name}": WorstCell(\n        rate={cell.rate},\n        where="{cell.where}",\n        '
        f"studies={cell.studies},\n    ),\n"
        for name, cell in sorted(known.items())
    )
    path.write_text(f"{head}WORST: dict[str, WorstCell] = {{\n{rows}}}\n", encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (new := with_cells(text, known)) != text:
            page.write_text(new, encoding="utf-8")


def main() -> None:
    """Print the cells and the worst of each promise."""
    warnings.simplefilter("ignore")
    given = [word for word in sys.argv[1:] if word != "--write"]
    runs = int(given[0]) if given else 400
    found = []
    for cell in cells(runs, set(given[1:])):
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where}", flush=True)
        found.append(cell)
    print("\nThe worst cell of each promise")
    for cell in worst(found):
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where} ({cell.runs} studies)")
    if "--write" in sys.argv:
        write(found)


if __name__ == "__main__":
    main()
