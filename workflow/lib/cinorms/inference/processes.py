"""Processes: how an engine ends on SIGTERM, and what vLLM's own do: they write to the job's log and end with the job.

The job's handler of SIGTERM raises an exception wherever the signal finds the program. In a library's clean-up, Python
prints that exception and forgets it. So an engine that steps takes the signal between two of its steps.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


#: The last lines: a child process that outlives one `process_output` may tell its end while another is open.
_KEPT: deque[str] = deque(maxlen=_LINES)


@contextmanager
def process_output() -> Iterator[Callable[[], str]]:
    """Send what child processes print to this process' log; yield a function that returns the last lines.

    vLLM runs its engine in processes of its own. Without this, their output, including the cause of a failure,
    would bypass the log and its search for secrets.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    source, sink = os.pipe()
    saved = {number: os.dup(number) for number in (1, 2)}
    for number in saved:
        os.dup2(sink, number)
    os.close(sink)
    log = sys.stderr

    def read() -> None:
        with os.fdopen(source, encoding="utf-8", errors="replace") as stream:
            for line in stream:
                _KEPT.append(line.rstrip("\n"))
                log.write(line)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def text() -> str:
        reader.join(timeout=1.0)  # a moment for lines still coming
        return "\n".join(_KEPT)

    try:
        yield text
    finally:
        for number, own in saved.items():
            os.dup2(own, number)
            os.close(own)
        # Children that live on hold the other end: for a moment, the thread reads what they still print.
        reader.join(timeout=0.5)


@contextmanager
def stop_between_steps() -> Iterator[Callable[[], None]]:
    """Yield a function that leaves as the job's handler of SIGTERM does, if the signal has come.

    The signal is only noted; the engine calls the function between two steps.
    """
    handler = signal.getsignal(signal.SIGTERM)
    came: list[int] = []

    def leave_if_signalled() -> None:
        if came:
            if callable(handler):
                handler(signal.SIGTERM, None)
            sys.exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield leave_if_signalled
    finally:
        signal.signal(signal.SIGTERM, handler)
