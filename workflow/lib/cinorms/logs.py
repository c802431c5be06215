"""Logs: what a script prints and why it failed goes to the rule's log file."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType

from cinorms.errors import CinormsError


def start_logging(path: str | Path) -> None:
    """Send standard output and errors to ``path``; a user's mistake becomes one message, not a traceback."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    sys.stdout = sys.stderr = path.open("w", encoding="utf-8", buffering=1)
    sys.excepthook = _report


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, CinormsError):
        print(error, file=sys.stderr)
    else:
        traceback.print_exception(kind, error, trace, file=sys.stderr)
