"""Replay the published answers as if each flow were asked until its verdict is decided.

Usage: .venv/bin/python benchmarks/deciding.py [RISK [MODEL ...]]

Needs the answers of the replication: `make replicate`, or only
`.venv/bin/snakemake --configfile config/replication.yaml results/replication/answers/main/MODEL.parquet`.
The rounds get the answers in the order in which a job would ask for them, and no others. About one CPU minute per
model; set OPENBLAS_NUM_THREADS=1 where other programs use the cores.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow/lib"))

from cinorms.core import tables  # noqa: E402
from cinorms.norms.assessment import level_matrix  # noqa: E402
from cinorms.norms.thresholds import Thresholds  # noqa: E402
from cinorms.stats.deciding.rounds import AskedDesign, DecidingRule, replay  # noqa: E402
from cinorms.stats.deciding.schedule import NOT_ASKED  # noqa: E402

RESULTS = ROOT / "results/replication"
FACTORS = ["sender", "information_type", "recipient", "transmission_principle"]
LEVELS = (-2, -1, 0, 1, 2)
#: Thresholds of the replay: 10 valid answers, or 3 of a model that was asked 9 variants; half of them agree.
T_VAL, T_VAL_FEW, T_MAJ = 10, 3, 0.5
PILOT, SEED = 400, 1


def read(model: str) -> tuple[AskedDesign, npt.NDArray[np.intp]]:
    """Return the design of a model, and its published answers as codes."""
    vignettes = tables.read(RESULTS / "vignettes/iot.parquet", tables.VIGNETTES)
    answers = tables.read(RESULTS / f"answers/main/{model}.parquet", tables.ANSWERS)
    levels = level_matrix(answers)
    names = sorted(levels.columns, key=lambda name: tuple(map(int, name.split("_"))))
    codes = (levels[names] - LEVELS[0]).fillna(len(LEVELS)).to_numpy(dtype=np.intp)
    flows = levels.index.to_numpy(dtype=np.intp)
    found = vignettes.set_index("flow").loc[flows, FACTORS].astype(str)
    design = AskedDesign(
        flows=flows,
        factors=np.stack([pd.factorize(found[name], sort=True)[0] for name in FACTORS], axis=1),
        variants=names,
        template_no=np.array([int(name.split("_")[0]) for name in names]),
        order_no=np.array([int(name.split("_")[1]) for name in names]),
        n_levels=len(LEVELS),
        seed=SEED,
    )
    return design, codes


def measure(model: str, risk: float) -> dict[str, float | str]:
    """Return what a model was asked, and how many verdicts that left as they are."""
    design, codes = read(model)
    t_val = T_VAL if codes.shape[1] > T_VAL else T_VAL_FEW
    rule = DecidingRule(Thresholds(t_val, T_MAJ, "strict"), risk, PILOT)
    begin = time.process_time()
    asked = replay(design, rule, codes)
    seconds = time.process_time() - begin
    now, full = (design.verdict(seen, rule.thresholds) for seen in (np.where(asked, codes, NOT_ASKED), codes))
    wrong = (now != full) & (now < len(LEVELS)) & (full < len(LEVELS))
    return {
        "model": model,
        "asked": asked.mean(),
        "agreement": (now == full).mean(),
        "wrong level": wrong.mean(),
        "CPU s": seconds,
    }


def main() -> None:
    risk = float(sys.argv[1]) if len(sys.argv) > 1 else 0.01
    models = sys.argv[2:] or sorted(path.stem for path in (RESULTS / "answers/main").glob("*.parquet"))
    rows = []
    for model in models:
        rows.append(measure(model, risk))
        print({k: v if isinstance(v, str) else round(v, 4) for k, v in rows[-1].items()}, flush=True)
    if len(rows) > 1:
        print(pd.DataFrame(rows).set_index("model").mean().round(4).to_string())


if __name__ == "__main__":
    main()
