"""What stands where vLLM's Python would: ``pretend_vllm.py -m cinorms.inference.ask ...`` answers without a model.

A job notes its environment and answers once as many jobs as ``PRETEND_JOBS`` says run at the same time, so that
a study can only end where they do. The first job of a model called ``unlucky`` fails before that.
"""

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

#: Seconds to wait for the other jobs.
PATIENCE = 1000.0


class PretendEngine:
    """Says "neutral" to everything, and notes that it was started in ``folder``."""

    def __init__(self, folder: Path) -> None:
        (folder / f"{os.environ['SLURM_JOB_ID']}.{time.monotonic_ns()}.started").touch()

    def ask(self, questions: Any, rows: Any, keep: Any) -> None:
        """Answer the rows."""
        for at in rows.tolist():
            keep(at, {"text": "neutral", "finish_reason": "stop"})

    def metadata(self) -> dict[str, Any]:
        """Return what a run record says."""
        return {"device": "none: no model was asked"}


def take_part(folder: Path, model: str, shard: str) -> None:
    """Note this job, fail where it is to fail, and wait for the others."""
    number = os.environ["SLURM_JOB_ID"]
    names = ("SLURM_JOB_ID", "CUDA_VISIBLE_DEVICES", "HF_HUB_OFFLINE")
    noted = {"model": model, "shard": shard, **{name: os.environ.get(name) for name in names}}
    (folder / f"{number}.json").write_text(json.dumps(noted))
    attempts = [path for path in folder.glob("*.json") if json.loads(path.read_bytes())["model"] == model]
    if model == "unlucky" and len(attempts) == 1:
        sys.exit("Pretended: out of memory")
    (folder / f"{number}.ready").touch()
    end = time.monotonic() + PATIENCE
    while len(list(folder.glob("*.ready"))) < int(os.environ["PRETEND_JOBS"]):
        if time.monotonic() > end:
            sys.exit("The other jobs have not come.")
        time.sleep(0.2)


def main() -> None:
    """Do what the arguments say, as Python would."""
    module, sys.argv = sys.argv[2], [sys.argv[2], *sys.argv[3:]]
    if module == "cinorms.inference.ask":
        from cinorms.inference import ask

        runtime = json.loads(sys.argv[sys.argv.index("--runtime") + 1])
        folder = Path(os.environ["PRETEND_FOLDER"])
        take_part(folder, runtime["model"], runtime["shard"])
        ask._make_engine = lambda *given: PretendEngine(folder)
        ask.main(sys.argv[1:])
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
