"""One job in a process of its own, to be killed: ``python job.py JSON``. Chunks are small."""

import json
import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "lib"))

from cinorms.ask import write_shard
from cinorms.core import tables
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.live import LiveEngine
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec


def main() -> None:
    """Ask the shard; say when asking begins."""
    given = json.loads(sys.argv[1])
    out = Path(given["out"])
    vignettes: pd.DataFrame = tables.read(given["vignettes"], tables.VIGNETTES)
    variants = tables.read(given["variants"], tables.PROMPTS)
    spec = Spec.from_plain(given["spec"])
    journal = Journal.at(out.parent / ".journal", spec).begin()
    engine = LiveEngine(Endpoint(spec, given["tuning"], "sk-test"), backoff=0.01, chunk=20)
    print("asking", flush=True)
    write_shard(spec, vignettes, variants, out, engine, journal)


if __name__ == "__main__":
    main()
