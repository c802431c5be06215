"""People's means for flows that nobody rated, held out from the survey on students' data: error, ceiling, gain.

    make people STUDY=config/people-education.yaml; python benchmarks/unrated_flows.py

A third of the rated flows and a third of the people are held out, 20 times; the means of the people held out are
estimated from the others' ratings of the other flows, from nothing, factors, a model, and both. Errors are without the
noise of the held-out means. The ceiling is how far the means of the people who are not held out, had they rated the
flow, are from those of all people.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "workflow/lib"))

from cinorms.norms.assessment import level_matrix  # noqa: E402 (after the path)
from cinorms.stats.assisted import estimate_flows  # noqa: E402
from cinorms.stats.samples import Sample  # noqa: E402

RESULTS = ROOT / "results/people-education"
MODELS, SPLITS = ("planted-education", "planted-gpt-4o-mini"), 20


def read(arm: str, model: str) -> pd.DataFrame:
    """Return flows x variants, from -1 (no) to 1 (yes)."""
    return level_matrix(pd.read_parquet(RESULTS / f"answers/{arm}/{model}.parquet"))


def main() -> None:
    """Print a row for each way to predict."""
    people = read("people", "people")
    cells = people.to_numpy()
    flows = (
        pd.read_parquet(next((RESULTS / "vignettes").glob("*.parquet"))).set_index("flow").loc[people.index]
    )
    levels = flows[["sender", "recipient", "attribute", "principle"]].astype(str)
    factors = pd.get_dummies(levels, drop_first=True, dtype=float).to_numpy()
    ways = {"nothing": np.zeros((len(cells), 1)), "factors": factors}
    for model in MODELS:
        mean = read("main", model).mean(axis=1).reindex(people.index).to_numpy()[:, None]
        ways |= {model: mean, f"factors and {model}": np.hstack([factors, mean])}
    rng, rows = np.random.default_rng(1), []
    for _ in range(SPLITS):
        flow, rater = (rng.random(n) < 1 / 3 for n in cells.shape)
        known = Sample(np.where(flow[:, None] | rater, np.nan, cells))
        variance = float(np.nanmean(Sample(cells).variances))
        ceiling = variance / np.maximum((~np.isnan(cells[flow][:, ~rater])).sum(axis=1), 1)
        for way, predictors in ways.items():
            table = estimate_flows(known, predictors)
            for where, at in (("unrated", flow), ("rated", ~flow)):
                held = Sample(cells[at][:, rater])
                use = held.sizes > 3  # as in tests/unit/stats/test_assisted.py
                away, noise = (held.means - table[at]["estimate"].to_numpy())[use], variance / held.sizes[use]
                inside = np.abs(away) < 1.96 * np.sqrt(table[at]["std_err"].to_numpy()[use] ** 2 + noise)
                rows.append((where, way, (away**2 - noise).mean(), inside.mean(), ceiling.mean()))
    table = pd.DataFrame(rows, columns=["flows", "predicted from", "error", "covered", "ceiling"])
    mean = table.groupby(["flows", "predicted from"], sort=False).mean()
    mean[["error", "ceiling"]] **= 0.5
    print(mean.round(3).to_string())


if __name__ == "__main__":
    main()
