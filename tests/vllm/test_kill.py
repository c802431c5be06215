"""Real vLLM killed at twenty random moments: nothing is lost, only what was under way is asked again."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from cinorms.inference.store import Store

from ..asking import responses_in
from .conftest import request_of
from .job import AT_ONCE
from .jobs import Jobs

KILLS = 20
N = 9 * 12 * 4


@pytest.fixture
def jobs(tmp_path: Path, checkpoint: Path, flows: pd.DataFrame, templates: tuple[str, ...]) -> Iterator[Jobs]:
    """Return jobs on the tiny model."""
    found = Jobs(tmp_path, request_of(checkpoint), flows, templates)
    yield found
    found.close()


def test_a_job_killed_twenty_times(tmp_path, jobs, questions_of):
    chance, root, kept = random.Random(4), tmp_path / "replies", 0
    questions, store = questions_of(jobs.request), Store(root, jobs.request)
    for number in range(KILLS):
        before = jobs.n_asked()
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
    asked = Counter(name for name, _ in jobs.answered())
    assert len(asked) == N
    assert sum(asked.values()) <= N + AT_ONCE * KILLS
    jobs.start(tmp_path / "whole")
    assert jobs.end() == 0, jobs.log.read_text()
    assert jobs.n_asked() == sum(asked.values()) + N
    pd.testing.assert_frame_equal(responses_in(root, questions), responses_in(tmp_path / "whole", questions))
    runs = [run.get("status") for run in store.runs()]
    assert runs[-1] == "done"
    assert "failed" in runs  # a job ended by SIGTERM says so itself
