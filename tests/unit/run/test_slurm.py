"""What SLURM's states become in messages that `tests/slurm` cannot bring about, and which jobs wait, and why."""

from pathlib import Path

import pytest

from cinorms.core.errors import EngineError
from cinorms.run.slurm import Waiting, explain, how_it_ended, job_name, waiting_jobs

#: As Snakemake's plugin words them.
MORE = "it needed more memory than it asked for: each attempt asks for more; or set mem_mb"
LONGER = "it took longer than it asked for: each attempt asks for more; or set runtime"
REFUSED = "SLURM sbatch failed. The error message was 'sbatch: error: Submission failed: {}'.\n    sbatch call:\n ..."
ENDED = "SLURM-job '7' failed, SLURM status is: '{}'. Detailed failure reason unavailable (status command is not ..."
NODE = "SLURM-job '7' failed due to a node failure, SLURM status is: '{}'. Failed nodes will be excluded."


@pytest.mark.parametrize(
    ("reason", "key"),
    [
        ("Invalid account or account/partition combination specified", "slurm_account"),
        ("Requested time limit is invalid (missing or exceeds some limit)", "runtime"),
        ("Requested node configuration is not available", "slurm_partition, gpu"),
        ("Invalid partition name specified", "slurm_partition"),
        ("Invalid feature specification", "constraint"),
        ("Invalid qos specification", "qos"),
        ("More processors requested than permitted", "gpu, mem_mb"),
        ("Whatever else", "set-resources: ask_vllm"),
    ],
)
def test_what_slurm_refuses_is_told_with_its_words_and_the_key_to_set(reason, key):
    first, second = how_it_ended(REFUSED.format(reason), "ask_vllm", [], {}).words.splitlines()
    assert first == f"SLURM refused it: Submission failed: {reason}"
    assert key in second


KILLED = "slurmstepd: error: Exceeded job memory limit"
NO_SRUN = "srun: error: Unable to confirm allocation for job 7: Invalid job id specified"
REASON = "-- why this job failed --\nno key\n"


@pytest.mark.parametrize(
    ("message", "slurm_log", "own_log", "first", "others", "never_began"),
    [
        (ENDED.format("OUT_OF_MEMORY"), "", "", f"OUT_OF_MEMORY{{}}: {MORE}", [], False),
        (ENDED.format("TIMEOUT"), "", REASON, f"TIMEOUT{{}}: {LONGER}", [], False),
        (NODE.format("NODE_FAIL"), "", "", "NODE_FAIL{}: its node failed", [], False),
        (ENDED.format("FAILED"), "", REASON, "", [], False),  # its own log says why
        (ENDED.format("FAILED"), "srun: error: n1: task 0: Exited with exit code 1", REASON, "", [], False),
        (ENDED.format("FAILED"), KILLED, REASON, f"FAILED{{}}: {MORE}", [KILLED], False),
        (ENDED.format("FAILED"), KILLED, "", f"FAILED{{}}: {MORE}", [KILLED], False),
        (ENDED.format("FAILED"), NO_SRUN, "", "FAILED{}", [NO_SRUN], True),
        (ENDED.format("FAILED"), NO_SRUN, REASON, "FAILED{}", [NO_SRUN], False),
        (
            ENDED.format("FAILED"),
            "/bin/sh: 1: srun: not found",
            "",
            "FAILED{}",
            ["/bin/sh: 1: srun: not found"],
            True,
        ),
        (ENDED.format("FAILED"), "ImportError: x", "", "FAILED{}", ["ImportError: x"], False),
    ],
)
def test_how_a_job_ended_is_told_with_what_slurm_s_log_says(
    tmp_path, monkeypatch, message, slurm_log, own_log, first, others, never_began
):
    monkeypatch.chdir(tmp_path)
    logs = [tmp_path / "own.log", tmp_path / "7.log"]
    logs[0].write_text(own_log)
    logs[1].write_text(
        f"{slurm_log}\n[Sun Nov 29 08:53:51 2026]\nError in rule ask_vllm:\n    message: None\n"
    )
    program = tmp_path / "scontrol"
    program.write_text("#!/bin/sh\necho JobId=7 ExitCode=0:9 RunTime=1\n")
    program.chmod(0o755)
    end = how_it_ended(message, "ask_vllm", list(map(str, logs)), {"PATH": str(tmp_path)})
    assert end.never_began == never_began
    lines = end.words.splitlines()
    assert lines[:1] == ([f"SLURM ended job 7: {first.format(' (exit code 0, signal 9)')}"] if first else [])
    assert lines[1 : 1 + len(others)] == others
    assert ("(SLURM's log: 7.log)" in lines) == bool(others)


def test_other_plugins_and_other_messages():
    said = "Job submission failed with exception: x"
    assert how_it_ended(said, "ask_vllm", [], {}).words == f"SLURM: {said}"
    assert how_it_ended("", "ask_vllm", [], {}).words == ""


HERE = Path("/home/ada/study")
NAME = job_name("m", "1-of-1")
#: As `squeue --format "%i|%T|%r|%Z|%k"` prints it.
LINES = """\
7|PENDING|JobHeldUser|/home/ada/study|rule_ask_vllm_wildcards_s_m_1-of-1
8|RUNNING|None|/home/ada/study|rule_ask_vllm_wildcards_s_other_1-of-1
9|PENDING|Priority|/home/ada/elsewhere|rule_ask_vllm_wildcards_s_third_1-of-1
10|PENDING|Priority|/home/ada/study|rule_ask_vllm_wildcards_another_m_1-of-1
11|PENDING|Priority|/home/ada/study|rule_fetch_checkpoint_wildcards_s_m_1-of-1
12|PENDING|Priority|/home/ada/study|(null)
"""


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
            "Nodes required for job are DOWN, DRAINED or reserved for jobs ...",
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
    job = explain("5", state, reason)
    assert job.state == word
    assert advice in job.note


def test_only_jobs_that_wait_to_ask_for_this_study_are_found(tmp_path):
    assert waiting_jobs("s", {"PATH": str(tmp_path)}, HERE) == {}
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/calls"\nprintf "%s" "{LINES}"\n')
    program.chmod(0o755)
    held = Waiting("held", "job 7 waits (JobHeldUser); release it with `scontrol release 7`")
    assert waiting_jobs("s", {"PATH": str(tmp_path)}, HERE) == {NAME: held}
    assert (tmp_path / "calls").read_text().splitlines() == ["--me --noheader --format=%i|%T|%r|%Z|%k"]
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(EngineError, match="squeue fails"):
        waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)
    program.write_text("#!/nosuch\n")
    with pytest.raises(EngineError, match=r"squeue does not answer .*; is this machine part of the cluster"):
        waiting_jobs("s", {"PATH": str(tmp_path)}, HERE)
