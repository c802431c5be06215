"""All kinds, found by looking at the modules of their packages."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from cinorms.core.declared import modules_in
from cinorms.entries.kind import Kind

#: Sections of a study with named entries, and packages of the library with their kinds.
SECTIONS = ("analyses", "figures", "printed")


@cache
def kinds(section: str) -> Mapping[str, Kind]:
    """Return the kinds of a section by name, in the order of their modules."""
    found: dict[str, Kind] = {}
    for module in modules_in(f"cinorms.{section}").values():
        for kind in getattr(import_module(module), "KINDS", ()):
            if other := found.get(kind.name):
                modules = f"{other.module}, {kind.module}"
                raise ValueError(f"{section}: kind {kind.name!r} is declared in two modules: {modules}")
            found[kind.name] = kind
    return found
