"""Logs: what a job prints goes to its log file; why it failed goes there and to the terminal."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from cinorms.core.errors import CinormsError


class WithoutSecrets:
    """A text stream in which secrets never appear, whoever writes them."""

    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        """Write ``text``, a mark in place of every secret."""
        return self._stream.write(redact(text, self._secrets))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with a mark in place of every secret."""
    for secret in secrets:
        text = text.replace(secret, "[key]")
    return text


def start_logging(path: str | Path, secrets: Sequence[str] = ()) -> None:
    """Send what is printed from now on to the file ``path``, and any failure to the terminal as well.

    A user's mistake (``CinormsError``) is shown as its one message, everything else with its traceback.
    ``secrets`` appear in neither.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = WithoutSecrets(sys.stderr, secrets)
    log: Any = WithoutSecrets(path.open("w", encoding="utf-8", buffering=1), secrets)
    sys.stdout = sys.stderr = log

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        expected = isinstance(error, CinormsError)
        message = str(error) if expected else "".join(traceback.format_exception(kind, error, trace))
        log.write(f"{message}\n")
        terminal.write(f"\n{message}\n(log: {path})\n\n")

    sys.excepthook = report
