"""How often 95% intervals of the distance between people and a model hold the known distance.

Run: ``python benchmarks/people.py`` (about 5 minutes on one core).
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "unit" / "stats"))

from people import answered, rated

from cinorms.stats.ceilings import distances

RUNS, TEMPLATES = 500, 11
#: Flows, raters, raters per flow: ConfAIde's surveys, and the 20 flows with published answers.
SURVEYS = ((20, 26, 5), (20, 46, 20), (98, 26, 5), (98, 46, 20))
APART = (0, 10, 30, 60)

Floats = npt.NDArray[np.float64]


def known(people: Floats, options: bool) -> Floats:
    """Return what all such people say on average: their norms, or what the five options make of them."""
    if not options:
        return people
    big = np.random.default_rng(99)
    return np.array([rated(big, one[None], 20_000, 20_000, options=True).means[0] for one in people])


def coverage(flows: int, raters: int, per_flow: int, apart: float, options: bool) -> dict[str, float]:
    """Return how often each interval holds the known distance."""
    rng = np.random.default_rng(1)
    people = rng.normal(-10, 45, flows)
    truth = known(people, options)
    model = truth + (rng.normal(apart / 3, apart, flows) if apart else 0.0)
    d = model - truth
    distance = {"mean_signed": d.mean(), "std_signed": d.std(), "rms": np.sqrt((d**2).mean())}
    hits = dict.fromkeys(distance, 0)
    for _ in range(RUNS):
        table = distances(
            answered(rng, model, TEMPLATES), rated(rng, people, raters, per_flow, options=options)
        ).set_index("metric")
        for name, value in distance.items():
            low, high = table.loc[name, ["conf_low", "conf_high"]]
            hits[name] += low <= value + 1e-9 and value <= high + 1e-9
    return {name: n / RUNS for name, n in hits.items()}


def main() -> None:
    """Print the table."""
    print(
        f"Coverage of 95% intervals, {TEMPLATES} templates, {RUNS} runs; at distance 0 an interval begins at 0"
    )
    print(f"{'flows':>5} {'raters':>6} {'each':>4} {'apart':>5}  scale         mean_signed  std_signed  rms")
    for (flows, raters, per_flow), apart, options in itertools.product(SURVEYS, APART, (False, True)):
        found = coverage(flows, raters, per_flow, apart, options)
        scale = "five options" if options else "number line"
        print(
            f"{flows:5} {raters:6} {per_flow:4} {apart:5}  {scale:12}  {found['mean_signed']:11.1%}  "
            f"{found['std_signed']:10.1%}  {found['rms']:.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
