"""What the terminal says of jobs: at once where something is wrong, now and then otherwise; in plain words."""

import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cinorms.inference.job_state import FOLDER, AskingState, state_file
from cinorms.run.progress import Follower, duration, progress
from cinorms.run.slurm import Waiting, job_name
from cinorms.study.plan import dollars

NOW = 1_000_000.0


class Watched:
    """A folder of states, and what is printed of them."""

    def __init__(self, folder: Path, printed: Callable[[], list[str]], *shards: str) -> None:
        self.folder, self.printed = folder, printed
        self.follower = Follower(folder, {"m": shards or ("1-of-1",)})

    def write(self, at: float, shard: str = "1-of-1", **changes: Any) -> None:
        path = state_file(self.folder / FOLDER, "m", shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(asking(at, **changes))))

    def look(self, at: float) -> list[str]:
        """Return what is printed at this time."""
        self.follower.look(at)
        return self.printed()


def asking(at: float, **changes: Any) -> AskingState:
    """Return the state of a job of this process that answers 10 questions per second."""
    stated = {"phase": "asking", "total": 1000, "answered": 100, "first": at - 100, "updated": at}
    stated |= {"host": platform.node(), "process": os.getpid(), **changes}
    return AskingState(**{"before": stated["answered"] - 1000, **stated})


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    return lambda: [line.partition("  ")[2] for line in capsys.readouterr().err.splitlines()]


@pytest.fixture
def watched(tmp_path: Path, printed: Callable[[], list[str]]) -> Watched:
    return Watched(tmp_path, printed)


def test_a_line_now_and_then_while_a_job_is_alive(watched):
    assert watched.look(NOW) == []
    watched.write(NOW + 3)
    assert watched.look(NOW + 3) == ["m: 100 of 1,000 answered (10%), 10/s, 1 min 30 s left"]
    assert watched.look(NOW + 5) == []
    assert watched.look(NOW + 63) == ["m: 100 of 1,000 answered (10%), 10/s, 1 min 30 s left"]
    watched.write(NOW + 110, answered=200)
    assert watched.look(NOW + 110) == []
    assert watched.look(NOW + 123) == ["m: 200 of 1,000 answered (20%), 10/s, 1 min 20 s left"]
    watched.write(NOW + 190, phase="done")
    assert watched.look(NOW + 190) == []
    watched.write(NOW - 1000, host="elsewhere")
    assert watched.look(NOW + 300) == []


def test_what_goes_wrong_is_said_at_once_and_so_is_its_end(watched):
    wrong = {"trouble": "no connection", "first": None, "since": NOW}
    watched.write(NOW + 1, **wrong, failures=1)
    answered = "m: 100 of 1,000 answered (10%)"
    assert watched.look(NOW + 5) == [f"{answered}, 1 failed attempt; no connection, for 5 s"]
    watched.write(NOW + 10, **wrong, failures=2)
    assert watched.look(NOW + 10) == []  # the same, and not long ago
    assert watched.look(NOW + 65) == [f"{answered}, 2 failed attempts; no connection, for 1 min 5 s"]
    watched.write(NOW + 67, failures=2)
    assert watched.look(NOW + 67) == [f"{answered}, 10/s, 1 min 30 s left, 2 failed attempts"]


def test_at_the_end_the_failed_requests_are_counted(watched):
    assert watched.follower.failures() == ""
    watched.write(NOW, failures=1200)
    assert watched.follower.failures() == "Requests that failed and were sent again: 1,200 of m"


def test_jobs_of_one_model_are_one_line(tmp_path, printed):
    watched = Watched(tmp_path, printed, "1-of-3", "2-of-3", "3-of-3")
    watched.look(NOW)
    watched.write(NOW, "1-of-3", usd=0.5, tokens=9000)
    watched.look(NOW)
    watched.write(NOW, "2-of-3", answered=400, usd=0.75)
    assert watched.look(NOW + 60) == [
        "m (2 jobs): 500 of 2,000 answered (25%), 20/s, 1 min 15 s left, 9,000 tokens, $1.25"
    ]


def test_words_of_progress_are_those_that_the_jobs_know():
    fast, young = asking(NOW), asking(NOW, first=NOW)  # the youngest has no rate
    assert progress([young], NOW) == "100 of 1,000 answered (10%)"
    second = asking(NOW, first=NOW - 2, before=80)  # and a young one cannot tell how long it takes
    assert progress([second], NOW) == "100 of 1,000 answered (10%), 10/s"
    assert progress([fast], NOW) == "100 of 1,000 answered (10%), 10/s, 1 min 30 s left"
    assert progress([fast, young], NOW) == "200 of 2,000 answered (10%), 10/s"
    assert progress([AskingState(doing="loading the checkpoint")], NOW) == "loading the checkpoint"
    assert progress([AskingState()], NOW) == "starting"


def test_durations_and_amounts():
    words = ["0 s", "8 s", "1 min 32 s", "25 min 0 s", "2 h 5 min", "1 d 3 h"]
    assert [duration(seconds) for seconds in (0.4, 8, 92, 1500, 7500, 100_000)] == words
    assert [dollars(usd) for usd in (0, 0.01234, 1, 1234.5)] == ["$0", "$0.0123", "$1.00", "$1,234.50"]


def test_the_terminal_names_a_held_job_once(tmp_path, printed):
    name = job_name("m", "1-of-1")
    queue = {name: Waiting("pending", "job 6 waits (Priority); it begins by itself")}
    follower = Follower(tmp_path, {"m": ["1-of-1"]}, lambda: queue)
    follower.look_at_queue(NOW)
    assert printed() == []
    queue[name] = Waiting("held", "job 6 waits (JobHeldUser)")
    for _ in range(3):
        follower.look_at_queue(NOW)
    assert printed() == ["m: held: job 6 waits (JobHeldUser)"]


def test_a_terminal_gets_a_bar_and_a_line_more_often(watched, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    watched.write(NOW, answered=500)
    assert len(watched.look(NOW)) == 1
    assert watched.look(NOW + 14) == []
    assert watched.look(NOW + 15) == [f"m: {'█' * 10}{'░' * 10} 500 of 1,000 answered (50%), 10/s, 50 s left"]
