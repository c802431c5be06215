"""Tests of the engine `vllm`: real vLLM on the CPU, on a tiny model that is trained for a few seconds."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.ending import OPENED
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.designs import expand, load_dataset

from ..asking import make_request
from ..tiny_model import write_tiny_model

ROOT = Path(__file__).parents[2]

#: How the tiny model is reached.
RUNTIME = {"study": "s", "model": "tiny", "shard": "1-of-1", "max_model_len": 256, "gpus": 0}


@pytest.fixture(scope="session")
def flows() -> pd.DataFrame:
    """Return the 6,912 flows of the dataset iot."""
    return expand(load_dataset(ROOT / "resources/vignettes/iot.yaml"))


@pytest.fixture(scope="session")
def templates() -> tuple[str, ...]:
    """Return the papers' eleven templates."""
    return load_prompt_set(ROOT / "resources/prompts/chatgpt.yaml").templates


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny model that was trained for a few seconds."""
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    write_tiny_model(folder)
    return folder


@pytest.fixture
def copied(checkpoint: Path, tmp_path: Path) -> Path:
    """Return a copy of the checkpoint that a test may spoil."""
    return Path(shutil.copytree(checkpoint, tmp_path / "copied"))


@pytest.fixture(scope="session")
def reference(checkpoint: Path) -> Any:
    """Return the checkpoint as transformers runs it: what vLLM is compared with."""
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()


def generate(model: Any, ids: list[int], n: int) -> list[int]:
    """Return the likeliest next tokens, at most ``n``, by transformers."""
    import torch

    found = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=n)
    return list(found[0, len(ids) :].tolist())


def request_of(checkpoint: Path, **changes: Any) -> Request:
    """Return a request to the tiny model: 108 flows in 4 variants."""
    stated = {
        "model": "tiny",
        "seed": 2026,
        "select": {"sender": ["a door lock"], "recipient": ["its manufacturer"]},
        "max_tokens": 8,
        "wrap": "chat_template",
        "source": str(checkpoint),
        "dtype": "float32",
    }
    return make_request(**{"engine": "vllm", **stated, **changes})


def write_inputs(folder: Path, flows: pd.DataFrame, templates: tuple[str, ...]) -> dict[str, str]:
    """Write what a job reads beside its request, and return the files by their options."""
    files = {name: str(folder / f"{name}.parquet") for name in ("vignettes", "variants")}
    tables.write(flows, files["vignettes"], tables.VIGNETTES)
    tables.write(list_variants("chatgpt", templates, 2, 2), files["variants"], tables.PROMPTS)
    return files


@pytest.fixture(scope="session")
def questions_of(flows: pd.DataFrame, templates: tuple[str, ...]) -> Callable[[Request], Questions]:
    """Return a function that gives what a request asks, in two orders."""

    def build(request: Request) -> Questions:
        return Questions.of(request, flows, list_variants("chatgpt", templates, request.n_templates, 2))

    return build


class Session:
    """Engines that share one load of the checkpoint: loading it takes longer than a test."""

    def __init__(self, questions_of: Callable[[Request], Questions]) -> None:
        self._questions_of = questions_of
        self.llm: Any = None
        self._usual: pd.DataFrame | None = None

    def usual(self, checkpoint: Path) -> pd.DataFrame:
        """Return the replies to the usual request, asked once; tests leave them as they are."""
        if self._usual is None:
            self._usual = self.ask(request_of(checkpoint))
        return self._usual

    def ask(self, request: Request) -> pd.DataFrame:
        """Return the replies to every question of ``request``, from the checkpoint that was loaded first."""
        engine = VllmEngine(RUNTIME)
        if self.llm is None:
            self.llm = engine._load(request, Path(request.settings["source"]))
            OPENED.pop_all()  # a test that loads another model must not close this one
        engine._llm = self.llm
        return replies(engine, self._questions_of(request))


def replies(engine: Any, questions: Questions) -> pd.DataFrame:
    """Return the replies of an engine to ``questions``, in the order of the grid."""
    found: dict[int, Any] = {}
    engine.ask(questions, questions.in_asking_order(np.arange(len(questions.grid))), found.__setitem__)
    return pd.DataFrame.from_dict(found, orient="index").sort_index()


@pytest.fixture(scope="session")
def session(questions_of: Callable[[Request], Questions]) -> Session:
    """Return engines that share one load."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    return Session(questions_of)
