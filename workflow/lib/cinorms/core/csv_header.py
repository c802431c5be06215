"""The header of a CSV file that a user wrote: a column named twice is refused, as readers silently take one."""

from __future__ import annotations

import csv
from pathlib import Path

from cinorms.core.errors import DataError


def check_header(path: str | Path) -> None:
    """Raise ``DataError`` where a column appears twice; a file that cannot be read is left to who reads it."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return
    for name in header:
        if header.count(name) > 1:
            raise DataError(
                f"{path}: line 1: column {name!r} appears {header.count(name)} times; keep one of them"
            )
