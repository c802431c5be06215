"""What a check looks at: a study, which requests are left, and where its jobs will run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cinorms.core import tables
from cinorms.core.errors import CinormsError
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.preflight import Finding, Surroundings
from cinorms.inference.samples import settings_of
from cinorms.inference.spec import Spec
from cinorms.study.spec import all_shards_of, make_spec
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
    """Return the arms and models of which a file of responses is missing or was asked with other settings."""
    return tuple(
        (arm, model)
        for arm in study.arms_from("model")
        for model in study.models(arm)
        if not all(_is_asked(study, arm, model, shard) for shard in all_shards_of(study, arm, model))
    )


def _is_asked(study: Study, arm: str, model: str, shard: str) -> bool:
    path = response_file(study, arm, model, shard)
    found = spec_in(path) if path.exists() else None
    return found is not None and _known(found) == _known(make_spec(study, arm, model, shard).as_plain())


def _known(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec as it is known before a checkpoint is fetched: its commit is not."""
    return {**plain, "revision": None}


def is_asked_as(path: Path, spec: Spec) -> bool:
    """Tell whether a response file was asked with the settings of ``spec`` that a reply depends on."""
    found = spec_in(path)
    return found is not None and _known(settings_of(Spec.from_plain(found))) == _known(settings_of(spec))


def spec_in(path: Path) -> dict[str, Any] | None:
    """Return the spec that a response file was asked with, as plain data; None if the file has none."""
    try:
        return Spec.from_plain(json.loads(tables.facts(path)["spec"])).as_plain()
    except (CinormsError, KeyError, TypeError, ValueError):
        return None


def response_file(study: Study, arm: str, model: str, shard: str) -> Path:
    """Return the file of the responses of a shard."""
    return responses_folder(study) / arm / model / f"{shard}.parquet"


def responses_folder(study: Study) -> Path:
    """Return the folder of a study's responses."""
    return Path("results", study.name, "responses")
