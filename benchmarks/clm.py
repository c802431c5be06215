"""Speed of the cumulative link model beside statsmodels and R's `ordinal`, on one planted problem in one run.

python benchmarks/clm.py                 6,912 rows (8 x 9 x 8 x 12 levels), 33 terms, 5 answer levels
python benchmarks/clm.py --crossed       only an intercept for each flow and for each variant, 228,096 rows less 6%
python benchmarks/clm.py --clustered     only errors clustered by flow, and by flow and template, of 1,000,000 rows
python benchmarks/clm.py --no-baselines  only the model itself, and the response-level model of 228,096 rows

R is timed where `Rscript` with the package `ordinal` is at hand (its own clock, without starting R).
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "workflow" / "lib"))

from cumulink import clm, clmm

SIZES = {"sender": 8, "infotype": 9, "recipient": 8, "transmission": 12}
FACTORS = list(SIZES)
FORMULA = f"level ~ {' + '.join(FACTORS)}"
CUTS = [-5.0, -2.0, -1.2, 4.5]


def planted(rng: np.random.Generator, variants: int = 1) -> pd.DataFrame:
    """Return a full factorial of flows with planted norms, asked ``variants`` times."""
    grid = np.array(list(itertools.product(*(range(size) for size in SIZES.values()))))
    effects = [
        rng.normal(scale=scale, size=size)
        for scale, size in zip((0.6, 0.8, 1.2, 3.0), SIZES.values(), strict=True)
    ]
    latent = sum(effect[column] for effect, column in zip(effects, grid.T, strict=True))
    frame = pd.DataFrame(
        {
            name: np.array([f"{name} {i:02d}" for i in range(size)])[column]
            for (name, size), column in zip(SIZES.items(), grid.T, strict=True)
        }
    )
    frame["flow"] = np.arange(len(frame))
    if variants == 1:
        return frame.assign(level=np.searchsorted(CUTS, latent + rng.logistic(size=len(grid))) - 2)
    answers = []
    for variant in range(variants):
        template, order = divmod(variant, 3)
        noise = rng.logistic(size=len(grid))
        level = np.searchsorted(CUTS, latent + 0.1 * template + 0.2 * order + noise) - 2
        answers.append(frame.assign(template=f"template {template:02d}", order=f"order {order}", level=level))
    return pd.concat(answers, ignore_index=True)


def crossed(rng: np.random.Generator) -> pd.DataFrame:
    """Return answers that differ between flows and between variants, some of them missing."""
    frame = planted(rng, variants=33)
    frame["variant"] = frame["template"] + frame["order"]
    variant, sender = pd.factorize(frame["variant"])[0], pd.factorize(frame["sender"])[0]
    latent = rng.normal(size=int(frame["flow"].max()) + 1)[frame["flow"]] + 0.2 * sender
    latent += rng.normal(scale=0.5, size=33)[variant] + rng.logistic(size=len(frame)) - 0.5
    frame["level"] = np.searchsorted(CUTS, latent) - 2
    return frame[rng.random(len(frame)) < 0.9415]


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the shortest of several timings in seconds."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def seconds_of_r(frame: pd.DataFrame) -> float | None:
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "planted.csv"
        frame.to_csv(path, index=False)
        script = f"""
            suppressMessages(library(ordinal))
            d <- read.csv("{path}", stringsAsFactors = TRUE)
            d$level <- factor(d$level, ordered = TRUE)
            fit <- function() {{ f <- clm({FORMULA}, data = d); summary(f) }}
            cat(min(sapply(1:3, function(i) system.time(fit())["elapsed"])))
        """
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"R could not be timed: {done.stderr.strip().splitlines()[-1]}")
        return None
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-baselines", action="store_true", help="leave statsmodels and R out")
    parser.add_argument("--crossed", action="store_true", help="only the model with two crossed intercepts")
    parser.add_argument("--clustered", action="store_true", help="only clustered errors of a million rows")
    arguments = parser.parse_args()
    if arguments.clustered:
        rng = np.random.default_rng(1)
        parts = [planted(rng, variants=33).assign(model=f"model {number}") for number in range(5)]
        rows = pd.concat(parts, ignore_index=True).iloc[:1_000_000]
        rows = rows.astype(dict.fromkeys([*FACTORS, "template", "model"], "category"))
        for cluster in ("flow", ("flow", "template")):
            start = time.process_time()
            fit = clm(f"{FORMULA} + model", rows, cluster=cluster)
            print(
                f"{fit.n} rows, clustered by {cluster}: {time.process_time() - start:.1f} CPU s ({fit.status})"
            )
        return
    if arguments.crossed:
        answers = crossed(np.random.default_rng(1))
        start = time.process_time()
        mixed = clmm(f"{FORMULA} + (1 | flow) + (1 | variant)", answers)
        print(f"{mixed.n} answers, {mixed.sd}: {time.process_time() - start:.1f} CPU s ({mixed.status})")
        return
    frame = planted(np.random.default_rng(2026))
    fit = clm(FORMULA, frame)
    own = best_of(20, lambda: clm(FORMULA, frame))
    print(
        f"{fit.n} rows, {len(fit.coefficients)} terms, {len(fit.levels)} answer levels, status {fit.status}"
    )
    print(f"{'newton':24}{own:10.4f} s   log-likelihood {fit.log_likelihood:.4f}")
    if not arguments.no_baselines:
        seconds = seconds_of_r(frame)
        if seconds is not None:
            print(f"{'R ordinal::clm':24}{seconds:10.4f} s   ratio {seconds / own:6.0f}")
        start = time.perf_counter()
        slow = clm(FORMULA, frame, estimator="statsmodels")
        seconds = time.perf_counter() - start
        print(f"{'statsmodels BFGS':24}{seconds:10.4f} s   ratio {seconds / own:6.0f}", end="   ")
        print(f"log-likelihood {slow.log_likelihood:.4f} ({slow.status})")
    responses = planted(np.random.default_rng(2026), variants=33)
    seconds = best_of(3, lambda: clm(f"{FORMULA} + template + order", responses, cluster="flow"))
    print(f"{'newton, response level':24}{seconds:10.4f} s   {len(responses)} rows, clustered by flow")


if __name__ == "__main__":
    main()
