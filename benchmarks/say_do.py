"""How often the intervals of `say_do` cover what is planted, and how often its test rejects without a link.

Run: ``python benchmarks/say_do.py [STUDIES]`` (default 400: 40 CPU seconds). Studies have 120 flows and six wordings.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from tests.unit.stats.test_say_do import drawn

from cinorms.stats.say_do import STATISTICS, estimate, no_link

LINKS = {"none": (0.0, 0.0), "weak": (0.5, 0.0), "full": (1.0, 0.0), "full, 30% careless": (1.0, 0.3)}


def main(studies: int) -> None:
    """Print a row per planted link: coverage of each number in percent, and the share of studies that reject."""
    print(f"| link | {' | '.join(STATISTICS)} | p_no_link below 0.05 |")
    for name, (link, careless) in LINKS.items():
        rng = np.random.default_rng(11)
        large = [drawn(rng, 2000, 6, link, careless) for _ in range(100)]
        truth = np.mean([sides.statistics(np.ones((1, 2000)))[0] for sides in large], axis=0)
        inside, rejected = np.zeros(len(STATISTICS)), 0
        for study in range(studies):
            sides = drawn(rng, 120, 6, link, careless)
            found = estimate(sides, study)
            inside += ((found["low"] <= truth) & (truth <= found["high"])).to_numpy()
            rejected += no_link(sides, study, 199) <= 0.05
        shares = " | ".join(f"{100 * share:.1f}" for share in inside / studies)
        print(f"| {name} | {shares} | {100 * rejected / studies:.1f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
