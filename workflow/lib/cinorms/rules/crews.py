"""Crews: jobs of a run that load the same engine. The first of a crew loads it, and asks for all others.

What the jobs of an engine request from a machine or a cluster depends on that.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cinorms.inference.companions import Companion, forget, is_answered, place_of, write_companions
from cinorms.inference.engine_kind import EngineKind
from cinorms.inference.job_state import read_state
from cinorms.rules.inside import Inside
from cinorms.rules.values import StudyValues
from cinorms.study.spec import asking_minutes

#: Minutes that a job may ask for at most on account of its crew: longer jobs fit in few partitions.
LONGEST = 720
#: What a job requests that finds every reply in the journal.
COLLECT_MB = 4000
COLLECT_MINUTES = 10

#: What names a job that asks: arm, model and shard.
Key = tuple[str, str, str]


@dataclass(frozen=True)
class AskingJob:
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

    @property
    def key(self) -> Key:
        """What names the job."""
        return self.arm, self.model, self.shard


@dataclass(frozen=True)
class Crew:
    """Jobs that share an engine; the first leads."""

    jobs: tuple[AskingJob, ...]

    @property
    def leader(self) -> AskingJob:
        """The job that loads the engine."""
        return self.jobs[0]

    @property
    def minutes(self) -> int:
        """Minutes that the leader asks for: one start, and everybody's questions."""
        return self.leader.start + sum(job.minutes - job.start for job in self.jobs)


def make_crews(jobs: Sequence[AskingJob], lanes: int | None) -> list[Crew]:
    """Return the crews of ``jobs``.

    ``lanes`` is how many jobs of a model can run at once on this machine: its shards are dealt out to so many crews.
    None on a cluster, where every shard is a job of its own that may run at the same time as the others.
    """
    groups: defaultdict[tuple[str, int], list[AskingJob]] = defaultdict(list)
    for job in jobs:
        if job.loads is not None:
            number = int(job.shard.partition("-of-")[0]) - 1
            groups[job.loads, number if lanes is None else number % max(lanes, 1)].append(job)
    return [crew for group in groups.values() for crew in _in_time(group)]


def _in_time(group: Sequence[AskingJob]) -> list[Crew]:
    """Split jobs into crews that end in time; jobs that failed come last in each."""
    crews: list[list[AskingJob]] = []
    for job in sorted(group, key=lambda job: job.failed):
        if crews and Crew((*crews[-1], job)).minutes <= LONGEST:
            crews[-1].append(job)
        else:
            crews.append([job])
    return [Crew(tuple(crew)) for crew in crews if len(crew) > 1]


@dataclass(frozen=True)
class Crews:
    """The crews of a run, and what its jobs that ask request."""

    values: StudyValues
    inside: Inside
    #: The crew of each job that has one. Known when a run starts, in its process only.
    joined: dict[Key, Crew] = field(default_factory=dict)

    def join(self, jobs: Sequence[Any], models: Collection[str]) -> None:
        """Have jobs that load the same engine load it once: the first of them asks for the others, which wait for it.

        ``models`` are the rules that ask or train a model: that takes long, and nobody waits for it.
        """
        responses = self.values.placed_responses
        forget(Path(responses))
        known = {key_of(job.wildcards): job for job in jobs}
        for crew in make_crews([self._asking(*key) for key in known], self.inside.lanes):
            leader, *others = (known[job.key] for job in crew.jobs)
            made_first = {maker for other in others for maker in self.inside.makers(other, without=models)}
            if not all(self.inside.put_after(job, leader) for job in made_first):
                continue
            if not all(self.inside.put_after(leader, other) for other in others):
                continue
            self.joined.update({job.key: crew for job in crew.jobs})
            place = Path(place_of(responses, *crew.leader.key))
            write_companions(place, list(map(self._companion, others)))

    def _asking(self, arm: str, model: str, shard: str) -> AskingJob:
        """Return what decides with whom a job shares an engine."""
        study = self.values.study
        last = read_state(Path(self.values.placed_responses), arm, model, shard)
        return AskingJob(
            arm,
            model,
            shard,
            self.values.loads(arm, model, shard),
            asking_minutes(study, arm, model, attempt=1),
            study.registry_entry(model).kind.needs.start_minutes,
            bool(last and last.phase == "failed"),
        )

    def _companion(self, job: Any) -> Companion:
        """Return what the leader of a crew must know to ask for a job."""
        made = self.inside.remade_inputs(job)
        vignettes, variants = str(job.input.vignettes), str(job.input.variants)
        checkpoint = str(job.input.get("checkpoint", ""))
        return Companion(
            json.loads(job.params.spec),
            json.loads(job.params.tuning),
            vignettes,
            variants,
            str(job.output.responses),
            checkpoint,
            [path for path in (vignettes, variants, checkpoint) if path in made],
        )

    def priority(self, wildcards: Any) -> int:
        """Return a job's minutes: where jobs wait for a GPU, the longest begins first, and none is left for the end."""
        return asking_minutes(self.values.study, wildcards.arm, wildcards.model, attempt=1)

    def needs(self, kind: EngineKind, coder: str | None = None) -> dict[str, Any]:
        """Return the resources that a job of an engine requests; ``coder`` is the model that a job without a crew asks.

        A job whose questions another job of its crew has asked only collects their replies.
        """
        study = self.values.study

        def settings(wildcards: Any) -> Any:
            return study.registry_entry(coder or wildcards.model).settings

        def collects(wildcards: Any, attempt: int) -> bool:
            if coder or attempt > 1 or key_of(wildcards) not in self.joined:
                return False
            return is_answered(Path(self.values.placed_responses), *key_of(wildcards))

        def memory(wildcards: Any, attempt: int) -> int:
            return (
                COLLECT_MB
                if collects(wildcards, attempt)
                else kind.needs.memory_mb(settings(wildcards), attempt)
            )

        def minutes(wildcards: Any, attempt: int) -> int:
            if coder:
                return kind.needs.minutes(settings(wildcards), attempt)
            if collects(wildcards, attempt):
                return COLLECT_MINUTES
            crew = self.joined.get(key_of(wildcards))
            if crew and crew.leader.key == key_of(wildcards):
                return crew.minutes * attempt
            return asking_minutes(study, wildcards.arm, wildcards.model, attempt)

        def gpus(wildcards: Any, attempt: int) -> int:
            assert kind.needs.gpus is not None, "asked for only where jobs use GPUs"
            if collects(wildcards, attempt) or self.inside.is_in_job_without_gpu:
                return 0
            return kind.needs.gpus(settings(wildcards))

        requested: dict[str, Callable[..., int]] = {"gpu": gpus} if kind.needs.gpus else {}
        return {**requested, "mem_mb": memory, "runtime": minutes, **kind.needs.more}


def key_of(wildcards: Any) -> Key:
    """Return what names a job that asks."""
    return wildcards.arm, wildcards.model, wildcards.shard
