"""How often regressions reject a term that is 0 where wordings react to the levels of factors.

Run: ``python benchmarks/regressions.py`` (12 studies of 960 flows, 11 wordings in three orders; minutes).
It compares ways to get the errors of a term, and prints a row per standard deviation of the reactions, in levels of the
scale. `benchmarks/adversaries` measures the way that was kept, at more settings.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "adversaries"))

import processes

from cinorms.analyses.shared import fit_clm
from cinorms.stats import marginal_means, permutation
from cumulink import ClmResult, clm, clmm
from rewordings import interval

SIZES, FLOWS, TEMPLATES = (6, 5, 8), 960, 11
FORMULA, BOTH = "level ~ a + b + c", " + (1 | flow) + (1 | template)"


def estimates(fit: ClmResult) -> pd.DataFrame:
    return fit.coefficients.set_index(["factor", "level"]).loc[["b", "c"]]


def by_level(answers: pd.DataFrame) -> pd.Series:
    """Return the p-values of the mixed model with an intercept of each wording at each level of c."""
    own = answers.assign(own=answers["template"].astype(str) + answers["c"].astype(str))
    fit = clmm(f"{FORMULA} + (1 | flow) + (1 | own)", own, df={"c": TEMPLATES - 1})
    return estimates(fit).loc["c", "p"]


def jackknifed(answers: pd.DataFrame, mixed: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what the mixed model rejects with errors by jackknife over wordings, alone and beside its own."""
    without = [
        estimates(clmm(FORMULA + BOTH, answers[answers["template"] != t]))["estimate"]
        for t in range(TEMPLATES)
    ]
    n, away = TEMPLATES, np.array(without) - np.mean(without, axis=0)
    of_wordings = (n - 1) / n * (away**2).sum(axis=0)
    parts = [(of_wordings, n - 1.0)]
    for name, more in (
        ("jackknife", []),
        ("jackknife and flows", [(mixed["std_err"].to_numpy() ** 2, np.inf)]),
    ):
        variance = sum(part for part, _ in parts + more)
        free = variance**2 / sum(part**2 / df for part, df in parts + more)
        low, high = interval(mixed["estimate"].to_numpy(), variance, free)[1:]
        yield name, (low > 0) | (high < 0)


def ways(answers: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each way with what it rejects."""
    mixed = estimates(clmm(FORMULA + BOTH, answers))
    yield "mixed model", mixed["p"].to_numpy() < 0.05
    yield from jackknifed(answers, mixed)
    yield "clustered by flow", estimates(clm(FORMULA, answers, cluster="flow"))["p"].to_numpy() < 0.05
    both = clm(FORMULA, answers, cluster=["flow", "template"])
    yield "clustered by flow and wording", estimates(both)["p"].to_numpy() < 0.05
    held = answers.groupby(["flow", "a", "b", "c"], observed=True)["level"].agg(
        lambda levels: levels.mode().iloc[0]
    )
    yield "norms", estimates(fit_clm(held.reset_index(), "level", "abc"))["p"].to_numpy() < 0.05


def without_a_model(studies: int, sd: float) -> tuple[float, float]:
    """Return how often intervals of marginal means of 240 given flows hold, and how often label swaps reject."""
    found, p = [], []
    for run in range(studies):
        rng, shape = np.random.default_rng([run, int(100 * sd), 1]), (240, TEMPLATES, 3)
        one, other = (
            processes.reacting(rng, SIZES, 240, TEMPLATES, (sd,) * 3, np.random.default_rng(1)) for _ in "ab"
        )
        values = one.rename(columns={"level": "value"})
        table = marginal_means.marginal_means(values, ["a", "b", "c"], [])
        found.append(table[["mean", "conf_low", "conf_high"]].to_numpy())
        (a, templates), (b, _) = (
            processes.levels_of(x["level"].to_numpy(np.float64).reshape(shape)) for x in (one, other)
        )
        p.append(permutation.compare(a, b, templates, 0, 2048)["log10_p"].iloc[0])
    truth, low, high = np.mean(found, axis=0)[:, 0], *np.moveaxis(np.array(found)[:, :, 1:], 2, 0)
    return float(((low <= truth) & (truth <= high)).mean()), float((10 ** np.array(p) < 0.05).mean())


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    for sd in (0.0, 0.15, 0.3):
        rejected: dict[str, list[float]] = {}
        for run in range(runs):
            rng = np.random.default_rng([run, int(100 * sd)])
            answers = processes.reacting(rng, SIZES, FLOWS, TEMPLATES, (sd,) * 3)
            for name, found in ways(answers):
                rejected.setdefault(name, []).append(float(np.mean(found)))
            alone = processes.reacting(rng, SIZES, FLOWS, TEMPLATES, (0, 0, sd))
            rejected.setdefault("intercept by level", []).append(float((by_level(alone) < 0.05).mean()))
        print(sd, {name: f"{np.mean(rates):.1%}" for name, rates in rejected.items()}, flush=True)
        held, swapped = without_a_model(25 * runs, sd)
        print(f"{sd} marginal means hold in {held:.1%}, label swaps reject {swapped:.1%}", flush=True)


if __name__ == "__main__":
    main()
