"""Feeding an engine continuously, with an engine of the test's own."""

import random
from collections.abc import Callable, Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.conversations import OptionTalk, OptionTrie, TokenRequest, talk


class Engine:
    """Finishes some of the requests under way in each step, in any order."""

    def __init__(self, seed: int) -> None:
        self.under_way: dict[str, Any] = {}
        self.begun: list[int] = []
        self.most = 0
        self.chance = random.Random(seed)
        self.aborted: list[str] = []

    def abort_request(self, keys: list[str]) -> None:
        self.aborted = keys

    def add_request(self, key: str, prompt: dict[str, Any], sampling: Any, priority: int) -> None:
        assert key not in self.under_way
        assert priority == prompt["prompt_token_ids"][0], "what follows goes before conversations begun later"
        self.under_way[key] = prompt["prompt_token_ids"]
        self.begun.append(prompt["prompt_token_ids"][0])
        self.most = max(self.most, len(self.under_way))

    def step(self) -> list[Any]:
        outputs = []
        for key in [key for key in self.under_way if self.chance.random() < 0.3]:
            text = SimpleNamespace(token_ids=self.under_way.pop(key))
            outputs.append(SimpleNamespace(request_id=key, finished=True, outputs=[text]))
        if self.under_way:
            half = next(iter(self.under_way))
            outputs.append(SimpleNamespace(request_id=half, finished=False, outputs=[]))
        return outputs


class Chain:
    """Asks ``length`` requests, each after the last."""

    def __init__(self, number: int, length: int) -> None:
        self.number, self.left, self.got = number, length, 0

    def first(self) -> TokenRequest:
        return TokenRequest(np.array([self.number]), None, self.left)

    def take(self, about: int, output: Any) -> Sequence[TokenRequest]:
        assert about == self.left, "each request comes back with what it is about"
        assert output.token_ids == [self.number]
        self.got, self.left = self.got + 1, self.left - 1
        return [TokenRequest(np.array([self.number]), None, self.left)] if self.left else []


@pytest.fixture
def in_flight(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets how many requests are under way at once."""
    return lambda number: monkeypatch.setattr(conversations, "IN_FLIGHT", number)


def ask(chains: list[Chain], between: Callable[[], None] = lambda: None) -> tuple[Engine, list[Chain]]:
    engine = Engine(seed=3)
    llm: Any = SimpleNamespace(llm_engine=engine)
    talks: Any = iter(chains)
    return engine, list(chain.from_iterable(talk(llm, talks, between)))


def test_every_conversation_is_finished_once_and_begun_in_order(in_flight):
    in_flight(16)
    engine, finished = ask([])
    assert (finished, engine.begun) == ([], [])
    chains = [Chain(number, 1 + number % 3) for number in range(200)]
    engine, finished = ask(chains)
    assert sorted(chain.number for chain in finished) == list(range(200))
    assert all(chain.got == 1 + chain.number % 3 for chain in chains)
    assert list(dict.fromkeys(engine.begun)) == list(range(200))
    assert engine.most == 16


def test_prompts_go_in_as_others_are_finished(in_flight):
    """With calls that wait for their last prompt, the number under way falls to one before it rises again."""
    engine, seen = Engine(seed=1), []
    llm, chains = SimpleNamespace(llm_engine=engine), iter([Chain(n, 1) for n in range(500)])
    in_flight(50)
    steps = talk(llm, chains, lambda: seen.append(len(engine.under_way)))
    assert sum(map(len, steps)) == 500
    assert min(seen[:-20]) > 20


def test_what_is_raised_between_steps_ends_the_talk():
    def leave() -> None:
        raise SystemExit(143)

    with pytest.raises(SystemExit):
        ask([Chain(0, 1)], leave)


def test_what_is_under_way_when_a_talk_ends_is_taken_back(in_flight):
    in_flight(4)
    engine, chains = Engine(seed=2), iter([Chain(n, 2) for n in range(9)])
    talking = talk(SimpleNamespace(llm_engine=engine), chains, lambda: None)
    next(talking)
    talking.close()
    assert engine.aborted == list(engine.under_way)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({1: 0.6, 4: 0.3}, {2: 0.5, 3: 0.25}, [0.3, 0.15, 0.3]),
        ({1: 1e-9, 4: 0.9}, None, [0, 0, 0.9]),  # hardly any probability enters: not followed
    ],
)
def test_options_have_the_probabilities_of_the_branches_that_are_followed(first, second, found, monkeypatch):
    trie = OptionTrie.of({"a b": [(1, 2)], "a c": [(1, 3)], "d": [(4,)]}, "m")
    monkeypatch.setattr(conversations, "option_sampling", set)
    conversation = OptionTalk(0, np.array([9]), trie)

    def take(request: TokenRequest, p: dict[int, float]) -> Sequence[TokenRequest]:
        assert request.sampling == set(p)
        logprobs = {token: SimpleNamespace(logprob=np.log(share)) for token, share in p.items()}
        return conversation.take(request.about, SimpleNamespace(logprobs=[logprobs]))

    following = take(conversation.first(), first)
    assert [request.ids.tolist() for request in following] == ([[9, 1]] if second else [])
    if second:
        assert take(following[0], second) == []
    assert conversation.probabilities() == pytest.approx(found)


@pytest.mark.parametrize("prompt", range(40))
def test_all_options_together_lose_at_most_what_is_stated(monkeypatch, prompt):
    monkeypatch.setattr(conversations, "option_sampling", list)
    trie = OptionTrie.of({f"{a} {b} {c}": [(a, b, c)] for a in range(5) for b in (5, 6) for c in (7, 8)}, "m")

    def ask_all(most_cut: float) -> tuple[int, np.ndarray]:
        monkeypatch.setattr(conversations, "MOST_CUT", most_cut)
        conversation, asked = OptionTalk(0, np.array([9]), trie), 0
        waiting = [conversation.first()]
        while waiting:
            request, asked = waiting.pop(), asked + 1
            # The last share is that of all other tokens.
            p = np.random.default_rng([prompt, *request.about]).dirichlet([0.1] * (len(request.sampling) + 1))
            logs = [SimpleNamespace(logprob=log) for log in np.log(p + 1e-12)[:-1]]
            answer = SimpleNamespace(logprobs=[dict(zip(request.sampling, logs, strict=True))])
            waiting += conversation.take(request.about, answer)
        return asked, conversation.probabilities()

    (few, cut), (every, whole) = ask_all(1e-4), ask_all(0.0)
    assert few < every == 1 + 5 + 10
    assert (whole >= cut).all()
    assert whole.sum() - cut.sum() <= 1e-4 + 1e-6
