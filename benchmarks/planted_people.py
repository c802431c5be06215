"""Simulate the ratings of `resources/ratings/planted_people.csv`: people whose norms are known.

Run: ``python benchmarks/planted_people.py resources/ratings/planted_people.csv``. The same seed gives the same file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from cinorms.core.root import Root
from cinorms.core.scales import Scale
from cinorms.planted.respondents import plant, respondent_of
from cinorms.prompts.variants import select_flows
from cinorms.study.load import load_study, read_layers
from cinorms.study.spec import make_spec
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[1]
RATERS, PER_FLOW, SEED = 40, 12, 17


def main() -> None:
    """Write rater, flow, rating: the norms of planted-llama-3.1-8b, with raters who differ in strictness."""
    root = Root(ROOT)
    study = load_study(read_layers([ROOT / "config/people-planted.yaml"], root), root)
    spec = make_spec(study, "models", "planted-llama-3.1-8b", "1-of-1").as_plain()
    design = load_dataset(ROOT / "resources/vignettes/iot.yaml").design
    assert design is not None
    flows = select_flows(expand(design), spec["select"])
    norms = plant(respondent_of(spec), flows, spec["factors"], Scale.of(spec["scale"]), spec["seed"])
    rng = np.random.default_rng(SEED)
    strict = rng.normal(0, 0.5, RATERS)
    rows = [
        (f"rater {r + 1}", flow, int(np.clip(np.rint(norm + strict[r] + rng.normal(0, 0.8)), -2, 2)))
        for flow, norm in norms[["flow", "level"]].itertuples(index=False)
        for r in sorted(rng.choice(RATERS, PER_FLOW, replace=False))
    ]
    pd.DataFrame(rows, columns=["rater", "flow", "rating"]).to_csv(
        sys.argv[1], index=False, lineterminator="\n"
    )
    print(f"{len(rows):,} ratings of {len(norms)} flows")


if __name__ == "__main__":
    main()
