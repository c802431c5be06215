"""A job ends in time and with its own exit code, whatever keeps its process."""

import subprocess
import sys
import time

import pytest

#: A thread that Python waits for at its end, and something that must be closed.
HELD = """
import sys, threading, time
from cinorms.core.ending import OPENED, ending_in_time
OPENED.callback(print, "closed")
threading.Thread(target=time.sleep, args=[{held}]).start()
with ending_in_time({longest}):
    {work}
"""


def end(work: str, held: float, longest: float) -> tuple[int, str, float]:
    started = time.monotonic()
    code = HELD.format(work=work, held=held, longest=longest)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )
    return done.returncode, done.stdout, time.monotonic() - started


@pytest.mark.parametrize(
    ("work", "code"),
    [("pass", 0), ("sys.exit(143)", 143), ("1 / 0", 1)],
)
def test_a_process_that_does_not_end_is_ended_with_its_exit_code(work, code):
    found, printed, seconds = end(work, held=90, longest=0.5)
    assert found == code
    assert "closed" in printed
    assert "it is ended" in printed
    assert seconds < 60


def test_a_process_that_ends_by_itself_is_let_alone():
    assert end("sys.exit(3)", held=0, longest=60)[:2] == (3, "closed\n")
