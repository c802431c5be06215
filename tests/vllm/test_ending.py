"""A job ends soon after its work, also where Python would wait for vLLM's engine before vLLM ends it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, request_of
from .test_failures import job, wait_until

#: What Python runs first. A finalizer that is there before multiprocessing has vLLM's clean-up run after the exit
#: function of multiprocessing, which waits for the engine's process.
EARLY = """
import sys, weakref
assert "multiprocessing.util" not in sys.modules
class Kept: pass
KEPT = Kept()
weakref.finalize(KEPT, str)
"""
#: Seconds.
SOON = 30


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a job whose engine has a process of its own, as on a GPU."""
    (tmp_path / "early").mkdir()
    (tmp_path / "early/sitecustomize.py").write_text(EARLY)
    return {
        **os.environ,
        "PYTHONPATH": f"{tmp_path / 'early'}:{ROOT / 'workflow/lib'}",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    }


def test_a_job_ends_soon_after_its_work(tmp_path, checkpoint, flows, templates, environment):
    command = job(tmp_path, request_of(checkpoint), flows, templates)
    with subprocess.Popen(command, env=environment) as running:
        log = tmp_path / "log.txt"
        wait_until(lambda: running.poll() is not None or "questions asked in" in text_of(log), "asking")
        try:
            assert running.wait(SOON) == 0
        finally:
            running.kill()
    assert "it is ended" not in text_of(log)


def test_a_job_that_is_told_to_stop_ends_soon(tmp_path, checkpoint, flows, templates, environment):
    command = job(tmp_path, request_of(checkpoint), flows, templates)
    with subprocess.Popen(command, env=environment) as running:
        log = tmp_path / "log.txt"
        wait_until(lambda: running.poll() is not None or "Loaded" in text_of(log), "loading")
        running.send_signal(signal.SIGTERM)
        try:
            assert running.wait(SOON) == 128 + signal.SIGTERM
        finally:
            running.kill()


def text_of(log: Path) -> str:
    return log.read_text() if log.exists() else ""
