"""A job ends in time and with its own exit code, whatever keeps its process."""

import subprocess
import sys

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


LAST_WORDS = "The work is over, but a library does not let this process end: it is ended.\n"


@pytest.mark.parametrize(
    ("work", "held", "longest", "code", "printed"),
    [
        ("pass", 90, 0.5, 0, f"closed\n{LAST_WORDS}"),
        ("sys.exit(143)", 90, 0.5, 143, f"closed\n{LAST_WORDS}"),
        ("1 / 0", 90, 0.5, 1, f"closed\n{LAST_WORDS}"),
        ("sys.exit(3)", 0, 60, 3, "closed\n"),
    ],
)
def test_a_process_that_does_not_end_by_itself_is_ended_with_its_exit_code(
    work, held, longest, code, printed
):
    program = [sys.executable, "-c", HELD.format(work=work, held=held, longest=longest)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (code, printed)
