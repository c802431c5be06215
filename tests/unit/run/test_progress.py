"""What the terminal says of jobs: soon where something is wrong, and who waits in the queue and why; in plain words."""

import json
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.job_state import FOLDER, AskingState, state_file
from cinorms.run.progress import (
    QUEUE_PERIOD,
    Follower,
    Queued,
    dollars,
    duration,
    name_of,
    progress,
    read_queue,
    waiting_jobs,
)

NOW = 1_000_000.0


class Watched:
    """A folder of states, and what is said of them."""

    def __init__(self, folder: Path, *shards: str) -> None:
        self.folder, self.said = folder, []
        self.follower = Follower(folder, {"m": shards or ("1-of-1",)}, self._say)

    def _say(self, line: str) -> None:
        self.said.append(line.partition("  ")[2])

    def write(self, at: float, shard: str = "1-of-1", **changes: Any) -> None:
        stated = {"phase": "asking", "total": 1000, "answered": 100, "rate": 10.0}
        here = {"host": platform.node(), "process": os.getpid(), "started": NOW, "updated": at}
        path = state_file(self.folder / FOLDER, "m", shard)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(AskingState("m", shard, **{**stated, **here, **changes}))))

    def look(self, at: float) -> list[str]:
        """Return what is said at this time."""
        before = len(self.said)
        self.follower.look(at)
        return self.said[before:]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


def test_a_line_now_and_then_from_the_first_seconds_on(watched):
    assert watched.look(NOW) == []
    watched.write(NOW + 3)
    assert watched.look(NOW + 3) == []  # it may be over at once
    assert watched.look(NOW + 60) == ["m: 100 of 1,000 answered (10%), 10/s, 1 min 30 s left"]
    watched.write(NOW + 110, answered=200)
    assert watched.look(NOW + 110) == []
    assert watched.look(NOW + 120) == ["m: 200 of 1,000 answered (20%), 10/s, 1 min 20 s left"]
    watched.write(NOW + 190, phase="done")
    assert watched.look(NOW + 190) == []


def test_what_goes_wrong_is_said_soon_and_so_is_its_end(watched):
    wrong = {"trouble": "no connection", "rate": None, "since": NOW}
    watched.write(NOW + 1, **wrong, failures=1)
    assert watched.look(NOW + 3) == []  # it may be over before anybody has read it
    (line,) = watched.look(NOW + 5)
    assert line == "m: 100 of 1,000 answered (10%), 1 failed attempt; no connection, for 5 s"
    watched.write(NOW + 10, **wrong, failures=2)
    assert watched.look(NOW + 10) == []  # the same, and not long ago
    (line,) = watched.look(NOW + 65)
    assert line.endswith("2 failed attempts; no connection, for 1 min 5 s")
    watched.write(NOW + 75, failures=2)
    (line,) = watched.look(NOW + 75)
    assert line.endswith("10/s, 1 min 30 s left, 2 failed attempts")


def test_at_the_end_the_failed_requests_are_counted(watched):
    assert watched.follower.failures() == ""
    watched.write(NOW, failures=1200)
    assert watched.follower.failures() == "Requests that failed and were sent again: 1,200 of m"


def test_jobs_of_one_model_are_one_line(tmp_path):
    watched = Watched(tmp_path, "1-of-3", "2-of-3", "3-of-3")
    watched.write(NOW, "1-of-3", usd=0.5)
    watched.write(NOW, "2-of-3", answered=400, usd=0.75)
    assert watched.look(NOW + 60) == ["m (2 jobs): 500 of 2,000 answered (25%), 20/s, 1 min 15 s left, $1.25"]


def test_a_job_that_is_dead_is_not_followed(watched):
    watched.write(NOW - 1000, host="elsewhere")
    assert watched.look(NOW + 9) == []


def test_no_time_left_is_stated_while_a_job_cannot_tell_its_rate(watched):
    watched.write(NOW + 60, answered=1, rate=None)
    assert watched.look(NOW + 60) == ["m: 1 of 1,000 answered (0%)"]
    fast, young = (AskingState("m", "1-of-2", "asking", 100, 50, rate=rate) for rate in (5.0, None))
    assert progress([fast], NOW).endswith("5.0/s, 10 s left")
    assert progress([fast, young], NOW).endswith("5.0/s")


def test_a_job_that_does_not_ask_yet_says_what_it_does():
    state = AskingState("m", "1-of-1", doing="loading the checkpoint")
    assert progress([state], NOW) == "loading the checkpoint"
    assert progress([AskingState("m", "1-of-1")], NOW) == "starting"


def test_durations_and_amounts():
    words = ["0 s", "8 s", "1 min 32 s", "25 min", "2 h 5 min", "1 d 3 h"]
    assert [duration(seconds) for seconds in (0.4, 8, 92, 1500, 7500, 100_000)] == words
    assert [dollars(usd) for usd in (0, 0.01234, 1, 1234.5)] == ["$0", "$0.0123", "$1.00", "$1,234.50"]


HERE = Path("/home/ada/study")
NAME = name_of("m", "1-of-1")
#: As `squeue --format "%i|%T|%r|%Z|%k"` prints it.
LINES = """\
7|PENDING|JobHeldUser|/home/ada/study|rule_ask_vllm_wildcards_s_m_1-of-1
8|RUNNING|None|/home/ada/study|rule_ask_vllm_wildcards_s_other_1-of-1
9|PENDING|Priority|/home/ada/elsewhere|rule_ask_vllm_wildcards_s_third_1-of-1
10|PENDING|Priority|/home/ada/study|rule_ask_vllm_wildcards_another_m_1-of-1
11|PENDING|Priority|/home/ada/study|rule_fetch_checkpoint_wildcards_s_m_1-of-1
12|PENDING|Priority|/home/ada/study|(null)
"""


def test_only_jobs_that_wait_to_ask_for_this_study_are_found():
    assert list(read_queue(LINES, "s", HERE)) == [NAME]
    assert read_queue(LINES, "s", HERE)[NAME] == Queued(
        "held", "job 7 waits (JobHeldUser); release it with `scontrol release 7`"
    )
    assert read_queue("", "s", HERE) == {}


@pytest.mark.parametrize(
    ("state", "reason", "word", "advice"),
    [
        ("PENDING", "Priority", "pending", "it begins by itself"),
        ("PENDING", "Resources", "pending", "it begins by itself"),
        ("PENDING", "JobHeldUser", "held", "scontrol release 5"),
        ("PENDING", "JobHeldAdmin", "held", "ask yours"),
        ("PENDING", "launch_failed_requeued_held", "held", "scontrol release 5"),
        ("REQUEUE_HOLD", "None", "held", "scontrol release 5"),
        ("PENDING", "BeginTime", "requeued", "begins again by itself"),
        ("PENDING", "ReqNodeNotAvail, UnavailableNodes:n1", "drained", "sinfo -R"),
        (
            "PENDING",
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "drained",
            "sinfo -R",
        ),
        ("PENDING", "PartitionTimeLimit", "held", "scancel 5"),
        ("PENDING", "BadConstraints", "held", "scancel 5"),
        ("PENDING", "QOSMaxJobsPerUserLimit", "pending", "others of your jobs"),
        ("PENDING", "AssocGrpGRES", "pending", "others of your jobs"),
        ("SUSPENDED", "None", "pending", "suspended"),
    ],
)
def test_each_reason_says_what_to_do(state, reason, word, advice):
    job = Queued.of("5", state, reason)
    assert job.state == word
    assert advice in job.note


def test_squeue_is_called_once_and_none_is_needed(tmp_path):
    assert waiting_jobs("s", {"PATH": str(tmp_path)}, HERE) == {}
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\nprintf "%s" "{LINES}"\n')
    program.chmod(0o755)
    assert list(waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)) == [NAME]
    assert (tmp_path / "calls").read_text().splitlines() == ["--me --noheader --format=%i|%T|%r|%Z|%k"]
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EngineError, match="squeue fails"):
        waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)


def test_the_terminal_names_a_held_job_once(tmp_path):
    said: list[str] = []
    held, priority = Queued.of("5", "PENDING", "JobHeldUser"), Queued.of("6", "PENDING", "Priority")
    queue = {NAME: priority}
    follower = Follower(tmp_path, {"m": ["1-of-1"]}, said.append, queue=lambda: queue)
    follower.look(QUEUE_PERIOD)
    assert said == []
    queue[NAME] = held
    follower.look(1.5 * QUEUE_PERIOD)
    assert said == [], "the queue is asked once a minute"
    for look in (2, 3, 4):
        follower.look(look * QUEUE_PERIOD)
    assert [line.partition("  ")[2] for line in said] == [f"m: held: {held.note}"]


def test_a_terminal_gets_a_bar(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    watched = Watched(tmp_path)
    watched.write(NOW + 15, answered=500)
    assert watched.look(NOW + 15) == [f"{'█' * 10}{'░' * 10} m: 500 of 1,000 answered (50%), 10/s, 50 s left"]
