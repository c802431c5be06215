"""Simulate the ratings of `resources/ratings/planted_people.csv`: people whose norms are known.

Run: ``python benchmarks/planted_people.py resources/ratings/planted_people.csv``. The same seed gives the same file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from cinorms.core.validation import load_yaml
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[1]
RATERS, PER_FLOW, SEED = 40, 12, 17
#: As in the study config/people-planted.yaml.
SELECT = {
    "sender": ["a fitness tracker"],
    "information_type": [
        "owner's location",
        "owner's exercise routine",
        "audio of owner",
        "owner's heart rate",
    ],
    "recipient": [
        "owner's doctor",
        "its manufacturer",
        "the local police",
        "government intelligence agencies",
    ],
}


def main() -> None:
    """Write rater, flow, rating: the planted norms of llama-3.1-8b, with raters who differ in strictness."""
    design = load_dataset(ROOT / "resources/vignettes/iot.yaml").design
    assert design is not None
    flows = expand(design)
    for factor, levels in SELECT.items():
        flows = flows[flows[factor].isin(levels)]
    planted = load_yaml(ROOT / "resources/planted/llama-3.1-8b.yaml")
    latent = sum(
        flows[factor].astype(str).map(planted["coefficients"][factor]).astype(float).fillna(0.0)
        for factor in planted["coefficients"]
        if factor in flows
    )
    norms = np.searchsorted(planted["thresholds"], np.asarray(latent)) - 2.0
    rng = np.random.default_rng(SEED)
    strict = rng.normal(0, 0.5, RATERS)
    rows = [
        (f"rater {r + 1}", flow, int(np.clip(np.rint(norm + strict[r] + rng.normal(0, 0.8)), -2, 2)))
        for flow, norm in zip(flows["flow"], norms, strict=True)
        for r in sorted(rng.choice(RATERS, PER_FLOW, replace=False))
    ]
    pd.DataFrame(rows, columns=["rater", "flow", "rating"]).to_csv(
        sys.argv[1], index=False, lineterminator="\n"
    )
    print(f"{len(rows):,} ratings of {len(flows)} flows")


if __name__ == "__main__":
    main()
