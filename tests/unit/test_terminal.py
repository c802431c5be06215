"""What the terminal shows of a run: a line per finished job, every failure once, and why."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from cinorms.core.logs import FAILURES_AT_THE_END
from snakemake_logger_plugin_cinorms import LogHandler

MARK = "-- why this job failed --"
#: As Snakemake's plugin words it.
REFUSED = "SLURM sbatch failed. The error message was 'sbatch: error: Invalid account'.\n    sbatch call:"
TIMEOUT = "SLURM-job '7' failed, SLURM status is: 'TIMEOUT'. Detailed failure reason unavailable"
WHY = "SLURM refused it: Invalid account"


@pytest.fixture
def handler(monkeypatch: pytest.MonkeyPatch) -> LogHandler:
    """Return the handler of a run."""
    monkeypatch.setenv(FAILURES_AT_THE_END, "")
    return LogHandler(SimpleNamespace(dryrun=False), None)


def tell(handler: LogHandler, event: LogEvent | None, **facts: Any) -> None:
    """Have Snakemake say something of a run."""
    handler.emit(logging.makeLogRecord({"event": event, **facts}))


def start(handler: LogHandler, jobid: int, rule: str, *logs: str, **wildcards: str) -> None:
    named = {"study": "s", **wildcards}
    tell(handler, LogEvent.JOB_INFO, jobid=jobid, rule_name=rule, wildcards=named, log=list(logs))


def fail(handler: LogHandler, jobid: int, *logs: str, said: str | None = None) -> None:
    facts = {"rule_name": "ask_vllm", "wildcards": {"study": "s", "model": "m"}, "rule_msg": said}
    tell(handler, LogEvent.JOB_ERROR, jobid=jobid, log=list(logs), **facts)


def log(folder: Path, name: str, text: str) -> str:
    path = folder / f"{name}.log"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_line_per_finished_job_with_what_it_is_of(handler, capsys):
    for total in (1200, 1):
        tell(handler, LogEvent.RUN_INFO, stats={"total": total})
    start(handler, 1, "read_answers", arm="main", model="m")
    start(handler, 2, "list_variants", arm="main", planned="")
    for jobid in (1, 2):
        tell(handler, LogEvent.JOB_FINISHED, job_id=jobid)
        for _ in range(2):
            tell(handler, LogEvent.PROGRESS, done=jobid, total=12)
    handler.close()
    lines = ["1,200 jobs to run", "1 job to run", "[ 1/12] read_answers main m", "[ 2/12] list_variants main"]
    assert capsys.readouterr().err.splitlines() == lines


def test_every_reason_is_said_once_with_the_jobs_that_failed_for_it(handler, tmp_path, capsys):
    for jobid in range(5):
        text = f"asked {jobid}\n{MARK}\nOPENAI_API_KEY is not set: set it\n"
        start(handler, jobid, "ask_openai", log(tmp_path, f"ask{jobid}", text), arm="main", model=f"m{jobid}")
    text = f"{MARK}\nTraceback (most recent call last):\n  x\nKeyError: 'y'\n"
    start(handler, 9, "make_table", log(tmp_path, "table", text), analysis="t")
    for jobid in (0, 0, 1, 2, 3, 4, 9):
        fail(handler, jobid)
    handler.close()
    handler.close()
    text = capsys.readouterr().err
    assert text.count("6 jobs failed") == 1
    assert text.count("OPENAI_API_KEY is not set: set it") == 1
    assert "ask_openai main m0, ask_openai main m1, ask_openai main m2 and 2 more" in text
    assert "KeyError: 'y'" in text
    assert "Traceback (" not in text
    assert text.count("(log: ") == 2


def test_a_job_that_is_tried_again_and_ends_well_did_not_fail(handler, capsys):
    start(handler, 1, "ask_vllm")
    fail(handler, 1)
    tell(handler, LogEvent.JOB_FINISHED, job_id=1)
    handler.close()
    assert capsys.readouterr().err == ""


def test_a_job_that_is_tried_again_is_named_with_the_reason(handler, tmp_path, capsys):
    start(handler, 3, "ask_vllm", log(tmp_path, "3", f"{MARK}\nno memory\nmore\n"), model="m", shard="1-of-1")
    for said in (None, TIMEOUT):
        fail(handler, 3, said=said)
        handler.emit(logging.makeLogRecord({"msg": "Trying to restart job 3.", "levelno": logging.INFO}))
    first, second = capsys.readouterr().err.splitlines()
    assert first == "ask_vllm m 1-of-1 is tried again: no memory"
    assert second.startswith("ask_vllm m 1-of-1 is tried again: SLURM ended job 7: TIMEOUT")


@pytest.mark.parametrize(
    ("logged", "said", "reason"),
    [
        (None, REFUSED, f"{WHY}\n    set slurm_account in "),
        (None, "For further error details see the cluster log", "The job ended without a message."),
        (None, None, "The job ended without a message."),
        (f"{MARK}\nan earlier reason\n", REFUSED, f"{WHY}\n    set slurm_account in "),
    ],
)
def test_what_slurm_says_of_an_end_goes_before_a_log_of_an_earlier_try(
    handler, tmp_path, capsys, logged, said, reason
):
    fail(handler, 1, log(tmp_path, "job", logged) if logged else "nowhere.log", said=said)
    handler.close()
    text = capsys.readouterr().err
    assert text.startswith(f"\n1 job failed; all other results are kept:\n\n  ask_vllm m\n    {reason}")
    assert "an earlier reason" not in text
