"""SIGTERM, taken between two steps of an engine.

The job's handler raises an exception wherever the signal finds the program. In a callback, or in a library's clean-up,
Python prints that exception and forgets it. An engine that steps by itself uses ``stop_between_steps``, one that runs
in an event loop ``stop_in_loop``.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
