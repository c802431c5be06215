"""Short terminal output for Snakemake: ``snakemake --logger cinorms`` (this folder's parent on ``PYTHONPATH``).

A line per finished job, warnings, and at the end every failure once. What Snakemake would print of a job is still in
its own log below .snakemake/log. A dry run prints what it always does.
"""

import logging
import os
import re
import shlex
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

#: Messages without an event that a user needs even if nothing is wrong.
_SHOWN = ("Nothing to be done", "Terminating processes on user request", "Unlocking")
#: Messages that repeat failures; the report of failed jobs replaces them.
_REPEATED = (
    "RuleException",
    "CalledProcessError",
    "Exiting because a job execution failed",
    "At least one job did",
)
#: What the plugin for SLURM says of an account that no site needs to have: where one is needed, SLURM says so.
_GUESSES = ("No SLURM account given", "No account was given", "Unable to guess SLURM account")
#: Environment variable with the command that started the run, as it was typed.
COMMAND = "CINORMS_COMMAND"


#: What a user can name to be made, and how the run is told to try no job again; the Snakefile adds them.
TARGETS: list[str] = []
STOP_RETRIES: list[Callable[[], None]] = []


class Job(NamedTuple):
    """A job: its rule and wildcards without the study, its logs, and what a cluster says of its end."""

    name: str
    logs: list[str]
    said: str = ""


class LogHandler(LogHandlerBase):
    """Prints the lines in place of Snakemake's own handler."""

    writes_to_stream, writes_to_file, needs_rulegraph = True, False, False
    has_filter = has_formatter = True

    def __post_init__(self) -> None:
        """Begin without a job."""
        # Snakemake imports each plugin that is installed, and a workflow may need another version of cinorms.
        from cinorms.core.logs import FAILURES_AT_THE_END

        self.jobs: dict[Any, Job] = {}
        self.failed: dict[Any, Job] = {}
        self.done: list[Job] = []
        self.repeated: list[str] = []
        self.stopped = False
        self.has_filter = self.has_formatter = not self.common_settings.dryrun
        if not self.common_settings.dryrun:
            os.environ[FAILURES_AT_THE_END] = "1"

    def emit(self, record: logging.LogRecord) -> None:
        """Print the part of ``record`` that a user needs."""
        if self.common_settings.dryrun:
            self._print(self.format(record))
            return
        if self.stopped:  # what fails after Ctrl+C fails because of it
            return
        event, facts = getattr(record, "event", None), vars(record)
        if event == LogEvent.RUN_INFO:
            total = int(facts["stats"]["total"])
            self._print(f"{total:,} {'job' if total == 1 else 'jobs'} to run")
        elif event == LogEvent.JOB_INFO:
            self.jobs[facts["jobid"]] = _job(facts)
        elif event == LogEvent.JOB_FINISHED:  # perhaps after a retry
            self.failed.pop(facts["job_id"], None)
            self.done += filter(None, [self.jobs.get(facts["job_id"])])
        elif event == LogEvent.PROGRESS:
            for job in self.done:
                self._print(f"[{facts['done']:>{len(str(facts['total']))}}/{facts['total']}] {job.name}")
            self.done.clear()
        elif event == LogEvent.JOB_ERROR:
            self._fail(facts)
        elif event in (None, LogEvent.ERROR):
            self._say(record)

    def close(self) -> None:
        """Print the failures, once."""
        from cinorms.core.logs import failures

        self._print(failures(self.failed.values()) or "\n".join(self.repeated))
        if self.stopped:
            again = os.environ.get(COMMAND) or shlex.join(["snakemake", *sys.argv[1:]])
            self._print(
                f"Stopped. Every reply that has come and every finished file is kept. To go on:\n  {again}"
            )
        self.failed.clear()
        self.repeated.clear()
        super().close()

    def _fail(self, facts: dict[str, Any]) -> None:
        """Keep why a job failed; where the cluster cannot even start it, try no job again."""
        from cinorms.run.slurm import how_it_ended

        logs = [str(log) for log in facts.get("log") or []]
        end = how_it_ended(str(facts.get("rule_msg") or ""), str(facts["rule_name"]), logs, os.environ)
        job = self.jobs.get(facts["jobid"]) or _job(facts)
        self.failed[facts["jobid"]] = job._replace(said=end.words)
        for stop in STOP_RETRIES if end.never_began else ():
            stop()

    def _restart(self, text: str) -> str:
        """Return which job is tried again, and why."""
        from cinorms.core.logs import failure_in

        number = re.search(r"\d+", text)
        job = self.failed.get(int(number[0])) if number else None
        if job is None:
            return text
        why = job.said or next(filter(None, map(failure_in, job.logs)), "it ended without a message")
        return f"{job.name} is tried again: {why.splitlines()[0]}"

    def _say(self, record: logging.LogRecord) -> None:
        text = str(record.msg or "")
        if text.startswith(_GUESSES):
            return
        if text.startswith("Trying to restart job"):
            self._print(self._restart(text))
            return
        self.stopped = text.startswith("Terminating processes on user request")
        repeated = text.startswith(_REPEATED) or "\nAt least one job did" in text
        if record.levelno >= logging.ERROR and repeated:
            self.repeated.append(text)
        elif (
            record.levelno >= logging.WARNING or getattr(record, "closing", False) or text.startswith(_SHOWN)
        ):
            self._print(_with_nearest(text))

    @staticmethod
    def _print(text: str) -> None:
        if text:
            print(text, file=sys.stderr, flush=True)


def _job(facts: dict[str, Any]) -> Job:
    wildcards = dict(facts.get("wildcards") or {})
    named = (str(value) for name, value in wildcards.items() if name != "study")
    name = " ".join(filter(None, [str(facts["rule_name"]), *named]))
    return Job(name, [str(log) for log in facts.get("log") or []])


def _with_nearest(text: str) -> str:
    """Return a message; what it says of a target that nothing makes becomes one line, with the nearest that is made."""
    from cinorms.core.errors import nearest

    missing = re.search(r"MissingRuleException[^\n]*\nNo rule to produce (\S+)", text)
    if not missing:
        return text
    name = missing[1]
    words = nearest(name, TARGETS) or f"; rules: {', '.join(each for each in TARGETS if '/' not in each)}"
    return f"\n{name}: no rule and no file of this study has this name{words}\n"
