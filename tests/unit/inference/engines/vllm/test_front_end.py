"""What this project's own code asks of vLLM for each prompt, counted with an engine that answers at once."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.tokenise import Ahead

from .....modules import module_at

PROMPTS = 300


@pytest.fixture
def front_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the benchmark, with its stand-in for vLLM in place."""
    module = module_at(Path(__file__).parents[5] / "benchmarks/inference/front_end.py")
    for name, stand_in in module.stand_ins().items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    conversations.option_sampling.cache_clear()
    yield module
    conversations.option_sampling.cache_clear()


def test_a_text_takes_one_request(front_end):
    engine, answers, _ = front_end.ask("text", PROMPTS)
    assert (engine.n_requests, len(answers)) == (PROMPTS, PROMPTS)


def test_options_take_few_requests_and_lose_less_than_is_stated(front_end, monkeypatch):
    engine, cut, _ = front_end.ask("options", PROMPTS)
    monkeypatch.setattr(conversations, "MOST_CUT", 0.0)
    unpruned, whole, _ = front_end.ask("options", PROMPTS)
    assert unpruned.n_requests == 17 * PROMPTS
    assert engine.n_requests < 9.2 * PROMPTS
    lost = np.array([whole[at].sum() - cut[at].sum() for at in whole])
    assert 1e-5 < lost.max() <= 1e-4 + 1e-6
    assert all((whole[at] >= cut[at]).all() for at in whole)


def test_what_is_cut_does_not_depend_on_which_request_comes_back_first(front_end, monkeypatch):
    _, forwards, _ = front_end.ask("options", PROMPTS)
    step = front_end.AtOnce.step
    monkeypatch.setattr(front_end.AtOnce, "step", lambda self: reversed(list(step(self))))
    _, backwards, _ = front_end.ask("options", PROMPTS)
    assert all((forwards[at] == backwards[at]).all() for at in forwards)


@pytest.mark.parametrize("readout", ["text", "options"])
def test_no_request_asks_for_stated_tokens_beside_the_likeliest(front_end, readout):
    """In vLLM a request with stated tokens turns the log-probabilities of the likeliest, asked by others, into -inf."""
    engine, _, _ = front_end.ask(readout, 40)
    for sampling in engine.kinds.values():
        assert not {"logprobs", "prompt_logprobs"} & set(vars(sampling))
        assert hasattr(sampling, "logprob_token_ids") == (readout == "options")


def test_work_is_done_ahead_in_order_and_not_too_far():
    done: list[int] = []
    third = threading.Event()

    def work(item: int) -> int:
        done.append(item)
        if item == 2:
            third.set()
        return 10 * item

    ahead = Ahead(work, range(8), most=3)
    assert third.wait(10), "it begins before anything is asked for"
    results = iter(ahead)
    assert next(results) == 0
    assert max(done) <= 3
    assert list(results) == [10, 20, 30, 40, 50, 60, 70]


def test_a_failure_ahead_is_raised_in_its_place_and_the_rest_given_up():
    begun, held, done = threading.Event(), threading.Event(), []

    def work(item: int) -> Any:
        if item == 1:
            begun.set()
            held.wait(10)
            raise ValueError("the second")
        done.append(item)

    ahead = Ahead(work, range(9), most=9)
    results = iter(ahead)
    next(results)
    assert begun.wait(10)
    ahead.stop()
    held.set()
    with pytest.raises(ValueError, match="the second"):
        next(results)
    assert done == [0]
