"""Files of planted norms, resources/planted: the coefficients that respondents hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check, load_yaml


class Files(Protocol):
    """Where the project's own files are."""

    @property
    def schemas(self) -> Path:
        """Folder of the JSON schemas."""

    def names(self, kind: str) -> dict[str, Path]:
        """Return the files of ``resources/{kind}`` by name."""

    def shown(self, path: Path) -> str:
        """Return ``path`` as a message should name it."""


def load_planted(files: Files, name: str) -> dict[str, Any]:
    """Read and check a file of planted norms."""
    path = files.names("planted")[name]
    norms = load_yaml(path)
    check(norms, files.schemas / "planted.schema.yaml", files.shown(path))
    if sorted(set(norms["thresholds"])) != norms["thresholds"]:
        raise ConfigError(
            f"{files.shown(path)}: thresholds: {norms['thresholds']} was given; each must be above the last"
        )
    return dict(norms)
