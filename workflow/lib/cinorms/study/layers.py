"""Layers of settings: each is one file, or the command line; the last wins, and settings know where they are stated."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cinorms.core.yaml_files import key_of

#: Sections whose keys are settings, so that a study file changes single ones. Everything else is replaced as
#: a whole: a study has its own arms and figures, not the demo's and some more.
MIXED = frozenset({"plan", "answers", "arm_defaults", "orders", "norms", "grid", "report"})


#: What each source of settings states, by the name that messages give it; the last wins.
Layers = Mapping[str, Any]


class Place(NamedTuple):
    """Where a setting is stated: the file, and the whole key."""

    file: str
    key: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}"


def place_in(layers: Layers, *path: str | int) -> Place:
    """Return where the setting at ``path`` is stated: what is not stated alone is where its section is."""
    file, _ = _deepest(layers, path)
    if path[:1] == ("arms",) and path[2:]:
        usual = "arm_defaults", *path[2:]
        usual_file, n_usual = _deepest(layers, usual)
        if n_usual - 1 > _n_stated(layers[file]["arms"][path[1]], path[2:]):
            return Place(usual_file, key_of(usual))
    return Place(file, key_of(path))


def _deepest(layers: Layers, path: Sequence[str | int]) -> tuple[str, int]:
    """Return the last of the layers that state most keys of ``path``, and how many; the first one where none does."""
    numbers = {file: _n_stated(document, path) for file, document in layers.items()}
    most = max(numbers.values())
    files = [file for file, number in numbers.items() if number == most]
    return files[-1 if most else 0], most


def _n_stated(document: Any, path: Sequence[str | int]) -> int:
    """Return how many keys of ``path``, from its first one on, a layer states alone."""
    for number, key in enumerate(path):
        if not isinstance(document, dict) or key not in document:
            return number
        if key not in MIXED:
            return number + 1
        document = document[key]
    return len(path)


def merge(layers: Layers) -> dict[str, Any]:
    """Merge layers, the last wins: ``MIXED`` sections key by key, others as a whole; fill in the arms.

    What no section can have is kept for the check of the whole.
    """
    merged: dict[str, Any] = {}
    for document in layers.values():
        merged = _overlay(merged, document)
    defaults, arms = merged.get("arm_defaults"), merged.get("arms")
    if isinstance(defaults, dict) and isinstance(arms, dict):
        merged["arms"] = {
            name: _overlay(defaults, arm) if isinstance(arm, dict) else arm for name, arm in arms.items()
        }
    return merged


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        mixed = key in MIXED and isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _overlay(merged[key], value) if mixed else value
    return merged
