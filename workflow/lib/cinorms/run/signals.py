"""The main process of a run hands signals on to the jobs that ask: Snakemake alone waits until these are done."""

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Timer
from types import FrameType

#: Seconds after which jobs are told: from a terminal, Ctrl+C reaches them, too.
DELAY = 1.0
#: The modules that ask, as their commands name them.
ASKING = frozenset({"cinorms.ask", "cinorms.prompts.paraphrase.generate"})


def hand_on_signals() -> None:
    """Have the jobs of this run that ask end when this process receives SIGTERM or SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        handler = signal.getsignal(number)
        if callable(handler):  # in the background, SIGINT is ignored
            with suppress(ValueError):  # not the main thread: another program runs Snakemake
                signal.signal(number, partial(_hand_on, handler))


def _hand_on(
    handler: Callable[[int, FrameType | None], object], number: int, frame: FrameType | None
) -> None:
    telling = Timer(DELAY, _tell_jobs)
    telling.daemon = True
    telling.start()
    handler(number, frame)


def _tell_jobs() -> None:
    import psutil

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if ASKING & set(process.cmdline()):
                process.terminate()
