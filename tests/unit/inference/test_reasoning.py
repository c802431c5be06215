"""Traces and answers told apart, in texts that models write; the two requests of a model that reasons under vLLM."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.core.errors import ConfigError
from cinorms.inference.engines.openai.replies import split_trace
from cinorms.inference.engines.vllm import offline
from cinorms.inference.engines.vllm.conversations import Closing, ReasoningWay, TextTalk, option_sampling
from cinorms.inference.engines.vllm.tokenise import Tokeniser
from cinorms.inference.request import ReasoningLevel

from ...asking import make_questions, make_request, make_responses
from ...scales import ACCEPTABILITY


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<think>why</think>neutral", ("why", "neutral", True)),
        ("\n <think>\nwhy\n</think>\n\nneutral", ("\nwhy\n", "\n\nneutral", True)),
        ("why</think>neutral", ("why", "neutral", True)),
        ("neutral", (None, "neutral", True)),
        ("<think>why", ("why", "", False)),
        ("<think></think>neutral", ("", "neutral", True)),
        ("<think>a</think>the mark </think> is neutral", ("a", "the mark </think> is neutral", True)),
        ("Neutral. I write <think> and </think>.", (None, "Neutral. I write <think> and </think>.", True)),
        ("", (None, "", True)),
        ("</think>", ("", "", True)),
    ],
)
def test_a_trace_is_what_stands_before_its_first_end(text, found):
    assert split_trace(text, "<think>\n", "</think>\n\n") == found


def test_a_condition_is_a_word():
    assert [ReasoningLevel("none", 0).shown, ReasoningLevel("low", 500).shown] == ["none", "low 500"]


@pytest.mark.parametrize(
    ("text", "status", "finish", "read"),
    [
        ("neutral", "whole", "stop", ("ok", 0)),
        ("neutral", "cut", "stop", ("ok", 0)),
        ("", "cut", "length", ("trace_cut", None)),
        (" \n", "cut", "stop", ("trace_cut", None)),
        ("", "whole", "stop", ("empty", None)),
        ("", None, "stop", ("empty", None)),
        ("", "whole", "length", ("truncated", None)),
        ("neutral</think>", "whole", "stop", ("ok", 0)),
        ("</think></think> neutral", "whole", "stop", ("ok", 0)),
        ("<think>once more: neutral", "whole", "length", ("truncated", None)),
        ("<think>more</think>neutral", "whole", "stop", ("ok", 0)),
    ],
)
def test_stray_marks_do_not_hide_an_answer(text, status, finish, read):
    traced = {"n_trace_tokens": pd.array([3], dtype="Int32"), "trace_status": pd.Categorical([status])}
    found = read_responses(make_responses([text], finish, **traced), ACCEPTABILITY).iloc[0]
    assert (found["status"], None if pd.isna(found["level"]) else found["level"]) == read


# --- vLLM: two requests


class Letters:
    """A tokenizer whose tokens are letters, and one for the closing mark if it has one; 0 ends a turn."""

    chat_template, bos_token, all_special_ids, eos_token_id = "x", None, (0,), 0

    def __init__(self, one_token: bool) -> None:
        self.one_token = one_token

    def __call__(self, texts: Any, **settings: Any) -> dict[str, Any]:
        if isinstance(texts, str):
            return {"input_ids": self.ids(texts)}
        return {"input_ids": [self.ids(text) for text in texts]}

    def ids(self, text: str) -> list[int]:
        return [ord(c) for c in (text.replace("</think>", "\x01") if self.one_token else text)]

    def batch_decode(self, ids: Any, **settings: Any) -> list[str]:
        return ["".join(chr(i) for i in each if i).replace("\x01", "</think>") for each in ids]


@pytest.fixture(params=[True, False], ids=["mark is a token", "mark is a text"])
def tokeniser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Tokeniser:
    """Return a tokeniser, with a vLLM that only notes its settings."""
    vllm, params = ModuleType("vllm"), ModuleType("vllm.sampling_params")

    class SamplingParams(SimpleNamespace):
        __struct_fields__ = ("stream_interval",)

    vllm.SamplingParams = SamplingParams
    params.RequestOutputKind = SimpleNamespace(CUMULATIVE=1, FINAL_ONLY=2)
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", params)
    return Tokeniser(Letters(request.param), "chat_template", "m")


REASONING = {"effort": "high", "budget": 20, "begin": "<think>\n", "end": "</think>\n\n", "switch": "thinks"}


def begin(tokeniser: Tokeniser, seed: int | None = None) -> TextTalk:
    request = make_request("vllm", reasoning=REASONING, max_tokens=9, temperature=0)
    reasoning = ReasoningWay.of(request)
    ids = np.array([65, 66], dtype=np.int32)
    return TextTalk(7, ids, request, seed, Closing.of(reasoning, tokeniser))


def output(tokeniser: Tokeniser, text: str, finish: str, ended: bool = False, mark: bool = False) -> Any:
    one = tokeniser.tokenizer.one_token
    reason = (1 if one else "</think>") if mark else None
    ids = tokeniser.tokenizer.ids(text) + ([0] if ended else [])
    return SimpleNamespace(token_ids=ids, finish_reason=finish, stop_reason=reason)


def test_a_trace_that_ends_in_its_budget_goes_on_with_the_answer(tokeniser):
    talk = begin(tokeniser, 5)
    first = talk.first()
    assert first.sampling.max_tokens == 20
    (second,) = talk.take(first.about, output(tokeniser, "why not</think>", "stop", mark=True))
    assert tokeniser.decode([second.ids.tolist()]) == ["ABwhy not</think>"]
    assert (second.sampling.max_tokens, first.sampling.seed, second.sampling.seed) == (9, 5, 6)
    assert tokeniser.decode([talk.trace_ids]) == ["why not"]
    assert talk.trace_status == "whole"
    assert talk.take(second.about, output(tokeniser, "neutral", "stop")) == ()
    assert tokeniser.decode([talk.token_ids]) == ["neutral"]
    mark = 1 if tokeniser.tokenizer.one_token else 8
    assert talk.n_output_tokens == 7 + mark + 7


@pytest.mark.parametrize(
    ("text", "finish", "status"), [("x" * 20, "length", "cut"), ("why", "stop", "unclosed")]
)
def test_a_trace_that_its_budget_or_the_end_of_a_turn_cuts_is_closed_and_answered(
    tokeniser, text, finish, status
):
    talk = begin(tokeniser)
    (second,) = talk.take("trace", output(tokeniser, text, finish, ended=finish == "stop"))
    assert tokeniser.decode([second.ids.tolist()]) == [f"AB{text}</think>\n\n"]
    assert (talk.trace_status, len(talk.trace_ids)) == (status, len(text))
    assert talk.take(second.about, output(tokeniser, "neutral", "stop")) == ()
    assert tokeniser.decode([talk.token_ids]) == ["neutral"]


def test_no_request_asks_for_stated_tokens_beside_the_likeliest(tokeniser):
    """In vLLM stated tokens turn the log-probabilities of the likeliest, asked by others, into -inf."""
    option_sampling.cache_clear()
    options, text = option_sampling((1, 2)), begin(tokeniser).first().sampling
    option_sampling.cache_clear()
    assert (options.logprob_token_ids, options.max_tokens) == ([1, 2], 1)
    assert not {"logprobs", "prompt_logprobs"} & {*vars(options), *vars(text)}


def test_a_prompt_its_trace_and_its_answer_must_fit(tokeniser, tmp_path, monkeypatch):
    plain = Tokeniser(tokeniser.tokenizer, "none", "m")
    monkeypatch.setattr(offline.Tokeniser, "load", lambda *given: plain)
    (tmp_path / "config.json").write_text("{}")
    questions = make_questions(1, engine="vllm", reasoning=REASONING, max_tokens=9, wrap="none")
    rows, mark = np.arange(4), len(tokeniser.mark(REASONING["end"]))
    opened = max(len(questions.chat(at)[0]["content"]) for at in rows) + len(REASONING["begin"])
    enough = opened + REASONING["budget"] + mark + 9
    offline.Prompts(questions, rows, tmp_path, enough)
    with pytest.raises(ConfigError, match=f"an answer with its trace may have .* set it to {enough} or more"):
        offline.Prompts(questions, rows, tmp_path, enough - 1)
    (tmp_path / "config.json").write_text(f'{{"max_position_embeddings": {enough - 1}}}')
    with pytest.raises(ConfigError, match="lower max_tokens or the budget, or ask in shorter wordings"):
        offline.Prompts(questions, rows, tmp_path, enough)


def test_a_prompt_is_opened_once_and_closed_where_no_trace_is_asked_for():
    on = ReasoningWay(**REASONING)
    assert on.begun("user: x assistant:") == "user: x assistant:<think>\n"
    assert on.begun("assistant: <think>\n") == "assistant: <think>\n"
    assert on.variables() == {"thinks": True}
    off = ReasoningWay(**{**REASONING, "effort": "none", "budget": 0})
    assert (off.begun("assistant:"), off.variables()) == ("assistant:", {"thinks": False})
    bare = ReasoningWay(**{**REASONING, "effort": "none", "budget": 0, "switch": None})
    assert bare.begun("assistant:") == "assistant:<think>\n</think>\n\n"
    worded = ReasoningWay(**{**REASONING, "effort_variable": "reasoning_effort"})
    assert worded.variables() == {"thinks": True, "reasoning_effort": "high"}


@pytest.mark.parametrize(("bos", "begin"), [(None, ""), (65, ""), (97, "<s>")])
def test_a_prompt_begins_as_the_tokenizer_begins_every_text(bos, begin):
    letters = Letters(False)
    letters.bos_token, letters.bos_token_id = "<s>" if bos else None, bos
    assert Tokeniser(letters, "chat_template", "m")._begin == begin
