"""The processes that vLLM starts for a job: what they print is the job's, and they end when it ends."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from types import TracebackType
from typing import Any

#: Lines of vLLM's processes that are kept to find a cause in.
_LINES = 400

#: prctl's number for "send me a signal when my parent ends" (Linux).
_SIGNAL_OF_PARENTS_END = 1


def end_with_parent() -> None:
    """Have the operating system end this process when the one that started it ends, however that ends.

    vLLM's engine waits for ever for a job that was killed, and keeps the memory of its GPU meanwhile: the next
    job would not fit beside it.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_SIGNAL_OF_PARENTS_END, int(signal.SIGKILL))
    parent = multiprocessing.parent_process()
    if parent and os.getppid() != parent.pid:  # it ended before it could be told
        os._exit(1)


class ProcessOutput:
    """While it is open, what child processes print goes to this process' log, and the last lines are kept.

    vLLM runs its engine in processes of its own: without this their words, the cause of a failure among them,
    would go past the log (and past the search for secrets in it) to wherever the job's output goes.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._saved: list[int] = []

    def __enter__(self) -> ProcessOutput:
        sys.stdout.flush()
        sys.stderr.flush()
        source, sink = os.pipe()
        self._saved = [os.dup(1), os.dup(2)]
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        os.close(sink)
        self._reader = threading.Thread(target=self._read, args=(source, sys.stderr), daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, saved in zip((1, 2), self._saved, strict=True):
            os.dup2(saved, number)
            os.close(saved)
        # Children that live on hold the other end: the thread reads what they still say, for a moment.
        self._reader.join(timeout=0.5)

    def text(self) -> str:
        """Return the last lines, after a moment for those under way."""
        self._reader.join(timeout=1.0)
        return "\n".join(self._lines)

    def _read(self, source: int, log: Any) -> None:
        with os.fdopen(source, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                self._lines.append(line.rstrip("\n"))
                log.write(line)
