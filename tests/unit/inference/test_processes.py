"""How an engine and what it starts end, and where they print."""

import io
import os
import signal
import subprocess
import sys

import pytest

from cinorms.inference.processes import process_output, stop_between_steps


def test_a_signal_ends_a_job_between_two_steps():
    handler = signal.getsignal(signal.SIGTERM)
    with stop_between_steps() as leave_if_signalled:
        leave_if_signalled()
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(SystemExit) as ended:
            leave_if_signalled()
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == handler


def test_what_processes_print_is_in_the_log_and_their_last_lines_are_known(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    with process_output() as last_lines:
        for number, text in ((1, b"printed\n"), (2, b"an error \xff\n")):
            os.write(number, text)
        assert last_lines().splitlines()[-2:] == ["printed", "an error \ufffd"]
    os.write(1, b"later\n")
    assert log.getvalue() == "printed\nan error \ufffd\n"


def test_a_process_of_vllm_gets_a_signal_when_its_parent_ends(folder):
    code = (
        "import ctypes; from cinorms.inference.processes import end_with_parent; end_with_parent()\n"
        "found = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(found)); print(found.value)"
    )
    environment = {**os.environ, "PYTHONPATH": str(folder / "workflow/lib")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert int(done.stdout) == signal.SIGKILL
