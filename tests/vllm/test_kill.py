"""Real vLLM killed at twenty random moments: nothing is lost, only what was under way is asked again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from cinorms.inference.request import Request
from cinorms.inference.store import Store

from ..asking import responses_in
from .conftest import ROOT, request_of, write_inputs
from .job import AT_ONCE

KILLS = 20
N = 9 * 12 * 4


class Jobs:
    """A process that has loaded the checkpoint (``job.py``), and starts jobs which use it."""

    def __init__(self, folder: Path, request: Request, inputs: dict[str, str]) -> None:
        self._asked, self.log = folder / "asked.txt", folder / "log.txt"
        given = {"request": request.plain(), "asked": str(self._asked), "log": str(self.log), **inputs}
        # One thread: a pool of threads does not live on in a child.
        environment = {"PYTHONPATH": str(ROOT / "workflow/lib"), "OMP_NUM_THREADS": "1"}
        environment |= {"TOKENIZERS_PARALLELISM": "false", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("job.py")), json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "errors.txt").open("w"),
            text=True,
            env=os.environ | environment | {"VLLM_LOGGING_STREAM": "ext://sys.stderr"},
        )
        while self._read() != "loaded":
            pass

    def start(self, store: Path) -> int:
        """Start a job that adds to ``store``, and return its process id."""
        self._process.stdin.write(f"{store}\n")
        self._process.stdin.flush()
        return int(self._read())

    def end(self) -> int:
        """Return the exit code of the job that was started last, when it has ended."""
        return int(self._read())

    def wait_for(self, n: int) -> None:
        """Wait until vLLM has answered ``n`` requests in all."""
        limit = time.monotonic() + 1200
        while len(self.answered()) < n:
            assert time.monotonic() < limit, self.log.read_text()
            time.sleep(0.002)

    def answered(self) -> list[str]:
        """Return the name of every request that vLLM has answered so far."""
        return self._asked.read_text().split("\n")[:-1] if self._asked.exists() else []

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> str:
        line = self._process.stdout.readline()
        assert line, "the process that loads the checkpoint ended"
        return line.strip()


@pytest.fixture
def jobs(tmp_path, checkpoint, flows, templates):
    """Return jobs on the tiny model."""
    found = Jobs(tmp_path, request_of(checkpoint), write_inputs(tmp_path, flows, templates))
    yield found
    found.close()


def test_a_job_killed_twenty_times(tmp_path, jobs, checkpoint, questions_of):
    chance, root, kept = random.Random(4), tmp_path / "replies", 0
    request = request_of(checkpoint)
    questions, store = questions_of(request), Store(root, request)
    for number in range(KILLS):
        before = len(jobs.answered())
        pid = jobs.start(root)
        # A job answers SIGTERM once it asks; before, it ends like any process.
        jobs.wait_for(before + AT_ONCE * chance.randint(int(number % 5 == 4), 3))
        time.sleep(chance.uniform(0, 0.05))  # a moment within a call, or while a reply is written
        by = signal.SIGTERM if number % 5 == 4 else signal.SIGKILL
        os.kill(pid, by)
        assert jobs.end() == (128 + by if by == signal.SIGTERM else -by), jobs.log.read_text()
        found = int(store.answered(questions.keys).sum())
        assert found >= kept
        kept = found
    assert 0 < kept < N
    jobs.start(root)
    assert jobs.end() == 0, jobs.log.read_text()
    asked = Counter(jobs.answered())
    assert len(asked) == N
    assert asked.total() <= N + AT_ONCE * KILLS
    jobs.start(tmp_path / "whole")
    assert jobs.end() == 0, jobs.log.read_text()
    assert len(jobs.answered()) == asked.total() + N
    pd.testing.assert_frame_equal(responses_in(root, questions), responses_in(tmp_path / "whole", questions))
    runs = [run.get("status") for run in store.runs()]
    assert runs[-1] == "done"
    assert "failed" in runs  # a job ended by SIGTERM says so itself
