"""How often a coder's levels count for a model of which some are wrong or forged, next to seven models without any.

    python benchmarks/coder.py [--studies 200]

A study has eight models with 600 distinct replies each that no rule reads. The coder gives each a level; of the last
model's, a share is wrong. A person codes 200 of each model without mistakes. Prints in how many studies the levels
count for that model, and for how many of the others, at each `agreement`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from cinorms.coding.sample import COUNTS, compare, draw_sample

MODELS, REPLIES, SAMPLE = 8, 600, 200
SHARES, AGREEMENTS = (0.05, 0.08, 0.1), (0.9, 0.95)


def study_of(share: float, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the coder's codes in a study, and those that a person would give: all 1."""
    chance = np.random.default_rng(seed)
    n = MODELS * REPLIES
    model = np.repeat([f"m{i}" for i in range(MODELS)], REPLIES)
    level = np.ones(n, dtype="int8")
    level[n - REPLIES + chance.permutation(REPLIES)[: round(share * REPLIES)]] = 2
    items = [f"{seed}-{i}" for i in range(n)]
    rows = {"model": model, "item": items, "read": pd.array([None] * n, dtype="Int8")}
    coded = pd.DataFrame(rows).assign(level=pd.array(level, dtype="Int8"), status="ok")
    by_hand = coded[["item"]].assign(level=pd.array([1] * n, dtype="Int8"), status="ok")
    return coded, by_hand


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=200)
    studies = parser.parse_args().studies
    for share in SHARES:
        counted = {agreement: np.zeros(2, dtype=int) for agreement in AGREEMENTS}
        for seed in range(studies):
            coded, by_hand = study_of(share, seed)
            sample = draw_sample(coded, SAMPLE, seed)
            for agreement in AGREEMENTS:
                counts = compare(coded, sample, by_hand, agreement)["status"] == COUNTS
                counted[agreement] += [int(counts.iloc[-1]), int(counts.iloc[:-1].sum())]
        for agreement, (last, others) in counted.items():
            print(
                f"{share:.0%} wrong, agreement {agreement}: counts in {last} of {studies} studies; "
                f"the others in {others} of {studies * (MODELS - 1)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
