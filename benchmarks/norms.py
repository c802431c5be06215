"""Seconds that the norms stage takes on 1.8 million answers: 8 models, 6,912 flows, 33 variants.

Run: ``python benchmarks/norms.py``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY

from cinorms.norms import assessment
from cinorms.norms.thresholds import Thresholds, grid
from cinorms.stats import agreement, budget, hypotheses, reliability, survivorship, wordings

MODELS, FLOWS, TEMPLATES, ORDERS = 8, 6912, 11, 3
T_VAL, T_MAJ = [10, 30], ["plurality", 0.25, 0.5, 0.67]
USUAL = Thresholds(10, 0.5, "strict")


def make_answers(seed: int) -> pd.DataFrame:
    """Return answers of one made-up model: a norm per flow, noise per answer, 5% invalid."""
    rng = np.random.default_rng(seed)
    n = TEMPLATES * ORDERS
    mean = rng.normal(0, 1, (FLOWS, 1))
    level = np.clip(np.rint(mean + rng.normal(0, 0.8, (FLOWS, n))), -2, 2).astype(np.int8).ravel()
    invalid = rng.random(FLOWS * n) < 0.05
    names = [f"{t}_{o}" for t in range(TEMPLATES) for o in range(ORDERS)]
    orders = ["".join(map(str, np.roll(range(5), i))) for i in range(5)]
    return pd.DataFrame(
        {
            "flow": np.repeat(np.arange(FLOWS, dtype=np.int32), n),
            "variant": pd.Categorical.from_codes(np.tile(np.arange(n), FLOWS), names),
            "order": pd.Categorical.from_codes(rng.integers(0, 5, FLOWS * n), orders),
            "level": pd.arrays.IntegerArray(level, invalid),
            "status": pd.Categorical.from_codes(invalid.astype(np.int8), ["ok", "refusal"]),
        }
    )


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print a table of steps, seconds per model and seconds for all models."""
    answers = make_answers(0)
    table = assessment.assess(answers, "strict", ACCEPTABILITY)
    levels = assessment.level_matrix(answers)
    names = sorted(levels.columns)
    numbers = np.array([name.split("_") for name in names], dtype=int)
    prompts = pd.DataFrame({"variant": names, "template_no": numbers[:, 0], "order_no": numbers[:, 1]})
    vignettes = pd.DataFrame({"flow": np.arange(FLOWS), "sender": (np.arange(FLOWS) % 8).astype(str)})
    templates = wordings.template_numbers(prompts)
    steps: dict[str, Callable[[], object]] = {
        "assess, strict": lambda: assessment.assess(answers, "strict", ACCEPTABILITY),
        "assess, papers": lambda: assessment.assess(answers, "papers", ACCEPTABILITY),
        "level matrix": lambda: assessment.level_matrix(answers),
        "discarded, minority, association": lambda: (
            survivorship.discarded(table, grid(T_VAL, T_MAJ, "strict")),
            survivorship.minority(table),
            survivorship.association(table, vignettes, ["sender"], USUAL),
        ),
        "reliability panel": lambda: reliability.panel(answers, table, prompts, ACCEPTABILITY, seed=1),
        "position effects": lambda: reliability.position_effects(answers, ACCEPTABILITY),
        "missing shares": lambda: survivorship.by_variant(answers, prompts),
        "interval and stability per flow": lambda: wordings.flow_intervals(levels, templates, ACCEPTABILITY),
        "budget": lambda: budget.predicted(levels, templates, [1, 3, 5, 9], of=11),
    }
    print(f"{FLOWS * TEMPLATES * ORDERS:,} answers per model, {MODELS} models")
    print(f"{'step':36}{'s / model':>12}{'s / all':>12}")
    total = 0.0
    for name, work in steps.items():
        took = min(seconds(work) for _ in range(2))
        total += took
        print(f"{name:36}{took:12.3f}{took * MODELS:12.2f}")
    models = {str(i): assessment.assess(make_answers(i), "strict", ACCEPTABILITY) for i in range(MODELS)}
    thresholds = dict.fromkeys(models, USUAL)
    pairs = seconds(lambda: agreement.pairs(hypotheses.pair_norms(models, thresholds).astype(float)))
    print(f"{'agreement, all pairs':36}{'':12}{pairs:12.2f}")
    print(f"{'all':36}{total:12.3f}{total * MODELS + pairs:12.2f}")


if __name__ == "__main__":
    main()
