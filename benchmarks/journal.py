"""How fast a planted shard of 228,096 prompts is journalled, read back and merged.

    python benchmarks/journal.py [chunk]

Prints seconds of wall time: asked without a journal, with one (chunks of 8,000 unless told), merged from it
when all is there, and from small parts as a slow endpoint leaves them.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from specs import ask_shard, make_spec

from cinorms.ask import write_shard
from cinorms.inference.engine_kind import Keep
from cinorms.inference.engines.planted.engine import PlantedEngine
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.designs import expand, load_dataset

ROOT = Path(__file__).resolve().parents[1]


class Chunked(PlantedEngine):
    """Planted respondents that hand over their answers in chunks."""

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk

    def ask(self, questions: Questions, todo: Any, keep: Keep) -> None:
        """Answer the rows ``todo``, chunk by chunk."""
        for first in range(0, len(todo), self.chunk):
            super().ask(questions, np.asarray(todo[first : first + self.chunk]), keep)


def timed(name: str, call: Any) -> Any:
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        result = call()
    print(f"{name:46} {time.perf_counter() - started:6.2f} s")
    return result


def main() -> None:
    chunk = int(sys.argv[1]) if len(sys.argv) > 1 else 8_000
    dataset = load_dataset(ROOT / "resources/vignettes/iot.yaml")
    assert dataset.design is not None
    flows = expand(dataset.design)
    variants = list_variants(
        "chatgpt", load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates, 11, 3
    )
    spec = make_spec(
        "planted",
        factors=list(dataset.factors),
        n_templates=11,
        planted={"noise": 1, "verbose": 0.1, "invalid": {"refusal": 0.02}},
    )
    print(f"{len(flows) * len(variants):,} prompts, chunks of {chunk:,}")
    timed("asked, no journal", lambda: ask_shard(spec, flows, variants))
    for size, name in ((chunk, f"{chunk:,}"), (100, "100")):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "responses" / "1-of-1.parquet"

            def write(size: int = size, out: Path = out) -> pd.DataFrame:
                return write_shard(
                    spec,
                    flows,
                    variants,
                    out,
                    Chunked(size),
                    Journal.at(out.parent / ".journal", spec).begin(),
                )

            timed(f"asked, journalled in parts of {name}, merged", write)
            parts = list(out.parent.glob(".journal/*/parts/*"))
            size_mb = sum(path.stat().st_size for path in parts) / 1e6
            first = out.read_bytes()
            out.unlink()
            timed(f"merged from its journal ({len(parts):,} parts, {size_mb:.1f} MB)", write)
            assert out.read_bytes() == first


if __name__ == "__main__":
    main()
