"""The model registry: config/models.yaml, and the models.yaml of a user's own folders."""

from __future__ import annotations

from pathlib import Path

from cinorms.core.validation import check, load_yaml, unknown
from cinorms.inference.engine_kind import RegistryPlace
from cinorms.inference.model_entry import ModelEntry, entries_schema, make_model
from cinorms.study.root import Root


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


def _read(path: Path, root: Root) -> dict[str, ModelEntry]:
    stated, file = load_yaml(path), root.shown(path)
    check(stated, entries_schema(), file)
    return {name: make_model(entry, RegistryPlace(file, name, root)) for name, entry in stated.items()}
