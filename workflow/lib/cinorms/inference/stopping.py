"""SIGTERM, taken between two steps of an engine."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def stop_between_steps() -> Iterator[Callable[[], None]]:
    """Yield a function that leaves as the job's handler of SIGTERM does, if the signal has come.

    Raised wherever the signal happens to meet the program, what the handler raises can be lost inside a callback or a
    library. So the signal is only noted, and the engine calls the function between two steps.
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
