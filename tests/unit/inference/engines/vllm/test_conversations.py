"""What a model is asked about one prompt, and feeding an engine continuously, with an engine of the tests' own."""

from collections.abc import Sequence
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cinorms.core.errors import ConfigError
from cinorms.inference.engines.vllm import conversations
from cinorms.inference.engines.vllm.conversations import (
    Closing,
    OptionTalk,
    OptionTrie,
    ReasoningWay,
    TextTalk,
    TokenRequest,
    of_one_request,
    spellings,
    talk,
)
from cinorms.inference.engines.vllm.tokenise import Tokeniser

from .....asking import make_request
from .conftest import REASONING, Engine, Letters, SamplingParams

# --- The engine is fed


class Chain:
    """Asks ``length`` requests, each after the last."""

    def __init__(self, number: int, length: int) -> None:
        self.number, self.left, self.got = number, length, 0

    def first(self) -> TokenRequest:
        return TokenRequest(np.array([self.number]), None, self.left)

    def take(self, about: int, output: Any) -> Sequence[TokenRequest]:
        assert (about, output) == (self.left, [self.number]), "each request comes back with what it is about"
        self.got, self.left = self.got + 1, self.left - 1
        return [self.first()] if self.left else []


def test_every_conversation_is_finished_once_and_prompts_go_in_as_others_are_finished(monkeypatch):
    monkeypatch.setattr(conversations, "IN_FLIGHT", 50)
    engine, left = Engine(lambda ids, sampling: ids), []
    assert list(talk(engine, iter([]), lambda: None)) == []
    chains: Any = [Chain(number, 1 + number % 3) for number in range(300)]
    steps = list(talk(engine, iter(chains), lambda: left.append(len(engine.under_way)), "adapter"))
    assert all(steps)
    assert sorted(each.number for each in chain(*steps)) == list(range(300))
    assert all(each.got == 1 + each.number % 3 for each in chains)
    assert list(dict.fromkeys(request.ids[0] for request in engine.begun)) == list(range(300))
    # What follows goes before conversations that are begun later.
    assert all((request.priority, request.lora) == (request.ids[0], "adapter") for request in engine.begun)
    assert engine.most == 50
    # Where calls wait for their last prompt, the number under way falls to one before it rises again.
    assert min(left[:-20]) > 20
    assert not engine.aborted


def test_what_is_raised_between_steps_ends_the_talk_and_takes_back_what_is_under_way():
    def leave() -> None:
        raise SystemExit(143)

    engine, chains = Engine(lambda ids, sampling: ids), [Chain(number, 2) for number in range(9)]
    with pytest.raises(SystemExit):
        list(talk(engine, iter(chains), leave))  # type: ignore[arg-type]
    assert engine.aborted == list(engine.under_way) != []


# --- Options


def test_options_are_written_in_four_ways_and_none_is_the_beginning_of_another():
    assert spellings("so so") == ["so so", " so so", "So so", " So so"]
    trie = OptionTrie.of({"a": [(1, 2), None, (1, 2)], "b": [(1, 3), (4,)]}, "m")
    assert (trie.ways, trie.options, trie.n_options) == (((1, 2), (1, 3), (4,)), (0, 1, 1), 2)
    with pytest.raises(
        ConfigError, match="'m': its tokenizer cannot write 'b' after the prompt; use readout: text"
    ):
        OptionTrie.of({"a": [(1,)], "b": [None]}, "m")
    for other in ((1, 2), (1, 2, 3)):
        with pytest.raises(
            ConfigError, match="'m': one option is the beginning of another; use readout: text"
        ):
            OptionTrie.of({"a": [(1,)], "b": [other]}, "m")


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({1: 0.6, 4: 0.3}, {2: 0.5, 3: 0.25}, [0.3, 0.15, 0.3]),
        ({1: 1e-9, 4: 0.9}, None, [0, 0, 0.9]),  # hardly any probability enters: not followed
    ],
)
@pytest.mark.usefixtures("platform")
def test_options_have_the_probabilities_of_the_branches_that_are_followed(first, second, found):
    trie = OptionTrie.of({"a b": [(1, 2)], "a c": [(1, 3)], "d": [(4,)]}, "m")
    asked = OptionTalk(0, np.array([9]), trie)

    def take(request: TokenRequest, p: dict[int, float]) -> Sequence[TokenRequest]:
        # Nothing asks for `logprobs`: beside stated tokens vLLM turns them, and those of other requests, into -inf.
        stated = {"temperature": 0, "max_tokens": 1, "detokenize": False, "output_kind": 2}
        assert vars(request.sampling) == {**stated, "logprob_token_ids": list(p)}
        logprobs = {token: SimpleNamespace(logprob=np.log(share)) for token, share in p.items()}
        return asked.take(request.about, SimpleNamespace(logprobs=[logprobs]))

    following = take(asked.first(), first)
    assert [request.ids.tolist() for request in following] == ([[9, 1]] if second else [])
    if second:
        assert take(following[0], second) == []
    assert asked.probabilities() == pytest.approx(found)
    assert (asked.finish_reason, asked.n_output_tokens, asked.trace_status) == ("stop", 0, "none")


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


# --- Text, and a trace before it


@pytest.fixture(params=[True, False], ids=["mark is a token", "mark is a text"])
def tokeniser(request: pytest.FixtureRequest, platform: Any) -> Tokeniser:
    return Tokeniser(Letters(request.param), "chat_template", "m")


def begin(tokeniser: Tokeniser, seed: int | None = None, reasoning: Any = REASONING) -> TextTalk:
    request = make_request("vllm", reasoning=reasoning, max_tokens=9, temperature=0.5)
    way = ReasoningWay.of(request)
    return TextTalk(7, np.array([65, 66]), request, seed, way and Closing.of(way, tokeniser))


def output(tokeniser: Tokeniser, text: str, finish: str, ended: bool = False, mark: bool = False) -> Any:
    reason = (1 if tokeniser.tokenizer.one_token else "</think>") if mark else None
    ids = tokeniser.tokenizer.ids(text) + ([0] if ended else [])
    return SimpleNamespace(token_ids=ids, finish_reason=finish, stop_reason=reason)


COMMON = {"temperature": 0.5, "output_kind": 2, "skip_clone": True}


def test_a_model_that_does_not_reason_is_asked_once(tokeniser):
    asked = begin(tokeniser, 5, None)
    request = asked.first()
    assert (request.ids.tolist(), request.about) == ([65, 66], "answer")
    assert vars(request.sampling) == {**COMMON, "max_tokens": 9, "seed": 5, "detokenize": False}
    assert asked.take("answer", output(tokeniser, "neutral", "length")) == ()
    assert (tokeniser.decode([asked.token_ids]), asked.finish_reason) == (["neutral"], "length")
    assert (asked.trace_status, asked.n_output_tokens) == ("none", 7)


def test_a_trace_that_ends_in_its_budget_goes_on_with_the_answer(tokeniser):
    asked = begin(tokeniser, 2**31 - 1)
    first = asked.first()
    one = tokeniser.tokenizer.one_token
    stops = {"stop": ["</think>"], "include_stop_str_in_output": True}
    stops = {"stop_token_ids": [1]} if one else stops
    stated = {**COMMON, **stops, "max_tokens": 20, "seed": 2**31 - 1, "detokenize": not one}
    assert vars(first.sampling) == stated
    (second,) = asked.take(first.about, output(tokeniser, "why not</think>", "stop", mark=True))
    assert tokeniser.decode([second.ids.tolist()]) == ["ABwhy not</think>"]
    assert (second.sampling.max_tokens, second.sampling.seed) == (9, 0)
    assert (tokeniser.decode([asked.trace_ids]), asked.trace_status) == (["why not"], "whole")
    assert asked.take(second.about, output(tokeniser, "neutral", "stop")) == ()
    assert tokeniser.decode([asked.token_ids]) == ["neutral"]
    assert asked.n_output_tokens == 7 + (1 if one else 8) + 7


@pytest.mark.parametrize(
    ("text", "finish", "status"),
    [("x" * 20, "length", "cut"), ("why", "stop", "unclosed"), ("", "stop", "unclosed")],
)
def test_a_trace_that_its_budget_or_the_end_of_a_turn_cuts_is_closed_and_answered(
    tokeniser, text, finish, status
):
    asked = begin(tokeniser)
    (second,) = asked.take("trace", output(tokeniser, text, finish, ended=finish == "stop" and bool(text)))
    assert (tokeniser.decode([second.ids.tolist()]), second.sampling.seed) == (
        [f"AB{text}</think>\n\n"],
        None,
    )
    assert (asked.trace_status, len(asked.trace_ids)) == (status, len(text))


def test_parameters_of_an_older_vllm_are_not_told_to_stay_uncopied(platform, monkeypatch):
    assert of_one_request() == {"output_kind": 2, "skip_clone": True}
    monkeypatch.setattr(SamplingParams, "__struct_fields__", ("temperature",))  # vLLM 0.24 would refuse it
    assert of_one_request() == {"output_kind": 2}


def test_a_prompt_is_opened_once_and_closed_where_no_trace_is_asked_for():
    on = ReasoningWay(**REASONING)
    assert on.begun("user: x assistant:") == "user: x assistant:<think>\n"
    assert on.begun("assistant: <think>\n") == "assistant: <think>\n"
    assert on.variables() == {"thinks": True}
    off = ReasoningWay(**{**REASONING, "effort": "none", "budget": 0})
    assert (off.begun("assistant:"), off.variables()) == ("assistant:", {"thinks": False})
    bare = ReasoningWay(**{**REASONING, "effort": "none", "budget": 0, "switch": None})
    assert (bare.begun("assistant:"), bare.variables()) == ("assistant:<think>\n</think>\n\n", {})
    worded = ReasoningWay(**{**REASONING, "effort_variable": "reasoning_effort"})
    assert worded.variables() == {"thinks": True, "reasoning_effort": "high"}
