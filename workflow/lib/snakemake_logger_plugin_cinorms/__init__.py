"""Short terminal output for Snakemake: ``snakemake --logger cinorms`` (this folder's parent on ``PYTHONPATH``).

A line per finished job, warnings, and at the end every failure once. What Snakemake would print of a job is still in
its own log below .snakemake/log. A dry run prints what it always does.
"""

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

if TYPE_CHECKING:
    from cinorms.core.run_report import ReportedJob

#: Messages without an event that a user needs even if nothing is wrong.
_SHOWN = ("Nothing to be done", "Terminating processes on user request", "Trying to restart job", "Unlocking")
#: Messages that repeat failures; the report of failed jobs replaces them.
_REPEATED = (
    "RuleException",
    "CalledProcessError",
    "Exiting because a job execution failed",
    "At least one job did",
)


class LogHandler(LogHandlerBase):
    """Passes events to a `RunReport`, and prints its lines."""

    def __post_init__(self) -> None:
        """Start an empty report; it explains failed jobs at the end."""
        # Snakemake imports each plugin that is installed, and a workflow may need another version of cinorms.
        from cinorms.core.logs import FAILURES_AT_THE_END
        from cinorms.core.run_report import RunReport

        self.report = RunReport()
        self.repeated: list[str] = []
        self.stopped = False
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
            self._print(self.report.planned(facts["stats"]))
        elif event == LogEvent.JOB_INFO:
            self.report.started(facts["jobid"], _job(facts))
        elif event == LogEvent.JOB_FINISHED:
            self.report.finished(facts["job_id"])
        elif event == LogEvent.PROGRESS:
            self._print(self.report.progress(facts["done"], facts["total"]))
        elif event == LogEvent.JOB_ERROR:
            self.report.failed(facts["jobid"], _job(facts))
        elif event in (None, LogEvent.ERROR):
            self._say(record)

    def close(self) -> None:
        """Print the failures, once."""
        failures, self.report = self.report.failures(), type(self.report)()
        self._print(failures or "\n".join(self.repeated))
        self.repeated = []
        super().close()

    def _say(self, record: logging.LogRecord) -> None:
        text = str(record.msg or "")
        self.stopped = text.startswith("Terminating processes on user request")
        repeated = text.startswith(_REPEATED) or "\nAt least one job did" in text
        if record.levelno >= logging.ERROR and repeated:
            self.repeated.append(text)
        elif (
            record.levelno >= logging.WARNING or getattr(record, "closing", False) or text.startswith(_SHOWN)
        ):
            self._print(text)

    @staticmethod
    def _print(text: str) -> None:
        if text:
            print(text, file=sys.stderr, flush=True)

    @property
    def writes_to_stream(self) -> bool:
        """Whether it writes to the terminal, instead of Snakemake's own handler."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Whether it writes to a file."""
        return False

    @property
    def has_filter(self) -> bool:
        """Whether it decides itself what is shown."""
        return not self.common_settings.dryrun

    @property
    def has_formatter(self) -> bool:
        """Whether it writes its own lines."""
        return not self.common_settings.dryrun

    @property
    def needs_rulegraph(self) -> bool:
        """Whether it needs the graph of rules."""
        return False


def _job(facts: dict[str, Any]) -> "ReportedJob":
    from cinorms.core.run_report import ReportedJob

    return ReportedJob(
        str(facts["rule_name"]),
        {str(name): str(value) for name, value in dict(facts.get("wildcards") or {}).items()},
        [str(log) for log in facts.get("log") or []],
    )
