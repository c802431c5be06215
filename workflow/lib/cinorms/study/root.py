"""Where the project's own files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Root:
    """Where the project's own files stand."""

    folder: Path

    @property
    def schemas(self) -> Path:
        """Folder of the JSON schemas."""
        return self.folder / "workflow" / "schemas"

    def names(self, kind: str) -> dict[str, Path]:
        """Return the files of ``resources/{kind}`` by the name that a study gives them."""
        return {path.stem: path for path in sorted((self.folder / "resources" / kind).glob("*.yaml"))}

    def resource(self, kind: str, name: str) -> Path:
        """Return the file of one of ``names``, without looking at the others."""
        return self.folder / "resources" / kind / f"{name}.yaml"

    def shown(self, path: Path) -> str:
        """Return ``path`` as a message should name it."""
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)
