"""Which 95% interval over wordings holds the truth in 95% of cases, and whether norms called stable come out again.

Run: ``python benchmarks/coverage.py`` (about 5 minutes on one core); ``coverage.py 20``: 20 simulated studies instead
of 2,000, to see that it runs.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY

from cinorms.stats.wordings import flow_intervals, mean_interval

Floats = npt.NDArray[np.float64]

FLOWS, ORDERS, DRAWS = 60, 3, 400
RUNS = int(sys.argv[1]) if sys.argv[1:] else 2000
#: Studies in which norms called stable are asked again.
AGAIN = min(20, RUNS)
TEMPLATES, TEMPLATE_SD, MISSING = (5, 11, 30), (0.1, 0.3, 0.6), ("complete", "at random", "by template")


def answers(rng: np.random.Generator, templates: int, sd: float, missing: str, flow: Floats) -> Floats:
    """Return flows x templates x orders: effects of flow, template, both together (0.3) and single answers (0.7)."""
    shape = (len(flow), templates, ORDERS)
    x = flow[:, None, None] + rng.normal(0, sd, (1, templates, 1)) + rng.normal(0, 0.3, (*shape[:2], 1))
    x = x + rng.normal(0, 0.7, shape)
    if missing != "complete":
        share = 0.1 if missing == "at random" else rng.beta(1, 4, (1, templates, 1))
        x = np.where(rng.random(shape) < share, np.nan, x)
    return np.asarray(x)


def bootstrap(rng: np.random.Generator, cells: Floats) -> tuple[float, float]:
    """Return the quantiles of the mean over columns (templates or variants) drawn with replacement."""
    n = cells.shape[1]
    drawn = rng.multinomial(n, [1 / n] * n, size=DRAWS)
    means = (drawn @ np.nansum(cells, axis=0)) / (drawn @ (~np.isnan(cells)).sum(axis=0))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def coverage(templates: int, sd: float, missing: str, fixed: bool) -> dict[str, float]:
    """Return how often each interval holds the mean over all wordings."""
    rng = np.random.default_rng(1)
    given = rng.normal(0, 1, FLOWS)
    hits = dict.fromkeys(("t", "templates drawn", "variants drawn"), 0)
    for _ in range(RUNS):
        x = answers(rng, templates, sd, missing, given if fixed else rng.normal(0, 1, FLOWS))
        cells = np.nanmean(x, axis=2)
        truth = given.mean() if fixed else 0.0
        found = {"t": mean_interval(cells, fixed)[2:]}
        if fixed:
            found["templates drawn"] = bootstrap(rng, cells)
            found["variants drawn"] = bootstrap(rng, x.reshape(FLOWS, -1))
        for name, (low, high) in found.items():
            hits[name] += bool(low <= truth <= high)
    return {name: n / RUNS for name, n in hits.items()}


def modes(x: Floats) -> Floats:
    """Return the most frequent level of each flow, missing for a tie."""
    counts = np.stack([(x == level).sum(axis=(1, 2)) for level in range(-2, 3)])
    tied = (counts == counts.max(axis=0)).sum(axis=0) > 1
    return np.where(tied, np.nan, counts.argmax(axis=0) - 2.0)


def recurrence(templates: int, orders: int, both: float) -> tuple[float, float]:
    """Return the share of norms that are called stable, and how many of these come out the same in fresh wordings."""
    rng, again, stable, norms = np.random.default_rng(2), [], 0, 0

    def asked(flow: Floats) -> Floats:
        shape = (len(flow), templates, orders)
        x = flow[:, None, None] + rng.normal(0, 0.3, (1, templates, 1)) + rng.normal(0, both, (*shape[:2], 1))
        return np.clip(np.round(x + rng.normal(0, 0.5, shape)), -2, 2)

    names = [f"{t}_{o}" for t, o in itertools.product(range(templates), range(orders))]
    of: pd.Series[Any] = pd.Series([int(name.split("_")[0]) for name in names], index=names)
    for _ in range(AGAIN):
        flow = rng.normal(0, 1.2, 400)
        x = asked(flow)
        mode = modes(x)
        share = np.max([(x == level).mean(axis=(1, 2)) for level in range(-2, 3)], axis=0)
        held = ~np.isnan(mode) & (share > 0.5)
        found = flow_intervals(pd.DataFrame(x.reshape(len(x), -1), columns=names), of, ACCEPTABILITY)
        called = held & (found["stability"].to_numpy() >= 0.95)
        stable, norms = stable + int(called.sum()), norms + int(held.sum())
        again += [(modes(asked(flow)) == mode)[called] for _ in range(20)]
    return stable / norms, float(np.concatenate(again).mean()) if stable else np.nan


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    print(
        f"Coverage of 95% intervals: {FLOWS} flows, {ORDERS} orders, {RUNS:,} runs, lowest and highest over {MISSING}"
    )
    print(
        f"{'templates':>9} {'sd':>4}  {'flows fixed':13}  {'flows sampled':13}  templates drawn  variants drawn"
    )
    for templates, sd in itertools.product(TEMPLATES, TEMPLATE_SD):
        fixed, sampled = (
            [coverage(templates, sd, way, is_fixed) for way in MISSING] for is_fixed in (True, False)
        )
        columns = [(fixed, "t"), (sampled, "t"), (fixed, "templates drawn"), (fixed, "variants drawn")]
        shown = [f"{min(r[n] for r in rows):.1%} to {max(r[n] for r in rows):.1%}" for rows, n in columns]
        print(f"{templates:9} {sd:4}  " + "  ".join(f"{text:14}" for text in shown), flush=True)
    print("\nNorms called stable: their share of all norms, and the share that is the same in fresh wordings")
    for templates, orders, both in itertools.product(TEMPLATES, (1, 3), (0.2, 0.5, 0.8)):
        share, again = recurrence(templates, orders, both)
        print(
            f"{templates:9} templates x {orders} orders, sd {both}: {share:4.0%} called stable, {again:.1%} the same"
        )


if __name__ == "__main__":
    main()
