"""Layers of settings: each is one file, or the command line; the last wins, and settings know where they are stated."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from pydantic import PrivateAttr

from cinorms.core.schema import PartialValue

#: Sections whose keys are settings, so that a study file changes single ones. Everything else is replaced as
#: a whole: a study has its own arms and figures, not the demo's and some more.
MIXED = frozenset({"plan", "answers", "arm_defaults", "orders", "norms", "grid", "datasets", "report"})


@dataclass(frozen=True)
class Layer:
    """One source of settings, with the name that messages give it."""

    file: str
    document: dict[str, Any]


class Place(NamedTuple):
    """Where a setting is stated: the file, the whole key, and the number of the layer (a higher one wins)."""

    file: str
    key: str
    layer: int

    @property
    def named(self) -> tuple[str, str]:
        """The file and the key, as the messages of ``cinorms.core.validation`` take them."""
        return self.file, self.key

    def __str__(self) -> str:
        return f"{self.file}: {self.key}"


@dataclass(frozen=True)
class Origins:
    """The place of every setting of merged layers, by its path of keys, as seen from the section at ``path``.

    Where settings are stated is no part of what they are: all origins are equal.
    """

    places: Mapping[tuple[str, ...], Place] = field(default_factory=dict, compare=False)
    path: tuple[str, ...] = field(default=(), compare=False)

    def below(self, *keys: str) -> "Origins":
        """Return the origins as seen from a section of this one."""
        return replace(self, path=(*self.path, *keys))

    def place(self, *keys: str) -> Place:
        """Return where the setting at ``keys`` is stated: what is not stated alone is where its section is."""
        path = (*self.path, *keys)
        for n in range(len(path), 0, -1):
            if path[:n] in self.places:
                found = self.places[path[:n]]
                return found._replace(key=".".join([found.key, *path[n:]]))
        return Place("a study", ".".join(path), 0)


class Settings(PartialValue):
    """A section of a study file."""

    _origins: Origins = PrivateAttr(default_factory=Origins)

    def stated_in(self, *keys: str) -> Place:
        """Return the file and the whole key in which the setting at ``keys`` is stated."""
        return self._origins.place(*keys)

    @property
    def top_layer(self) -> int:
        """The number of the last layer that states anything."""
        return max((place.layer for place in self._origins.places.values()), default=0)

    def plain(self) -> dict[str, Any]:
        """Return the settings as plain data, without those that are left out."""
        return self.model_dump(mode="json", exclude_unset=True)

    def locate(self, origins: Origins) -> None:
        """Note in these settings, and all inside them, where they are stated."""
        self._origins = origins
        for key in type(self).model_fields:
            value = getattr(self, key)
            if isinstance(value, Settings):
                value.locate(origins.below(key))
            elif isinstance(value, Mapping):
                for name, part in value.items():
                    if isinstance(part, Settings):
                        part.locate(origins.below(key, name))


class Merged(NamedTuple):
    """What layers state together, and where each states it."""

    document: dict[str, Any]
    origins: Origins


def merge(layers: Iterable[Layer]) -> Merged:
    """Merge layers, the last wins: ``MIXED`` sections key by key, others as a whole; fill in the arms."""
    merged: dict[str, Any] = {}
    places: dict[tuple[str, ...], Place] = {}
    for number, layer in enumerate(layers):
        merged = _overlay(merged, layer.document)
        for path in _paths(layer.document):
            places[path] = Place(layer.file, ".".join(path), number)
    defaults = merged.get("arm_defaults", {})
    usual = {path[1:]: place for path, place in places.items() if path[0] == "arm_defaults" and path[1:]}
    for name, arm in merged.get("arms", {}).items():
        file, _, number = places["arms",]
        places |= {("arms", name, *path): place for path, place in usual.items()}
        own = (("arms", name, *path) for path in _paths(arm))
        places |= {path: Place(file, ".".join(path), number) for path in own}
        merged["arms"][name] = _overlay(defaults, arm)
    return Merged(merged, Origins(places))


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(below))
    for key, value in above.items():
        merged[key] = _overlay(merged[key], value) if key in MIXED and key in merged else copy.deepcopy(value)
    return merged


def _paths(document: Mapping[str, Any], *above: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each setting that a layer states: single ones of the sections that are merged by key."""
    for key, value in document.items():
        yield (*above, key)
        if key in MIXED:
            yield from _paths(value, *above, key)
