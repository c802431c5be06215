"""Which jobs of a run share one start of an engine: the first of a crew loads it, and asks for all others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

#: Minutes that a job may ask for at most on account of its crew: longer jobs fit in few partitions.
LONGEST = 720


@dataclass(frozen=True)
class Asking:
    """One job that asks: a shard of a model in an arm."""

    arm: str
    model: str
    shard: str
    #: What it loads; jobs that load the same can share it. None: nothing that takes time.
    loads: str | None
    #: Minutes that it asks for alone, and those of them that the start takes.
    minutes: int = 0
    start: int = 0
    #: Whether its last attempt failed: it then leads nobody, for its crew would wait in vain.
    failed: bool = False


@dataclass(frozen=True)
class Crew:
    """Jobs that share an engine; the first leads."""

    jobs: tuple[Asking, ...]

    @property
    def leader(self) -> Asking:
        """The job that loads the engine."""
        return self.jobs[0]

    @property
    def minutes(self) -> int:
        """Minutes that the leader asks for: one start, and everybody's questions."""
        return self.leader.start + sum(job.minutes - job.start for job in self.jobs)


def make_crews(jobs: Sequence[Asking], lanes: int | None) -> list[Crew]:
    """Return the crews of ``jobs``.

    ``lanes`` is how many jobs of a model can run at once on this machine: its shards are dealt out to so many crews.
    None on a cluster, where every shard is a job of its own that may run at the same time as the others.
    """
    groups: defaultdict[tuple[str, int], list[Asking]] = defaultdict(list)
    for job in jobs:
        if job.loads is not None:
            number = int(job.shard.partition("-of-")[0]) - 1
            groups[job.loads, number if lanes is None else number % max(lanes, 1)].append(job)
    return [crew for group in groups.values() for crew in _in_time(group)]


def _in_time(group: Sequence[Asking]) -> list[Crew]:
    """Split jobs into crews that end in time; jobs that failed come last in each."""
    crews: list[list[Asking]] = []
    for job in sorted(group, key=lambda job: job.failed):
        if crews and Crew((*crews[-1], job)).minutes <= LONGEST:
            crews[-1].append(job)
        else:
            crews.append([job])
    return [Crew(tuple(crew)) for crew in crews if len(crew) > 1]
