"""What a job that asks requests from a machine or a cluster."""

from collections.abc import Callable
from functools import cache
from typing import Any

from cinorms.inference.engine_kind import EngineKind
from cinorms.run.left import is_left
from cinorms.study.requests import asking_minutes
from cinorms.study.study import Study

#: What a job requests that finds every reply in the store.
FOUND_MB = 4000
FOUND_MINUTES = 10
#: What a job of planted respondents requests.
PLANTED_NEEDS = {"mem_mb": 1500, "runtime": 10}


def resources_of(study: Study, kind: EngineKind, coder: str | None = None) -> dict[str, Any]:
    """Return the resources of the jobs of an engine; ``coder`` is the model of a job that codes or paraphrases.

    A job that has nothing left to ask starts no engine, and requests no GPU. What a failed job requests does not depend
    on that.
    """

    @cache
    def asks(model: str, shard: str) -> bool:
        return is_left(study, model, shard)

    def has_work(wildcards: Any, attempt: int) -> bool:
        return bool(coder) or attempt > 1 or asks(wildcards.model, wildcards.shard)

    def settings(wildcards: Any) -> Any:
        return study.registry_entry(coder or wildcards.model).settings

    def memory(wildcards: Any, attempt: int) -> int:
        return (
            kind.needs.memory_mb(settings(wildcards), attempt) if has_work(wildcards, attempt) else FOUND_MB
        )

    def minutes(wildcards: Any, attempt: int) -> int:
        if not has_work(wildcards, attempt):
            return FOUND_MINUTES
        if coder:
            return kind.needs.minutes(settings(wildcards), attempt)
        return asking_minutes(study, wildcards.model, attempt)

    def gpus(wildcards: Any, attempt: int) -> int:
        assert kind.needs.gpus is not None, "asked for only where jobs use GPUs"
        return kind.needs.gpus(settings(wildcards)) if has_work(wildcards, attempt) else 0

    requested: dict[str, Callable[..., int]] = {"gpu": gpus} if kind.needs.gpus else {}
    return {**requested, "mem_mb": memory, "runtime": minutes, **kind.needs.more}
