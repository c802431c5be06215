"""Logs: what a job prints goes to its log file; why it failed goes there and to the terminal."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType

from cinorms.errors import CinormsError


def start_logging(path: str | Path) -> None:
    """Send what is printed from now on to the file ``path``, and any failure to the terminal as well.

    A user's mistake (``CinormsError``) is shown as its one message, everything else with its traceback.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = sys.stderr
    log = path.open("w", encoding="utf-8", buffering=1)
    sys.stdout = sys.stderr = log

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        expected = isinstance(error, CinormsError)
        message = str(error) if expected else "".join(traceback.format_exception(kind, error, trace))
        print(message, file=log)
        print(f"\n{message}\n(log: {path})\n", file=terminal)

    sys.excepthook = report
