"""What a check looks at: a study, which requests are left, and where its jobs will run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.preflight import Finding, Surroundings
from cinorms.study.spec import shards_of
from cinorms.study.study import Study

#: An arm and a model.
Pair = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A study before it is run. ``partitions``: the SLURM partition of each rule that asks for one, by rule."""

    study: Study
    #: The requests that are left.
    asked: tuple[Pair, ...]
    surroundings: Surroundings
    partitions: Mapping[str, str | None] = field(default_factory=dict)

    def entries(self) -> list[ModelEntry]:
        """Return the settings of every model, coder and paraphraser that has requests left, by name."""
        study = self.study
        named = dict.fromkeys([*(model for _, model in self.asked), *filter(None, [study.coder])])
        found = [study.registry_entry(model) for model in named]
        words = {study.arms[arm].prompts for arm, _ in self.asked}
        for name, request in study.awaited().items():
            who = request["paraphraser"]["name"]
            if name in words and who in study.registry and who not in named:
                found.append(study.registry[who])
        return found


@dataclass(frozen=True)
class Check:
    """One check: ``about`` is true where ``look`` finds nothing.

    ``look`` returns None where there is nothing to look at.
    """

    name: str
    about: str
    look: Callable[[Case], Iterable[Finding] | None]


def left_to_ask(study: Study) -> tuple[Pair, ...]:
    """Return the arms and models without all their response files."""
    return tuple(
        (arm, model)
        for arm in study.arms_from("model")
        for model in study.models(arm)
        if not all(response_file(study, arm, model, shard).exists() for shard in shards_of(study, arm, model))
    )


def response_file(study: Study, arm: str, model: str, shard: str) -> Path:
    """Return the file of the responses of a shard."""
    return responses_folder(study) / arm / model / f"{shard}.parquet"


def responses_folder(study: Study) -> Path:
    """Return the folder of a study's responses."""
    return Path("results", study.name, "responses")
