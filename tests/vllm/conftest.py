"""Tests of the engine `vllm`: real vLLM on the CPU, on a tiny model that is trained for a few seconds."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.offline import VllmEngine
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.prompt_sets import load_prompt_set
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.designs import expand, load_dataset

from ..specs import make_spec
from ..tiny_model import write_tiny_model

ROOT = Path(__file__).parents[2]
RESOURCES = ROOT / "resources"

TUNING = {"max_model_len": 256, "gpus": 0}


@pytest.fixture(scope="session")
def flows() -> pd.DataFrame:
    """Return the 6,912 flows of the dataset iot."""
    design = load_dataset(RESOURCES / "vignettes/iot.yaml").design
    assert design is not None
    return expand(design)


@pytest.fixture(scope="session")
def templates() -> tuple[str, ...]:
    """Return the papers' eleven templates."""
    return load_prompt_set(RESOURCES / "prompts/chatgpt.yaml").templates


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


def spec_of(checkpoint: Path, **changes: Any) -> Spec:
    """Return the spec of a shard of the tiny model: 96 flows in 4 variants."""
    stated = {
        "model": "tiny",
        "seed": 2026,
        "select": {"sender": ["a door lock"], "recipient": ["its manufacturer"]},
        "max_tokens": 8,
        "wrap": "chat_template",
        "source": str(checkpoint),
        "dtype": "float32",
    }
    return make_spec(**{"engine": "vllm", **stated, **changes})


@pytest.fixture(scope="session")
def questions_of(flows: pd.DataFrame, templates: tuple[str, ...]) -> Callable[[Spec], Questions]:
    """Return a function that gives the questions of a spec, in two orders."""

    def build(spec: Spec) -> Questions:
        return Questions.of(
            spec, flows, list_variants("chatgpt", templates, n_templates=spec.n_templates, n_orders=2)
        )

    return build


class Session:
    """Engines that share one load of the checkpoint: loading it takes longer than a test."""

    def __init__(self, questions_of: Callable[[Spec], Questions]) -> None:
        self._questions_of = questions_of
        self._llm: Any = None
        self.loads = 0
        self.facts: dict[str, Any] = {}

    def engine(self, spec: Spec, chunk: int = 1_000) -> VllmEngine:
        """Return an engine that uses the checkpoint which was loaded first."""
        engine = VllmEngine(spec, TUNING, chunk)
        load = engine._load

        def load_once(folder: Path) -> Any:
            if self._llm is None:
                self._llm = load(folder)
                offline._LOADED.clear()  # a test that loads another model must not close this one
                self.loads += 1
                self.facts = engine.facts()
            return self._llm

        engine._load = load_once  # type: ignore[method-assign]
        return engine

    def ask(self, spec: Spec, chunk: int = 1_000) -> pd.DataFrame:
        """Ask every question of ``spec`` and return the replies in the order of the grid."""
        questions, chunks = self._questions_of(spec), []
        todo = questions.missing(np.zeros(len(questions.grid), dtype=bool))
        self.engine(spec, chunk).ask(questions, todo, chunks.append)
        return pd.concat(chunks).set_index("at").sort_index()


@pytest.fixture(scope="session")
def session(questions_of: Callable[[Spec], Questions]) -> Iterator[Session]:
    """Return engines that share one load."""
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    return Session(questions_of)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests with the real model kill more jobs than CI does."""
    parser.addoption("--kills", type=int, default=1, help="jobs of the real model to kill, per readout")
