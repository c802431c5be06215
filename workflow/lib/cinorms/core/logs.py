"""Logs: what a job prints goes to its log file; why it failed goes there and to the terminal."""

from __future__ import annotations

import errno
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
    # The longest first: a secret may begin with another one.
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
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
    # A message must be written, whatever an endpoint or a file put into it.
    stream = path.open("w", encoding="utf-8", errors="backslashreplace", buffering=1)
    log: Any = WithoutSecrets(stream, secrets)
    sys.stdout = sys.stderr = log

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        message = _without_traceback(error) or "".join(traceback.format_exception(kind, error, trace))
        log.write(f"{message}\n")
        terminal.write(f"\n{message}\n(log: {path})\n\n")

    sys.excepthook = report


def _without_traceback(error: BaseException) -> str | None:
    """Return the one message that a failure gets; none for what nobody expected."""
    if isinstance(error, CinormsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "Stopped by Ctrl+C; run again to do the rest."
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, OSError) and at.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" ({at.filename})" if at.filename else ""
            return f"The disk is full{where}: free some space and run again. Everything made before is kept."
        at = at.__cause__ or at.__context__
    return None
