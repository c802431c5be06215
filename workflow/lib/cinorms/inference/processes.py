"""Processes: how an engine ends on SIGTERM, and what vLLM's own do: they write to the job's log and end with the job.

The job's handler of SIGTERM raises an exception wherever the signal finds the program. In a callback, or in a library's
clean-up, Python prints that exception and forgets it. So an engine takes the signal between two of its steps: one that
steps by itself uses ``stop_between_steps``, one that runs in an event loop ``stop_in_loop``.
"""

from __future__ import annotations

import asyncio
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

#: Lines of vLLM's processes that are kept to find a cause in.
_LINES = 400

#: prctl's number for "send me a signal when my parent ends" (Linux).
_SIGNAL_OF_PARENTS_END = 1


def end_with_parent() -> None:
    """Have the operating system end this process when the one that started it ends, for any reason.

    vLLM's engine waits for ever for a job that was killed, and keeps the memory of its GPU meanwhile: the next
    job would not fit next to it.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_SIGNAL_OF_PARENTS_END, int(signal.SIGKILL))
    parent = multiprocessing.parent_process()
    if parent and os.getppid() != parent.pid:  # it ended before this call
        os._exit(1)


#: The last lines: a child process that outlives one `ProcessOutput` may tell its end while another is open.
_KEPT: deque[str] = deque(maxlen=_LINES)


class ProcessOutput:
    """While it is open, what child processes print goes to this process' log, and the last lines are kept.

    vLLM runs its engine in processes of its own. Without this, their output, including the cause of a failure,
    would bypass the log and its search for secrets.
    """

    def __init__(self) -> None:
        self._lines = _KEPT
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
        # Children that live on hold the other end: for a moment, the thread reads what they still print.
        self._reader.join(timeout=0.5)

    def text(self) -> str:
        """Return the last lines, after a moment for those still coming."""
        self._reader.join(timeout=1.0)
        return "\n".join(self._lines)

    def _read(self, source: int, log: Any) -> None:
        with os.fdopen(source, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                self._lines.append(line.rstrip("\n"))
                log.write(line)


@contextmanager
def stop_between_steps() -> Iterator[Callable[[], None]]:
    """Yield a function that leaves as the job's handler of SIGTERM does, if the signal has come.

    The signal is only noted; the engine calls the function between two steps.
    """
    handler = signal.getsignal(signal.SIGTERM)
    came: list[int] = []

    def leave_if_told() -> None:
        if came:
            if callable(handler):
                handler(signal.SIGTERM, None)
            sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield leave_if_told
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def stop_in_loop(end: Callable[[SystemExit], None]) -> Iterator[None]:
    """Call ``end`` with what the job's handler of SIGTERM raises, between two steps of the running loop."""
    handler = signal.getsignal(signal.SIGTERM)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def pass_on() -> None:
        try:
            handler(signal.SIGTERM, None)
        except SystemExit as leaving:
            end(leaving)

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, pass_on)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        signal.signal(signal.SIGTERM, handler)
