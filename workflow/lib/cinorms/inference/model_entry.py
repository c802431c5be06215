"""The entry of a model in config/models.yaml, checked and typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cinorms.core.schema import schema_of
from cinorms.inference.engine_kind import EngineKind, RegistryPlace, engine_kind, engine_kinds
from cinorms.inference.settings import EntrySettings

#: Keys of an entry that state who paraphrases and how it runs; each engine adds its own.
PARAPHRASER = ("engine", "source", "revision", "dtype", "quantisation", "gpus")


@dataclass(frozen=True)
class ModelEntry:
    """One model: what its entry states, and how it is asked."""

    name: str
    #: The file that the entry is in.
    file: str
    kind: EngineKind
    #: Settings for the engine that is asked: those of a stand-in where one answers.
    settings: EntrySettings
    #: The model's own settings, also where a stand-in answers.
    own_settings: EntrySettings
    #: The part of the entry that can change a response, as keys of a spec.
    identity: Mapping[str, Any]
    #: The entry as it is written.
    stated: Mapping[str, Any]

    @property
    def engine(self) -> str:
        """The name of the engine that is asked."""
        return self.kind.name

    @property
    def gpus(self) -> int:
        """GPUs that one copy of the model takes."""
        return 0 if self.kind.planted else self.settings.gpus

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key of the model's endpoint, if it needs one."""
        return self.settings.needed_key_variable

    @property
    def paraphraser(self) -> dict[str, Any]:
        """The model's keys as a paraphraser: as stated, because they are part of a recorded command."""
        names = (*PARAPHRASER, *self.kind.paraphrases_with)
        return {name: self.stated[name] for name in names if self.stated.get(name) is not None}

    def get(self, name: str) -> Any:
        """Return what the entry states as ``name``, or None."""
        return self.stated.get(name)

    def answered_by(self, stand_in: ModelEntry) -> ModelEntry:
        """Return the entry of this model as if ``stand_in`` answered under its name."""
        return replace(self, kind=stand_in.kind, settings=stand_in.settings, identity=stand_in.identity)


def make_model(stated: Mapping[str, Any], place: RegistryPlace) -> ModelEntry:
    """Return the entry that ``stated`` is, which passes ``entries_schema``.

    Raises ``ConfigError`` for what its engine refuses and a schema cannot see.
    """
    kind = engine_kind(stated["engine"])
    identity = kind.identity(stated, place)
    settings = kind.settings().model_validate(stated)
    return ModelEntry(place.model, place.file, kind, settings, settings, identity, stated)


def entries_schema() -> dict[str, Any]:
    """Return the JSON schema of config/models.yaml: the keys of all engines, each only for its own."""
    common = schema_of(EntrySettings)
    own = {kind.name: schema_of(kind.settings()) for kind in engine_kinds()}
    names = {name for schema in own.values() for name in schema["properties"]}
    known = common["properties"]
    # The condition for the entries of an engine: its keys, and none of other engines'.
    of_others = {other: {"description": "A key of another engine.", "not": {}} for other in sorted(names)}
    conditions = []
    for name, schema in own.items():
        then: dict[str, Any] = {"properties": {**of_others, **schema["properties"]}}
        if required := [key for key in schema["required"] if key not in common["required"]]:
            then["required"] = required
        of_engine = {"required": ["engine"], "properties": {"engine": {"const": name}}}
        conditions.append({"if": of_engine, "then": then})
    return {
        "$schema": common["$schema"],
        "title": "The model registry",
        "description": "Models under audit, by name.",
        "type": "object",
        "propertyNames": {
            "description": "a model's name has letters, digits, '.', '-' and '_' (at most 100)",
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
        },
        "additionalProperties": {
            "description": common["description"],
            "type": "object",
            "additionalProperties": False,
            "required": common["required"],
            "properties": {
                **{name: {} for name in sorted(names)},
                "engine": {**known["engine"], "enum": list(own)},
            },
            "allOf": conditions,
        },
    }
