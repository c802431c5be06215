"""One job in a process of its own, to be killed: ``python job.py JSON``. Chunks are small."""

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.inference.engine_kind import Engine
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec


def make(given: dict[str, Any], spec: Spec, journal: Journal) -> Engine:
    """Return the engine that ``given`` asks for."""
    from cinorms.inference.engines.openai.batch import BatchEngine
    from cinorms.inference.engines.openai.endpoint import Endpoint
    from cinorms.inference.engines.openai.live import LiveEngine

    endpoint = Endpoint(spec, given["tuning"], "sk-test")
    if given["kind"] == "batch":
        return BatchEngine(endpoint, journal.folder / "batches", poll=0.02, backoff=0.01, most_requests=400)
    return LiveEngine(endpoint, backoff=0.01, chunk=20)


def main() -> None:
    """Ask the shard; say when asking begins."""
    given = json.loads(sys.argv[1])
    out = Path(given["out"])
    vignettes: pd.DataFrame = tables.read(given["vignettes"], tables.VIGNETTES)
    variants = tables.read(given["variants"], tables.PROMPTS)
    spec = Spec.from_plain(given["spec"])
    journal = Journal.at(out.parent / ".journal", spec).begin()
    engine = make(given, spec, journal)
    print("asking", flush=True)
    write_shard(spec, vignettes, variants, out, engine, journal)


if __name__ == "__main__":
    main()
