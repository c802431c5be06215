"""Real vLLM killed at twenty random moments: nothing is lost or asked twice, and the table has the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.inference.journal import Journal
from cinorms.prompts.variants import list_variants

from .conftest import ROOT, spec_of
from .job import CHUNK

KILLS = 20
N = 9 * 12 * 4


class Jobs:
    """A process that has loaded the checkpoint, and starts jobs which use it."""

    def __init__(
        self, folder: Path, checkpoint: Path, flows: pd.DataFrame, templates: tuple[str, ...]
    ) -> None:
        self.spec = spec_of(checkpoint)
        self.asked = folder / "asked.txt"
        self.log = folder / "log.txt"
        given = {"spec": self.spec.as_plain(), "asked": str(self.asked), "log": str(self.log)}
        given |= {name: str(folder / f"{name}.parquet") for name in ("vignettes", "variants")}
        tables.write(flows, given["vignettes"], tables.VIGNETTES)
        tables.write(list_variants("chatgpt", templates, 2, 2), given["variants"], tables.PROMPTS)
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("job.py")), json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "errors.txt").open("w"),
            text=True,
            # One thread: a pool of threads does not live on in a child.
            env=os.environ
            | {
                "PYTHONPATH": str(ROOT / "workflow/lib"),
                "OMP_NUM_THREADS": "1",
                "TOKENIZERS_PARALLELISM": "false",
            }
            | {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_LOGGING_STREAM": "ext://sys.stderr"},
        )
        while self._read() != "loaded":
            pass

    def start(self, out: Path) -> int:
        """Start a job and return its process id."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{out}\n")
        self._process.stdin.flush()
        return int(self._read())

    def end(self) -> int:
        """Return the exit code of the job that was started last, when it has ended."""
        return int(self._read())

    def wait_for(self, n: int) -> None:
        """Wait until vLLM has answered ``n`` prompts in all."""
        limit = time.monotonic() + 120
        while self.n_asked() < n:
            assert time.monotonic() < limit, self.log.read_text()
            time.sleep(0.002)

    def n_asked(self) -> int:
        """Return how many prompts vLLM has answered so far."""
        return self.asked.read_text().count("\n") if self.asked.exists() else 0

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that loads the checkpoint ended"
        return line.strip()


@pytest.fixture
def jobs(tmp_path: Path, checkpoint: Path, flows: pd.DataFrame, templates: tuple[str, ...]) -> Iterator[Jobs]:
    """Return jobs on the control model."""
    found = Jobs(tmp_path, checkpoint, flows, templates)
    yield found
    found.close()


def test_a_shard_killed_twenty_times(tmp_path: Path, jobs: Jobs) -> None:
    chance, out = random.Random(4), tmp_path / "main/control/1-of-1.parquet"
    journal, kept = Journal.at(out.parent / ".journal", jobs.spec), 0
    for number in range(KILLS):
        before = jobs.n_asked()
        pid = jobs.start(out)
        jobs.wait_for(before + CHUNK * chance.randint(0, 3))
        time.sleep(chance.uniform(0, 0.05))  # a moment within a call, or while its part is written
        by = signal.SIGTERM if number % 5 == 4 else signal.SIGKILL
        os.kill(pid, by)
        assert jobs.end() == (128 + by if by == signal.SIGTERM else -by), jobs.log.read_text()
        found = len(set(journal.read()["prompt"].to_pylist())) if journal.folder.exists() else 0
        assert found >= kept
        kept = found
    assert 0 < kept < N
    jobs.start(out)
    assert jobs.end() == 0, jobs.log.read_text()
    asked = Counter(jobs.asked.read_text().split())
    assert len(asked) == N
    assert sum(asked.values()) <= N + CHUNK * KILLS
    whole = tmp_path / "whole/control/1-of-1.parquet"
    jobs.start(whole)
    assert jobs.end() == 0, jobs.log.read_text()
    assert jobs.n_asked() == sum(asked.values()) + N
    assert out.read_bytes() == whole.read_bytes()
    runs = [run["status"] for run in Journal.open(out.parent / ".journal", jobs.spec).runs()]
    assert runs[-1] == "done"
    assert "failed" in runs  # a job ended by SIGTERM says so itself
