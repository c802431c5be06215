"""Settings that know where they are stated, so that a message can say which file and key to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import PrivateAttr

from cinorms.core.schema import Section
from cinorms.study.layers import Origins, Place


class Settings(Section):
    """A section of a study file."""

    _origins: Origins = PrivateAttr(default_factory=Origins)

    def stated_in(self, *keys: str) -> Place:
        """Return the file and the whole key in which the setting at ``keys`` is stated."""
        return self._origins.place(*keys)

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
                for name, each in value.items():
                    if isinstance(each, Settings):
                        each.locate(origins.below(key, name))
