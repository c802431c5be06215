"""Files of planted norms, resources/planted: the coefficients that respondents hold."""

from __future__ import annotations

from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.project_files import ProjectFiles
from cinorms.core.validation import check, load_yaml


def load_planted(files: ProjectFiles, name: str) -> dict[str, Any]:
    """Read and check a file of planted norms."""
    path = files.names("planted")[name]
    norms = load_yaml(path)
    check(norms, files.schemas / "planted.schema.yaml", files.shown(path))
    if sorted(set(norms["thresholds"])) != norms["thresholds"]:
        raise ConfigError(
            f"{files.shown(path)}: thresholds: {norms['thresholds']} do not rise; put each above the last"
        )
    return dict(norms)
