"""Memory and time for one model in a study up to a hundred times the default one: asking, reading, judging norms.

``python benchmarks/hundred.py [--times 100]`` makes responses of 691,200 flows in 33 variants (ten shards), in a
temporary folder, then reads and assesses them as the rules do, each in a process of its own, and prints seconds of CPU
time and the most memory. One shard is also asked, with a journal and an engine that answers at once. With the package
duckdb it also computes the norms by the query of docs/scaling.md from the same file of answers, and compares.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from tests.scales import ACCEPTABILITY
from tests.specs import make_flows, make_spec

from cinorms.ask import write_shard
from cinorms.coding.whole_arm import ArmReader
from cinorms.core import tables
from cinorms.inference.engine_kind import Keep
from cinorms.inference.journal import Journal
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.norms.assessment import assess

FLOWS, SHARDS = 6_912, 10
SPEC = make_spec("planted", order_method="random", n_templates=11)
VARIANTS = pd.DataFrame(
    [
        (f"{template}_{order}", "{scenario} {options}", "made", template, order)
        for template in range(11)
        for order in range(3)
    ],
    columns=["variant", "template", "prompt_set", "template_no", "order_no"],
)


def vignettes_of(times: int) -> pd.DataFrame:
    """Return the flows of a dataset that many times as large as the default one."""
    return make_flows(times * FLOWS)


def make_responses(folder: Path, times: int) -> None:
    """Write a model's responses to all flows, in shards of variants."""
    texts = [*ACCEPTABILITY.options, "I cannot say."]
    chance = np.random.default_rng(35)
    leaning, vignettes = chance.integers(0, 5, times * FLOWS), vignettes_of(times)
    for number in range(1, SHARDS + 1):
        shard = f"{number}-of-{SHARDS}"
        spec = Spec.from_plain({**SPEC.as_plain(), "shard": shard})
        frame = Questions.of(spec, vignettes, VARIANTS).named()
        said = np.clip(leaning[frame["flow"]] + chance.choice([-1, 0, 0, 0, 1], len(frame)), 0, 4)
        said[chance.random(len(frame)) < 0.05] = 5
        frame["text"] = pd.Categorical.from_codes(said, categories=texts)
        frame["finish_reason"] = pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), ["stop"])
        for name in ("n_prompt_tokens", "n_output_tokens"):
            frame[name] = np.int32(1)
        tables.write(frame.assign(p_options=None), folder / f"{shard}.parquet", tables.RESPONSES)


class AtOnce:
    """An engine that gives every answer at once."""

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Answer the questions, as many at a time as vLLM hands over."""
        for first in range(0, len(todo), 8_192):
            chunk = pd.DataFrame({"at": todo[first : first + 8_192], "text": ACCEPTABILITY.options[0]})
            keep(chunk.assign(finish_reason="stop", n_prompt_tokens=1, n_output_tokens=1))

    def facts(self) -> dict[str, Any]:
        """Return nothing."""
        return {}


def ask_shard(folder: Path, times: int) -> None:
    """Ask the first of ten shards."""
    spec = Spec.from_plain({**SPEC.as_plain(), "shard": f"1-of-{SHARDS}"})
    journal = Journal.of({"journal": str(folder / ".journal"), "asker": ["s", "main", "m"]}, spec).begin()
    write_shard(spec, vignettes_of(times), VARIANTS, folder / "asked.parquet", AtOnce(), journal)


def read(folder: Path, times: int) -> None:
    """Read the answers as ``read_answers`` does."""
    paths = sorted(map(str, folder.glob("*-of-*.parquet")))
    reader = ArmReader(vignettes_of(times), VARIANTS, ACCEPTABILITY, SPEC.as_plain())
    tables.write_ranges(reader.read(paths), folder / "answers.parquet", tables.ANSWERS)


def judge(folder: Path, times: int) -> None:
    """Assess the norms as ``assess_norms`` does."""
    parts = [
        assess(answers, "strict", ACCEPTABILITY)
        for _, (answers,) in tables.read_ranges([folder / "answers.parquet"], tables.ANSWERS)
    ]
    tables.write(pd.concat(parts, ignore_index=True), folder / "norms.parquet", tables.NORMS)


def measure(step: Callable[[Path, int], None], folder: Path, times: int) -> None:
    """Run a step in a process of its own, and print what it took."""

    def run() -> None:
        started = time.process_time()
        step(folder, times)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{step.__name__:15} {time.process_time() - started:7.1f} CPU s  {peak:6,.0f} MB", flush=True)

    process = get_context("fork").Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{step.__name__} failed")


def by_duckdb(answers: Path) -> pd.DataFrame:
    """Return the norms of a file of answers, computed by DuckDB."""
    import duckdb

    return duckdb.sql(query(answers)).df()


def query(answers: Path) -> str:
    """Return the query of docs/scaling.md for a file of answers."""
    page = (Path(__file__).resolve().parents[1] / "docs/scaling.md").read_text(encoding="utf-8")
    return page.partition("```sql\n")[2].partition("```")[0].replace("answers.parquet", str(answers))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=100, help="how many times the default study's flows")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for step in (make_responses, ask_shard, read, judge):
            measure(step, folder, given.times)
        norms = tables.read(folder / "norms.parquet", tables.NORMS)
        try:
            found = by_duckdb(folder / "answers.parquet")
        except ImportError:
            print("duckdb is not installed: its query was not run")
            return
        pd.testing.assert_frame_equal(found, norms[list(found)], check_dtype=False)
        print(f"DuckDB gives the same norms of {len(found):,} flows")


if __name__ == "__main__":
    main()
