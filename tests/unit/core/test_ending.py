"""A job ends in time and with its own exit code, whatever keeps its process."""

import os
import signal
import subprocess
import sys

import pytest

from cinorms.core.run_process import RUN

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


def test_a_job_ends_when_its_run_has_ended_though_its_parent_lives(folder):
    run = subprocess.Popen(["true"])
    run.wait()
    code = "import time; from cinorms.core.run_process import end_with_run; end_with_run(); time.sleep(20)"
    main = f"{os.readlink('/proc/self/ns/pid')} {run.pid}"
    environment = {**os.environ, RUN: main, "PYTHONPATH": str(folder / "workflow/lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, timeout=60)
    assert done.returncode == -signal.SIGTERM
