"""Everything that can go wrong with a checkpoint or a machine is one message that says what to do."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import CinormsError, ConfigError, EngineError
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.prompts.variants import list_variants

from .conftest import ROOT, RUNTIME, replies, request_of

Build = Callable[[Request], Questions]


def ask(request: Request, questions_of: Build, **runtime: Any) -> None:
    """Ask with an engine of its own, as a job does."""
    replies(VllmEngine({**RUNTIME, **runtime}), questions_of(request))
    pytest.fail("nothing can be answered")


def edit(checkpoint: Path, **changes: Any) -> Path:
    """Change the configuration of a checkpoint."""
    path = checkpoint / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return checkpoint


def refuse_loading(*arguments: Any) -> Any:
    """Stand for vLLM where it must not be needed."""
    pytest.fail("the checkpoint was loaded, which takes minutes, before the mistake was found")


# --- Before anything is loaded


def test_a_prompt_that_is_too_long(checkpoint, questions_of, monkeypatch):
    monkeypatch.setattr(VllmEngine, "_load", refuse_loading)
    with pytest.raises(
        ConfigError, match=r"longest prompt has \d+ tokens and an answer may have 8; `max_model_len`"
    ):
        ask(request_of(checkpoint), questions_of, max_model_len=64)
    with pytest.raises(ConfigError, match=r"the model takes 1024 in all: lower max_tokens"):
        ask(request_of(checkpoint, max_tokens=2_000), questions_of)


def test_no_gpu(checkpoint, questions_of, monkeypatch):
    from vllm.platforms import current_platform

    monkeypatch.setattr(type(current_platform), "is_cpu", lambda self: False)
    monkeypatch.setattr(type(current_platform), "device_count", lambda *a, **k: 0, raising=False)
    with pytest.raises(EngineError, match=r"no GPU is visible: request one from the cluster .*`make real`"):
        ask(request_of(checkpoint), questions_of)


# --- While it is loaded


def test_an_unknown_architecture(copied, questions_of, session):
    edit(copied, architectures=["NobodyKnowsForCausalLM"])
    with pytest.raises(
        EngineError, match=r"NobodyKnowsForCausalLM.*this version of vLLM does not know such models"
    ):
        ask(request_of(copied), questions_of)


def test_code_of_its_own(copied, questions_of, session):
    edit(
        copied,
        model_type="mine",
        auto_map={"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"},
    )
    (copied / "mine.py").write_text("raise SystemExit('foreign code ran')\n")
    with pytest.raises(CinormsError) as caught:
        ask(request_of(copied), questions_of)
    assert "trust_remote_code" in str(caught.value) or "no tokenizer" in str(caught.value)


def test_memory_that_is_not_there(checkpoint, questions_of, session, monkeypatch):
    monkeypatch.setattr(offline, "CPU_CACHE", 10**15)
    with pytest.raises(EngineError, match="memory is full: stop other programs, or give the job more"):
        ask(request_of(checkpoint), questions_of)


# --- As a job


def job(tmp_path: Path, request: Request, flows: pd.DataFrame, templates: tuple[str, ...]) -> list[str]:
    """Return the command line of a job."""
    files = {name: str(tmp_path / "results" / f"{name}.parquet") for name in ("vignettes", "variants")}
    tables.write(flows, files["vignettes"], tables.VIGNETTES)
    tables.write(list_variants("chatgpt", templates, 2, 2), files["variants"], tables.PROMPTS)
    where = {"store": str(tmp_path / "results/.replies"), "progress": str(tmp_path / "results/s/.progress")}
    given = {
        "requests": json.dumps([["main", request.plain()]]),
        "runtime": json.dumps({**RUNTIME, **where}),
        **files,
        "out": str(tmp_path / "results/asked.json"),
    }
    given["log"] = str(tmp_path / "log.txt")
    return [
        sys.executable,
        "-m",
        "cinorms.inference.ask",
        *(f"--{name}={value}" for name, value in given.items()),
    ]


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait until ``condition`` holds."""
    end = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def test_a_job_that_fails_in_another_process_says_why_on_the_terminal(tmp_path, copied, flows, templates):
    weights = (copied / "model.safetensors").read_bytes()
    (copied / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "workflow/lib"),
        "VLLM_ENABLE_V1_MULTIPROCESSING": "1",
    }
    command = job(tmp_path, request_of(copied), flows, templates)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("model 'tiny': vLLM stopped") == 1
    assert "Traceback" not in done.stderr
    assert "a file of its weights is damaged" in done.stderr
    assert "SafetensorError" in (tmp_path / "log.txt").read_text()
