"""What the terminal shows during a run: a line per finished job, and at the end every failure once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cinorms.core.logs import failure_in

#: Most jobs to name if several failed for the same reason.
NAMED = 3


@dataclass(frozen=True)
class ReportedJob:
    """A job: its rule, its wildcards, and its logs."""

    rule: str
    wildcards: Mapping[str, str]
    logs: Sequence[str]

    def __str__(self) -> str:
        """Return the job's name in one line, without the study."""
        named = (value for name, value in self.wildcards.items() if name != "study")
        return " ".join(filter(None, [self.rule, *named]))


class RunReport:
    """Collects what happens to the jobs of a run, and reports it in few words."""

    def __init__(self) -> None:
        self._jobs: dict[Any, ReportedJob] = {}
        self._done: list[ReportedJob] = []
        self._failed: dict[Any, ReportedJob] = {}

    def planned(self, stats: Mapping[str, Any]) -> str:
        """Return how many jobs there are to run."""
        total = int(stats["total"])
        return f"{total:,} {'job' if total == 1 else 'jobs'} to run"

    def started(self, jobid: Any, job: ReportedJob) -> None:
        """Note what a job is."""
        self._jobs[jobid] = job

    def finished(self, jobid: Any) -> None:
        """Note that a job succeeded, perhaps after a retry."""
        self._failed.pop(jobid, None)
        if jobid in self._jobs:
            self._done.append(self._jobs[jobid])

    def failed(self, jobid: Any, job: ReportedJob) -> None:
        """Note that a job failed; it may be tried again."""
        self._failed[jobid] = self._jobs.get(jobid, job)

    def progress(self, done: int, total: int) -> str:
        """Return a line for each job that ended since the last one."""
        ended, self._done = self._done, []
        width = len(str(total))
        return "\n".join(f"[{done:>{width}}/{total}] {job}" for job in ended)

    def failures(self) -> str:
        """Return why jobs failed: each reason once, with the jobs and one log; empty where none did."""
        if not self._failed:
            return ""
        jobs_of: dict[str, list[ReportedJob]] = {}
        for job in self._failed.values():
            reason = next(
                filter(None, map(failure_in, job.logs)),
                "The job ended without a message: it was killed, or ran out of memory, time or disk.",
            )
            jobs_of.setdefault(reason, []).append(job)
        n = len(self._failed)
        lines = ["", f"{n} {'job' if n == 1 else 'jobs'} failed; all other results are kept:"]
        for reason, jobs in jobs_of.items():
            more = f" and {len(jobs) - NAMED} more" if len(jobs) > NAMED else ""
            lines += ["", f"  {', '.join(map(str, jobs[:NAMED]))}{more}"]
            lines += [f"    {line}" for line in reason.splitlines()]
            lines += [f"    (log: {jobs[0].logs[0]})"] if jobs[0].logs else []
        return "\n".join([*lines, ""])
