"""What this project's own code asks of vLLM for each prompt, counted with an engine that answers at once."""

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.conversations import OptionTalk, OptionTrie, TextTalk, spellings, talk

PROMPTS = 300
OPTIONS = (
    "strongly unacceptable",
    "somewhat unacceptable",
    "neutral",
    "somewhat acceptable",
    "strongly acceptable",
)
#: Token ids of a prompt, and how even the probabilities of tokens are: the smaller, the surer the model.
PROMPT_TOKENS, EVENNESS = 76, 0.1


def trie_of_options() -> OptionTrie:
    """Return the trie of the options as tokenizers cut them: words with the blank before them, and un-."""
    tokens: dict[str, int] = {}

    def cut(text: str) -> tuple[int, ...]:
        parts = text.replace(" un", "| un|").replace(" acc", "| acc").split("|")
        return tuple(tokens.setdefault(part, len(tokens)) for part in parts)

    return OptionTrie.of({option: [cut(how) for how in spellings(option)] for option in OPTIONS}, "test")


class AtOnce:
    """Stands for vLLM's engine: answers every request in the next step."""

    def __init__(self) -> None:
        self.n_requests = 0
        #: The parameters of all requests, each kind once.
        self.kinds: dict[int, Any] = {}
        self._waiting: list[tuple[str, Any, int]] = []
        self._shares: dict[tuple[int, ...], Any] = {}

    def add_request(self, key: str, prompt: dict[str, Any], sampling: Any, priority: int) -> None:
        """Take a request."""
        self._waiting.append((key, sampling, priority))
        self.n_requests += 1
        self.kinds[id(sampling)] = sampling

    def step(self) -> Iterator[Any]:
        """Answer what waits."""
        waiting, self._waiting = self._waiting, []
        for key, sampling, priority in waiting:
            output = SimpleNamespace(token_ids=(1, 2, 3), finish_reason="stop")
            wanted = getattr(sampling, "logprob_token_ids", None)
            if wanted:
                output.logprobs = [self._logprobs(tuple(wanted), priority)]
            yield SimpleNamespace(request_id=key, finished=True, outputs=[output])

    def _logprobs(self, wanted: tuple[int, ...], prompt: int) -> dict[int, Any]:
        """Return what a prompt gives the tokens ``wanted``, one of many draws that are made once."""
        draws = self._shares.get(wanted)
        if draws is None:
            # The last share is that of all other tokens.
            chance = np.random.default_rng(list(wanted))
            rows = chance.dirichlet(np.full(len(wanted) + 1, EVENNESS), 997)
            draws = self._shares[wanted] = [
                {
                    token: SimpleNamespace(logprob=p)
                    for token, p in zip(wanted, np.log(row + 1e-12).tolist(), strict=False)
                }
                for row in rows
            ]
        return draws[prompt % len(draws)]


def stand_ins() -> dict[str, ModuleType]:
    """Return modules that stand for vLLM's sampling parameters."""

    class SamplingParams(SimpleNamespace):
        __struct_fields__ = ("skip_clone",)

    kinds = SimpleNamespace(FINAL_ONLY=0)
    package, module = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    package.SamplingParams, module.RequestOutputKind = SamplingParams, kinds  # type: ignore[attr-defined]
    return {"vllm": package, "vllm.sampling_params": module}


def ask(readout: str, n_prompts: int) -> tuple[AtOnce, dict[int, Any]]:
    """Ask so many prompts; return the engine, and the answer to each prompt."""
    engine, trie = AtOnce(), trie_of_options()
    spec: Any = SimpleNamespace(temperature=0, max_tokens=8)
    chance = np.random.default_rng(1)

    def begun() -> Iterator[Any]:
        for at in range(n_prompts):
            ids = chance.integers(0, 30_000, PROMPT_TOKENS, dtype=np.int32)
            yield OptionTalk(at, ids, trie) if readout == "options" else TextTalk(at, ids, spec, None)

    llm = SimpleNamespace(llm_engine=engine)
    answers = {
        finished.at: finished.probabilities() if readout == "options" else finished.token_ids
        for step in talk(llm, begun(), lambda: None)
        for finished in step
    }
    return engine, answers


@pytest.fixture(autouse=True)
def engine_in_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the stand-ins for vLLM in place."""
    for name, stand_in in stand_ins().items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    conversations.option_sampling.cache_clear()
    yield
    conversations.option_sampling.cache_clear()


def test_options_take_few_requests_and_lose_less_than_is_stated(monkeypatch):
    engine, cut = ask("options", PROMPTS)
    monkeypatch.setattr(conversations, "MOST_CUT", 0.0)
    unpruned, whole = ask("options", PROMPTS)
    assert unpruned.n_requests == 17 * PROMPTS
    assert engine.n_requests < 9.2 * PROMPTS
    lost = np.array([whole[at].sum() - cut[at].sum() for at in whole])
    assert 1e-5 < lost.max() <= 1e-4 + 1e-6
    assert all((whole[at] >= cut[at]).all() for at in whole)


@pytest.mark.parametrize("readout", ["text", "options"])
def test_no_request_asks_for_stated_tokens_beside_the_likeliest(readout):
    """In vLLM a request with stated tokens turns the log-probabilities of the likeliest, asked by others, into -inf."""
    engine, _ = ask(readout, 40)
    for sampling in engine.kinds.values():
        assert not {"logprobs", "prompt_logprobs"} & set(vars(sampling))
        assert hasattr(sampling, "logprob_token_ids") == (readout == "options")
