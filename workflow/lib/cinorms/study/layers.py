"""Layers of settings: each is one file, or the command line; the last wins, and settings know where they are stated."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cinorms.core.validation import KeyPath, key_of

#: Sections whose keys are settings, so that a study file changes single ones. Everything else is replaced as
#: a whole: a study has its own arms and figures, not the demo's and some more.
MIXED = frozenset({"plan", "answers", "arm_defaults", "orders", "norms", "grid", "datasets", "report"})


#: What each source of settings states, by the name that messages give it; the last wins.
Layers = Mapping[str, Any]


class Place(NamedTuple):
    """Where a setting is stated: the file, and the whole key."""

    file: str
    key: str

    def __str__(self) -> str:
        return f"{self.file}: {self.key}"


#: The place of every setting that a layer states alone, by its path of keys.
Places = Mapping[KeyPath, Place]


class Merged(NamedTuple):
    """What layers state together, and where each states it."""

    document: dict[str, Any]
    places: Places


def place_in(places: Places, path: Sequence[str | int]) -> Place:
    """Return where the setting at ``path`` is stated: what is not stated alone is where its section is."""
    for n in range(len(path), 0, -1):
        if place := places.get(tuple(path[:n])):
            return place._replace(key=key_of(path[n:], place.key))
    return Place("a study", key_of(path))


def merge(layers: Layers) -> Merged:
    """Merge layers, the last wins: ``MIXED`` sections key by key, others as a whole; fill in the arms.

    What no section can have is kept for the check of the whole.
    """
    merged: dict[str, Any] = {}
    places: dict[KeyPath, Place] = {}
    for file, document in layers.items():
        merged = _overlay(merged, document)
        places |= {path: Place(file, key_of(path)) for path in _paths(document)}
    defaults, arms = merged.get("arm_defaults"), merged.get("arms")
    if not isinstance(defaults, dict) or not isinstance(arms, dict):
        return Merged(merged, places)
    usual = {path[1:]: place for path, place in places.items() if path[0] == "arm_defaults" and path[1:]}
    file = places["arms",].file
    for name, arm in arms.items():
        if isinstance(arm, dict):
            places |= {("arms", name, *path): place for path, place in usual.items()}
            stated = (("arms", name, *path) for path in _paths(arm))
            places |= {path: Place(file, key_of(path)) for path in stated}
            arms[name] = _overlay(defaults, arm)
    return Merged(merged, places)


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(below))
    for key, value in above.items():
        mixed = key in MIXED and isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = _overlay(merged[key], value) if mixed else copy.deepcopy(value)
    return merged


def _paths(document: Mapping[str, Any], *above: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each setting that a layer states: single ones of the sections that are merged by key."""
    for key, value in document.items():
        yield (*above, key)
        if key in MIXED and isinstance(value, dict):
            yield from _paths(value, *above, key)
