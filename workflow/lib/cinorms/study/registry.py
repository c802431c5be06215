"""The model registry, config/models.yaml, and the planted norms that its entries name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check, load_yaml, unknown
from cinorms.study.root import Root


def load_registry(root: Root) -> dict[str, dict[str, Any]]:
    """Read and check config/models.yaml."""
    path = root.folder / "config" / "models.yaml"
    registry = load_yaml(path)
    file = root.shown(path)
    check(registry, root.schemas / "models.schema.yaml", file)
    for name, entry in registry.items():
        stand_in = entry.get("stand_in")
        planted = [m for m, other in registry.items() if other["engine"] == "planted"]
        if stand_in is not None and stand_in not in planted:
            raise unknown(file, f"{name}.stand_in", stand_in, planted, "planted model")
        norms = entry.get("planted", {}).get("norms")
        if norms is not None and norms not in root.names("planted"):
            raise unknown(file, f"{name}.planted.norms", norms, root.names("planted"), "set of planted norms")
        _check_planted(entry.get("planted", {}), f"{file}: {name}.planted")
    for norms in {entry.get("planted", {}).get("norms") for entry in registry.values()} - {None}:
        load_planted(root, norms)
    return dict(registry)


def load_planted(root: Root, name: str) -> dict[str, Any]:
    """Read and check a file of planted norms."""
    path = root.names("planted")[name]
    norms = load_yaml(path)
    check(norms, root.schemas / "planted.schema.yaml", root.shown(path))
    if sorted(set(norms["thresholds"])) != norms["thresholds"]:
        raise ConfigError(
            f"{root.shown(path)}: thresholds: {norms['thresholds']} was given; each must be above the last"
        )
    return dict(norms)


def _check_planted(planted: Mapping[str, Any], place: str) -> None:
    invalid = sum(planted.get("invalid", {}).values())
    if invalid > 1 + 1e-9:
        raise ConfigError(f"{place}.invalid: the shares add up to {invalid:g}; allowed: at most 1")
    if not any(planted.get("position_weights", [1])):
        raise ConfigError(f"{place}.position_weights: all are 0; at least one must be more")
