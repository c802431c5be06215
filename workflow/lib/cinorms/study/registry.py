"""The model registry, config/models.yaml."""

from __future__ import annotations

from cinorms.core.validation import check, load_yaml, unknown
from cinorms.inference.engine_kind import RegistryPlace
from cinorms.inference.model_entry import ModelEntry, entries_schema, make_model
from cinorms.study.root import Root


def load_registry(root: Root) -> dict[str, ModelEntry]:
    """Read and check config/models.yaml; every entry knows the file and the name it has there."""
    path = root.folder / "config" / "models.yaml"
    stated, file = load_yaml(path), root.shown(path)
    check(stated, entries_schema(), file)
    registry = {name: make_model(entry, RegistryPlace(file, name, root)) for name, entry in stated.items()}
    planted = [name for name, entry in registry.items() if entry.kind.planted]
    for name, entry in registry.items():
        stand_in = entry.settings.stand_in
        if stand_in is not None and stand_in not in planted:
            raise unknown(file, f"{name}.stand_in", stand_in, planted, "planted model")
    return registry
