"""The project's own files, as packages below the study see them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class ProjectFiles(Protocol):
    """Where the project's own files are; ``study.root.Root`` is one."""

    def names(self, kind: str) -> dict[str, Path]:
        """Return the files of a ``kind`` of resources by name."""

    def searched(self, kind: str) -> str:
        """Return where a name of a ``kind`` was looked up, to end a message with."""

    def shown(self, path: Path) -> str:
        """Return ``path`` as a message should name it."""
