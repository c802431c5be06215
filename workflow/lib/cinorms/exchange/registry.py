"""Formats: what declares one, and all of them (the modules of ``cinorms.exchange.formats``)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cinorms.core.declared import declared, modules_in
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
    #: Whether it has no place for a prompt in a literal wrapper.
    messages_only: bool = False
    converter: str | None = None
    environment: str = "core"
    virtual_environment: str | None = None


@cache
def format_modules() -> dict[str, str]:
    """Return the module in which each format is declared."""
    return modules_in(FORMATS)


@cache
def format_named(name: str) -> Format:
    """Return the format ``name``; raise ``KeyError`` where there is none."""
    return declared(Format, name, format_modules(), "FORMAT")


def formats() -> tuple[Format, ...]:
    """Return all formats, by name."""
    return tuple(map(format_named, sorted(format_modules())))


def written_formats() -> tuple[Format, ...]:
    """Return the formats in which prompts can be written."""
    return tuple(known for known in formats() if known.write)
