"""All formats, found by looking at the modules of ``cinorms.exchange.formats``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from cinorms.exchange.format import Format

#: The package whose modules are formats.
FORMATS = "cinorms.exchange.formats"


@cache
def format_modules() -> dict[str, str]:
    """Return the module in which each format is declared."""
    return {each.name: f"{FORMATS}.{each.name}" for each in iter_modules(import_module(FORMATS).__path__)}


@cache
def format_named(name: str) -> Format:
    """Return the format ``name``; raise ``KeyError`` where there is none."""
    module = format_modules()[name]
    found = import_module(module).FORMAT
    if not isinstance(found, Format) or found.name != name:
        raise TypeError(f"{module}: FORMAT must be a Format with the name {name!r}")
    return found


def formats() -> tuple[Format, ...]:
    """Return all formats, by name."""
    return tuple(map(format_named, sorted(format_modules())))


def written_formats() -> tuple[Format, ...]:
    """Return the formats in which prompts can be written."""
    return tuple(each for each in formats() if each.write)
