"""All kinds, found by looking at the modules of their packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from cinorms.entries.kind import Kind

#: Sections of a study with named entries, and packages of the library with their kinds.
SECTIONS = ("analyses", "figures", "printed")


@cache
def kinds(section: str) -> Mapping[str, Kind]:
    """Return the kinds of a section by name, in the order of their modules."""
    found: dict[str, Kind] = {}
    for kind in _declared(section):
        if kind.name in found:
            raise ValueError(
                f"{section}: kind {kind.name!r} is declared in two modules: {found[kind.name].module}, {kind.module}"
            )
        found[kind.name] = kind
    return found


def _declared(section: str) -> Iterator[Kind]:
    package = import_module(f"cinorms.{section}")
    for module in iter_modules(package.__path__):
        yield from getattr(import_module(f"{package.__name__}.{module.name}"), "KINDS", ())
