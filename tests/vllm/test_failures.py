"""What only vLLM refuses in a checkpoint or a machine is one message that says what to do."""

import json
import os
import subprocess
import sys

import pytest

from cinorms.core.errors import CinormsError
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.offline import VllmEngine

from .conftest import ROOT, RUNTIME, replies, request_of, write_inputs

OWN_CODE = {"auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}}


@pytest.mark.parametrize(
    ("config", "cache", "gpus", "message"),
    [
        (
            {"architectures": ["NobodyKnows"]},
            2**30,
            False,
            "NobodyKnows.*this version of vLLM does not know such",
        ),
        ({"model_type": "mine", **OWN_CODE}, 2**30, False, "trust_remote_code|no tokenizer"),
        ({}, 10**15, False, "memory is full: stop other programs, or give the job more"),
        ({}, 2**30, True, r"no GPU is visible: request one from the cluster .*`make real`"),
    ],
    ids=["unknown architecture", "code of its own", "memory", "no GPU"],
)
def test_what_cannot_be_loaded_is_one_message(
    copied, questions_of, session, monkeypatch, config, cache, gpus, message
):
    from vllm.platforms import current_platform

    path = copied / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))
    (copied / "mine.py").write_text("raise SystemExit('foreign code ran')\n")
    monkeypatch.setattr(offline, "CPU_CACHE", cache)
    if gpus:  # vLLM's build for them, on a machine without
        monkeypatch.setattr(type(current_platform), "is_cpu", lambda self: False)
        monkeypatch.setattr(type(current_platform), "device_count", lambda *a, **k: 0, raising=False)
    with pytest.raises(CinormsError, match=message):
        replies(VllmEngine(RUNTIME), questions_of(request_of(copied)))


def job(folder, request, flows, templates):
    """Return the command line of a job."""
    where = {"store": str(folder / "results/.replies"), "progress": str(folder / "results/s/.progress")}
    given = {
        "requests": json.dumps([["main", request.plain()]]),
        "runtime": json.dumps({**RUNTIME, **where}),
        **write_inputs(folder / "results", flows, templates),
        "out": folder / "results/asked.json",
        "log": folder / "log.txt",
    }
    options = [f"--{name}={value}" for name, value in given.items()]
    return [sys.executable, "-m", "cinorms.inference.ask", *options]


def test_a_job_that_fails_in_another_process_says_why_on_the_terminal(tmp_path, copied, flows, templates):
    weights = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    environment = {"PYTHONPATH": str(ROOT / "workflow/lib"), "VLLM_ENABLE_V1_MULTIPROCESSING": "1"}
    command = job(tmp_path, request_of(copied), flows, templates)
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("model 'tiny': vLLM stopped") == 1
    assert "Traceback" not in done.stderr
    assert "a file of its weights is damaged" in done.stderr
    assert "SafetensorError" in (tmp_path / "log.txt").read_text()
