"""Check the header of a user's CSV file: a repeated column is refused, because readers silently take one."""

from __future__ import annotations

import csv
from pathlib import Path

from cinorms.core.errors import DataError


def check_header(path: str | Path) -> None:
    """Raise ``DataError`` for a column that appears twice; a file that cannot be read is left to its reader."""
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
