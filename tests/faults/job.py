"""One job in a process of its own, to be killed: ``python job.py JSON``. Chunks are small, planting slow."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.inference.engines.base import Engine, Keep, Questions
from cinorms.inference.engines.planted import PlantedEngine
from cinorms.inference.journal import Journal


class SlowEngine(PlantedEngine):
    """Planted respondents that take their time, and write down what they were asked."""

    journalled = True

    def __init__(self, asked: Path) -> None:
        self.asked = asked

    def ask(self, questions: Questions, todo: Any, keep: Keep) -> None:
        for first in range(0, len(todo), 50):
            at = np.asarray(todo[first : first + 50])
            with self.asked.open("a") as file:
                file.write("".join(f"{a}\n" for a in at))
            time.sleep(0.05)
            super().ask(questions, at, keep)


def make(given: dict[str, Any], journal: Journal) -> Engine:
    """Return the engine that ``given`` asks for."""
    if given["kind"] == "planted":
        return SlowEngine(Path(given["asked"]))
    from cinorms.inference.engines.openai.api import Endpoint
    from cinorms.inference.engines.openai.batch import BatchEngine
    from cinorms.inference.engines.openai.live import LiveEngine

    endpoint = Endpoint(given["spec"], given["tuning"], "sk-test")
    if given["kind"] == "batch":
        return BatchEngine(endpoint, journal.folder / "batches", poll=0.02, backoff=0.01, most_requests=400)
    return LiveEngine(endpoint, backoff=0.01, chunk=20)


def main() -> None:
    """Ask the shard; say when asking begins."""
    given = json.loads(sys.argv[1])
    out = Path(given["out"])
    vignettes: pd.DataFrame = tables.read(given["vignettes"], tables.VIGNETTES)
    variants = tables.read(given["variants"], tables.PROMPTS)
    journal = Journal.open(out.parent, given["spec"])
    engine = make(given, journal)
    print("asking", flush=True)
    write_shard(given["spec"], vignettes, variants, out, engine, journal)


if __name__ == "__main__":
    main()
