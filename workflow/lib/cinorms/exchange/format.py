"""The declaration of a format: how prompts are written for a tool, and how its responses are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cinorms.exchange.received import Received

if TYPE_CHECKING:
    from cinorms.exchange.way import Way


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
