"""Real vLLM killed at twenty random moments: nothing is lost or asked twice, and the table has the same bytes."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cinorms.inference.journal import Journal

from .conftest import spec_of
from .job import CHUNK
from .jobs import Jobs

KILLS = 20
N = 9 * 12 * 4


@pytest.fixture
def jobs(tmp_path: Path, checkpoint: Path, flows: pd.DataFrame, templates: tuple[str, ...]) -> Iterator[Jobs]:
    """Return jobs on the tiny model."""
    found = Jobs(tmp_path, spec_of(checkpoint), flows, templates)
    yield found
    found.close()


def test_a_shard_killed_twenty_times(tmp_path, jobs):
    chance, out = random.Random(4), tmp_path / "main/tiny/1-of-1.parquet"
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
    asked = Counter(name for name, _ in jobs.answered())
    assert len(asked) == N
    assert sum(asked.values()) <= N + CHUNK * KILLS
    whole = tmp_path / "whole/tiny/1-of-1.parquet"
    jobs.start(whole)
    assert jobs.end() == 0, jobs.log.read_text()
    assert jobs.n_asked() == sum(asked.values()) + N
    assert out.read_bytes() == whole.read_bytes()
    runs = [run["status"] for run in Journal.at(out.parent / ".journal", jobs.spec).begin().runs()]
    assert runs[-1] == "done"
    assert "failed" in runs  # a job ended by SIGTERM says so itself
