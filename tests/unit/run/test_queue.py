"""SLURM's queue in words: whose job waits, why, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinorms.core.errors import EngineError
from cinorms.run.progress import QUEUE_PERIOD, Follower, Queued, name_of, read_queue, waiting_jobs

HERE = Path("/home/ada/study")
NAME = name_of("main", "m", "1-of-1")
#: As `squeue --format "%i|%T|%r|%Z|%k"` prints it.
LINES = """\
7|PENDING|JobHeldUser|/home/ada/study|rule_ask_vllm_wildcards_s_main_m_1-of-1
8|RUNNING|None|/home/ada/study|rule_ask_vllm_wildcards_s_main_other_1-of-1
9|PENDING|Priority|/home/ada/elsewhere|rule_ask_vllm_wildcards_s_main_third_1-of-1
10|PENDING|Priority|/home/ada/study|rule_ask_vllm_wildcards_another_main_m_1-of-1
11|PENDING|Priority|/home/ada/study|rule_train_control_wildcards_s_main_m_1-of-1
12|PENDING|Priority|/home/ada/study|(null)
"""


def test_only_jobs_that_wait_to_ask_for_this_study_are_found() -> None:
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
def test_each_reason_says_what_to_do(state: str, reason: str, word: str, advice: str) -> None:
    job = Queued.of("5", state, reason)
    assert job.state == word
    assert advice in job.note


def test_squeue_is_called_once_and_none_is_needed(tmp_path: Path) -> None:
    assert waiting_jobs("s", {"PATH": str(tmp_path)}, HERE) == {}
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\nprintf "%s" "{LINES}"\n')
    program.chmod(0o755)
    assert list(waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)) == [NAME]
    assert (tmp_path / "calls").read_text().splitlines() == ["--me --noheader --format=%i|%T|%r|%Z|%k"]
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EngineError, match="squeue fails"):
        waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)


def test_the_terminal_names_a_held_job_once(tmp_path: Path) -> None:
    said: list[str] = []
    held, priority = Queued.of("5", "PENDING", "JobHeldUser"), Queued.of("6", "PENDING", "Priority")
    queue = {NAME: priority}
    follower = Follower(tmp_path / "responses", {("main", "m"): ["1-of-1"]}, said.append, queue=lambda: queue)
    follower.look(QUEUE_PERIOD)
    assert said == []
    queue[NAME] = held
    follower.look(1.5 * QUEUE_PERIOD)
    assert said == [], "the queue is asked once a minute"
    for look in (2, 3, 4):
        follower.look(look * QUEUE_PERIOD)
    assert [line.partition("  ")[2] for line in said] == [f"main / m: held: {held.note}"]
