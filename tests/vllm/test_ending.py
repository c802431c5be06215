"""A job ends soon after its work, also where Python would wait for vLLM's engine before vLLM ends it."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from cinorms.inference.store import Store

from .conftest import ROOT, request_of
from .test_failures import job

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


def children(pid: int) -> list[int]:
    """Return the processes that ``pid`` started and that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            found += [int(path.parent.name)] if int(parent) == pid and state != "Z" else []
    return found


def is_running(pid: int) -> bool:
    """Tell whether ``pid`` still runs."""
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


def text_of(log: Path) -> str:
    return log.read_text() if log.exists() else ""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until ``condition`` holds."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def test_a_killed_job_leaves_no_process_and_another_finishes_it_and_ends_soon(
    tmp_path, checkpoint, flows, templates, environment
):
    token = "hf_plantedPLANTEDplanted"
    # As on a compute node, where a job is given GPUs.
    environment |= {"HF_TOKEN": token, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "0"}
    command, log = job(tmp_path, request_of(checkpoint), flows, templates), tmp_path / "log.txt"
    with subprocess.Popen(command, env=environment) as killed:
        wait_until(lambda: killed.poll() is not None or "Loaded" in text_of(log), "loading")
        started = children(killed.pid)
        assert started, log.read_text()
        killed.kill()
    wait_until(lambda: not any(map(is_running, started)), "an engine outlives its job")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as running:
        wait_until(lambda: running.poll() is not None or "questions asked in" in text_of(log), "asking")
        try:
            stdout, stderr = running.communicate(timeout=SOON)
        finally:
            running.kill()
    assert (running.returncode, stdout) == (0, ""), stderr
    assert "it is ended" not in text_of(log)
    assert json.loads((tmp_path / "results/asked.json").read_text()) == {"questions": {"main": 9 * 12 * 4}}
    assert "EngineCore" in log.read_text()  # what the other processes say is in the log
    record = Store(tmp_path / "results/.replies", request_of(checkpoint)).runs()[-1]
    assert record["vllm"].startswith("0.")
    assert record["device"].startswith("CPU")  # whatever CUDA_VISIBLE_DEVICES says
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes(), path
    assert token not in stderr + " ".join(command)


def test_a_job_that_is_told_to_stop_ends_soon(tmp_path, checkpoint, flows, templates, environment):
    command, log = job(tmp_path, request_of(checkpoint), flows, templates), tmp_path / "log.txt"
    with subprocess.Popen(command, env=environment) as running:
        wait_until(lambda: running.poll() is not None or "Loaded" in text_of(log), "loading")
        running.send_signal(signal.SIGTERM)
        try:
            assert running.wait(SOON) == 128 + signal.SIGTERM
        finally:
            running.kill()
