"""Formats: what declares one, and all of them, found by looking at the modules of ``cinorms.exchange.formats``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from cinorms.core.errors import ConfigError

if TYPE_CHECKING:
    from cinorms.exchange.received import Received
    from cinorms.exchange.way import Way

#: The package whose modules are formats.
FORMATS = "cinorms.exchange.formats"


@dataclass(frozen=True)
class Format:
    """One format. ``read`` reads a file that a tool wrote; ``write`` writes the prompts of an arm into a folder.

    A format that only its tool's own package can read names a module as ``converter``: run as
    ``python -m CONVERTER --out FILE LOG...`` in the environment ``environment``, it writes what ``read`` reads.
    """

    name: str
    #: One sentence: which files these are.
    about: str
    #: Endings of the files that are read.
    endings: tuple[str, ...]
    read: Callable[[Path], Iterator[Received]]
    #: Writes prompts; receives the ways of asking of an arm, its name and a folder. None where a tool takes none.
    write: Callable[[Sequence[Way], str, Path], None] | None = None
    #: The command with which the tool asks the prompts that ``write`` wrote.
    command: str = ""
    converter: str | None = None
    environment: str = "core"
    virtual_environment: str | None = None


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


def insist_on_messages(ways: Sequence[Way], arm: str, format_name: str) -> None:
    """Raise ``ConfigError`` where a model is asked in a literal wrapper, which ``format_name`` has no place for."""
    for way in ways:
        if way.wrapper:
            raise ConfigError(
                f"arms.{arm}: {', '.join(way.specs)} receives prompts in the literal wrapper '{way.wrapper}', but the "
                f"format '{format_name}' sends chat messages; set wrap: chat_template, or use FORMAT=plain or lm_eval"
            )
