"""Which 95% interval, test and claim holds worst against processes that nobody chose for it.

Run: ``python benchmarks/adversaries/run.py`` (hours; ``run.py 40``: 40 studies per cell instead of 400; ``run.py 400
mean alpha``: these alone; ``run.py 0``: none). It prints every cell, then the worst of each. ``--write`` also
puts the cells into ``cells.csv``, their summary into docs/method/stats/bench.md, the worst cells wherever the docs have
a mark for one, and those of gates into `cinorms/gate/worst_cells.json`, which the page of a gate reads.
The slow tests run a small grid of it.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
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

from cinorms.stats import reliability, wordings
from rewordings import groups

ORDERS = 3
TEMPLATES = (5, 11, 30)
#: Where the settings are the default ones.
USUAL = "11 wordings"
#: Beside the whole grid, which has 60 normal flows.
OTHER_FLOWS = ("crossed flows", "2,000 flows")


class Cell(NamedTuple):
    """One promise in one process: how often it is kept (an interval) or broken (a test, a claim)."""

    promise: str
    where: str
    rate: float
    runs: int


def mean(x: Floats) -> list[tuple[float, float, float]]:
    value, _, low, high = wordings.mean_interval(np.nanmean(x, axis=2), True)
    return [(value, low, high)]


def alpha(x: Floats) -> list[tuple[float, float, float]]:
    counts = wordings.level_counts(*processes.levels_of(x), ACCEPTABILITY)
    group = groups(counts.shape[2])
    without = [reliability.alpha(counts[:, :, group != g].sum(axis=2).T) for g in range(group.max() + 1)]
    found = reliability.alpha(counts.sum(axis=2).T).over(without)
    return [(found.estimate or np.nan, found.low, found.high)]


#: What gives each interval, and its place there.
INTERVALS: dict[str, tuple[Callable[[Floats], list[tuple[float, float, float]]], int]] = {
    "mean": (mean, 0),
    "alpha": (alpha, 0),
}


@cache
def _found(function: Callable[..., list[tuple[float, float, float]]], runs: int, *grid: object) -> Floats:
    """Return studies x intervals x (value, low, high)."""
    templates, wording, missing, flows = grid
    rng = np.random.default_rng([templates, len(wording), len(missing)])
    flow = processes.FLOW * processes.FLOWS[flows](np.random.default_rng(1))
    drawn = (processes.asked(rng, flow, templates, ORDERS, wording, missing) for _ in range(runs))
    return np.array([function(x) for x in drawn])


def coverage(
    name: str, runs: int, templates: int, wording: str, missing: str, flows: str = "normal flows"
) -> Cell:
    """Return how often an interval holds what studies like this one give on average; the flows are given."""
    function, place = INTERVALS[name]
    rate = promises.held(_found(function, runs, templates, wording, missing, flows)[:, place])
    other = f", {flows}" if flows in OTHER_FLOWS else ""
    return Cell(name, f"{templates} wordings, {wording} wordings, {missing}{other}", rate, runs)


def cells(runs: int, names: set[str]) -> Iterator[Cell]:
    """Yield every cell of the promises ``names`` (none: all)."""
    for name in INTERVALS:
        if not names or name in names:
            for grid in itertools.product(TEMPLATES, processes.WORDINGS, processes.MISSING):
                yield coverage(name, runs, *grid)
            for flows in OTHER_FLOWS:
                yield coverage(name, runs, 11, "normal", "complete", flows)
    for name, tried in (promises.INTERVALS | promises.TESTS).items():
        if not names or name in names:
            for where, rate in tried(runs):
                yield Cell(name, where, rate, runs)


def worst(found: list[Cell]) -> list[Cell]:
    """Return the worst cell of each promise: the lowest coverage of an interval, the highest rate of a test."""
    return [
        (max if promise in promises.TESTS else min)(group, key=lambda cell: cell.rate)
        for promise, rows in itertools.groupby(found, key=lambda cell: cell.promise)
        for group in [list(rows)]
    ]


# --- What the docs say


#: A mark in the docs, and the cell after it: <!-- worst: shift -->12.3% (...)<!-- -->.
_MARK = re.compile(r"<!-- worst: ([\w ,]+?) -->.*?<!-- -->", re.DOTALL)
#: Where the summary of the bench is, in its page.
_SUMMARY = re.compile(r"(<!-- the bench -->\n).*?(<!-- end -->)", re.DOTALL)
ROOT = Path(__file__).resolve().parents[2]
CELLS = Path(__file__).with_name("cells.csv")
OF_GATES = ROOT / "workflow/lib/cinorms/gate/worst_cells.json"


def known() -> list[Cell]:
    """Return the cells that were measured, by promise."""
    with CELLS.open(encoding="utf-8", newline="") as file:
        return [Cell(p, where, float(rate), int(runs)) for p, where, rate, runs in [*csv.reader(file)][1:]]


def by_process(cells: list[Cell]) -> str:
    """Return in which processes these cells are, each with its rates in percent."""
    rates: dict[str, list[float]] = {}
    for cell in cells:
        first, _, rest = cell.where.partition(", ")
        process = rest.partition(", ")[0] if first.endswith(" wordings") else first
        process = process.removeprefix("reaction of wordings: ").removesuffix(" wordings")
        rates.setdefault(process, []).append(100 * cell.rate)
    spans = {
        process: sorted({f"{min(of):.0f}", f"{max(of):.0f}"}, key=float) for process, of in rates.items()
    }
    return ", ".join(f"{process} {'–'.join(span)}" for process, span in spans.items()) or "–"


def summary(found: list[Cell]) -> str:
    """Return the table of all promises, with the processes in which they are not kept, or are wider than promised."""
    rows = [f"| promise | of | {USUAL} | all | excluded (%) | wider (%) |", "|---" * 6 + "|"]
    for promise in dict.fromkeys(cell.promise for cell in found):
        group = [cell for cell in found if cell.promise == promise]
        low, high = promises.limits(promise)
        wide = [cell for cell in group if cell.rate > high and low > 0]
        broken = [cell for cell in group if not low <= cell.rate <= high and cell not in wide]
        keep = [cell for cell in group if low <= cell.rate <= high]
        kept, usual = (sum(cell.where.startswith(USUAL) for cell in part) for part in (keep, group))
        default = f"{kept}/{usual}" if usual else "–"
        rows.append(
            f"| {promise} | {promises.ABOUT[promise]} | {default} | {len(keep)}/{len(group)} | "
            f"{by_process(broken)} | {by_process(wide)} |"
        )
    return "\n".join(rows) + "\n"


def with_cells(text: str, found: list[Cell]) -> str:
    """Return a page of the docs with the cell after each mark, and the summary, as they were measured."""
    of = {cell.promise: f"{cell.rate:.1%} ({cell.where}; {cell.runs:,} studies)" for cell in worst(found)}
    text = _MARK.sub(lambda mark: f"<!-- worst: {mark[1]} -->{of.get(mark[1], 'not measured')}<!-- -->", text)
    return _SUMMARY.sub(lambda mark: mark[1] + summary(found) + mark[2], text)


def of_gates(found: list[Cell]) -> str:
    """Return the text of the file of worst cells that a gate's page reads."""
    cells = {cell.promise: cell for cell in worst(found) if cell.promise in promises.OF_GATES}
    facts = {name: {"rate": c.rate, "where": c.where, "studies": c.runs} for name, c in cells.items()}
    return json.dumps(facts, indent=1) + "\n"


def write(new: list[Cell]) -> None:
    """Put the cells of the promises in ``new`` in the place of those known, and into the docs and the library."""
    measured = {cell.promise for cell in new}
    order = [*INTERVALS, *promises.INTERVALS, *promises.TESTS]
    found = sorted(
        [cell for cell in known() if cell.promise not in measured] + new,
        key=lambda cell: order.index(cell.promise),
    )
    with CELLS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("promise", "cell", "rate", "studies")])
        writer.writerows((*cell[:2], round(cell.rate, 3), cell.runs) for cell in found)
    found = known()
    OF_GATES.write_text(of_gates(found), encoding="utf-8")
    for page in (ROOT / "docs").rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        if (changed := with_cells(text, found)) != text:
            page.write_text(changed, encoding="utf-8")


def main() -> None:
    """Print the cells and the worst of each promise."""
    warnings.simplefilter("ignore")
    given = [word for word in sys.argv[1:] if word != "--write"]
    runs = int(given[0]) if given else 400
    found = []
    for cell in cells(runs, set(given[1:])) if runs else ():
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where}", flush=True)
        found.append(cell)
    print("\nThe worst cell of each promise")
    for cell in worst(found):
        print(f"{cell.promise:16} {cell.rate:6.1%}  {cell.where} ({cell.runs} studies)")
    if "--write" in sys.argv:
        write(found)


if __name__ == "__main__":
    main()
