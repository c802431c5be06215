"""What a command does where Ctrl+C stops it, or where nobody reads on (``make check | head``)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any


class LeavableStream:
    """A stream whose reader may leave: what comes then goes nowhere, and the command ends as it would have."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        """Write ``text`` as long as somebody reads."""
        return self._tried(self._stream.write, text)

    def flush(self) -> None:
        """Flush as long as somebody reads."""
        self._tried(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _tried(self, work: Callable[..., Any], *arguments: str) -> Any:
        try:
            return work(*arguments)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            return work(*arguments)


def prepare() -> None:
    """Make Ctrl+C one line from here on, and a reader who leaves none."""
    sys.excepthook = _end
    sys.stdout, sys.stderr = LeavableStream(sys.stdout), LeavableStream(sys.stderr)


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("\nStopped by Ctrl+C.", file=sys.stderr)  # Python then ends with 130
    else:
        sys.__excepthook__(kind, error, trace)
