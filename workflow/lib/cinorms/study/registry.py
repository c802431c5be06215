"""The model registry: config/models.yaml, and the models.yaml of a user's own folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, RootModel

from cinorms.core.errors import ConfigError, listing
from cinorms.core.root import Root
from cinorms.core.validation import check, load_yaml, unknown
from cinorms.inference.engine_kind import RegistryPlace, engine_kind, engine_modules
from cinorms.inference.model_entry import ModelEntry, make_model

ModelName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?!\n)$",
        description="a model's name has letters, digits, '.', '-' and '_' (at most 100)",
    ),
]


def load_registry(root: Root) -> dict[str, ModelEntry]:
    """Read and check the files with models; every entry knows the file and the name it has there."""
    registry: dict[str, ModelEntry] = {}
    for path in root.registries:
        registry = {**_read(path, root), **registry}
    planted = [name for name, entry in registry.items() if entry.kind.planted]
    for name, entry in registry.items():
        stand_in = entry.settings.stand_in
        if stand_in is not None and stand_in not in planted:
            raise unknown(
                entry.file, f"{name}.stand_in", stand_in, planted, "planted model", root.searched("models")
            )
    return registry


#: The file beside the registry with a commit for each hub repository.
REVISIONS = "revisions.lock"


class _Revisions(RootModel[Any]):
    """The commit of each repository of the Hugging Face hub."""

    model_config = ConfigDict(regex_engine="python-re")
    root: Mapping[
        str, Annotated[str, Field(pattern=r"^[0-9a-f]{40}(?!\n)$", description="a full commit of the hub")]
    ]


def read_revisions(path: Path) -> dict[str, str]:
    """Return the commits that the lock at ``path`` states; none where there is no such file."""
    if not path.is_file():
        return {}
    stated = load_yaml(path)
    check(stated, _Revisions, str(path))
    return dict(stated)


class _Registry(RootModel[Any]):
    """Models under audit, by name."""

    model_config = ConfigDict(regex_engine="python-re")
    root: Mapping[ModelName, Mapping[str, Any]]


def _read(path: Path, root: Root) -> dict[str, ModelEntry]:
    stated, file = load_yaml(path), root.shown(path)
    check(stated, _Registry, file)
    locked = read_revisions(path.with_name(REVISIONS))
    for name, entry in stated.items():
        engine = entry.get("engine")
        if engine is None:
            raise ConfigError(f"{file}: {name}: key 'engine' is missing; required: engine, family")
        if engine not in list(engine_modules()):
            raise ConfigError(
                f"{file}: {name}.engine: {engine!r} is not allowed; {listing(engine, engine_modules())}"
            )
        check(entry, engine_kind(engine).settings(), file, name)
        # Only an engine that loads checkpoints itself takes a commit of the hub.
        if engine_kind(engine).checkpoint and entry.get("revision") is None and entry["source"] in locked:
            stated[name] = {**entry, "revision": locked[entry["source"]]}
    return {name: make_model(entry, RegistryPlace(file, name, root)) for name, entry in stated.items()}
