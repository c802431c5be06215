"""How a job ends: what it has opened is closed, and its process ends, whatever its libraries still wait for."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

#: Seconds that the process of a job has to end after its work.
LONGEST = 60.0
#: Seconds that an engine has to close; then its processes are killed.
TO_CLOSE = 5.0
#: What closes the engines of this process.
OPENED = ExitStack()


@contextmanager
def ending_in_time(longest: float = LONGEST) -> Iterator[None]:
    """Close what is in ``OPENED`` when the work is done or has failed; after ``longest`` seconds end the process.

    At Python's end multiprocessing waits for processes without a limit, maybe before vLLM ends its own: such a job
    would keep its GPU for ever. By then everything is on disk, and the exit code is what it would have been.
    """
    code: object = 1
    try:
        yield
        code = 0
    except SystemExit as leaving:
        code = leaving.code
        raise
    finally:
        number = code if isinstance(code, int) else int(code is not None)
        last_resort = threading.Timer(longest, _end, [number])
        last_resort.daemon = True
        last_resort.start()
        OPENED.close()


def close_vllm(llm: Any) -> None:
    """Close an engine of vLLM and end its processes; that it cannot is noted, for the job has its own outcome."""
    try:
        llm.llm_engine.engine_core.shutdown(timeout=TO_CLOSE)
    except Exception as trouble:
        print(f"vLLM did not close: {type(trouble).__name__}: {trouble}")


def _end(code: int) -> None:
    try:
        print("The work is over, but a library does not let this process end: it is ended.", flush=True)
    finally:
        os._exit(code)
