"""A model that reasons, under real vLLM: trace up to the budget, then answer, as transformers generates both."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cinorms.core.errors import ConfigError
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request

from .conftest import request_of

#: The tiny model's template, which opens a trace where it is told to.
OPENS = "{% if add_generation_prompt and enable_thinking %}<think>\n{% endif %}"
ON = {"effort": "high", "budget": 5, "begin": "<think>\n", "end": "</think>\n", "switch": "enable_thinking"}
#: The model writes an option; whatever comes before the word counts as its trace.
BEFORE_THE_WORD = {"effort": "high", "budget": 8, "begin": "<|assistant|>", "end": "acceptable"}


@pytest.fixture
def thinking(copied: Path) -> Path:
    """Return the tiny model with a chat template that can open a trace."""
    tokenizer = AutoTokenizer.from_pretrained(copied)
    tokenizer.chat_template += OPENS
    tokenizer.save_pretrained(copied)
    return copied


def questions(build: Callable[[Request], Questions], request: Request) -> tuple[Questions, list[int]]:
    found = build(request)
    return found, list(range(0, len(found.grid), 29))


def test_trace_and_answer_are_those_that_transformers_generates(session, thinking, checkpoint, questions_of):
    request = request_of(thinking, reasoning=ON)
    replies = session.ask(request)
    asked, some = questions(questions_of, request)
    tokenizer = AutoTokenizer.from_pretrained(thinking)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    end = tokenizer.eos_token_id
    closing = tokenizer("</think>\n", add_special_tokens=False)["input_ids"]

    def go_on(ids: list[int], n: int) -> list[int]:
        found = model.generate(torch.tensor([ids]), do_sample=False, max_new_tokens=n)
        return list(found[0, len(ids) :].tolist())

    for at in some:
        text = tokenizer.apply_chat_template(
            asked.chat(at), tokenize=False, add_generation_prompt=True, enable_thinking=True
        )
        assert text.endswith("<think>\n")
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        trace = go_on(ids, 5)
        status = "unclosed" if trace[-1] == end else "cut"
        trace = trace[:-1] if status == "unclosed" else trace
        answer = go_on([*ids, *trace, *closing], 8)
        row = replies.loc[at]
        assert (row["trace_status"], row["n_trace_tokens"]) == (status, len(trace))
        assert row["trace"] == tokenizer.decode(trace, skip_special_tokens=True)
        assert row["text"] == tokenizer.decode(answer, skip_special_tokens=True)
        assert row["n_prompt_tokens"] == len(ids)


def test_no_reasoning_is_the_prompt_without_a_trace(session, thinking):
    off = session.ask(request_of(thinking, reasoning={**ON, "effort": "none", "budget": 0}))
    plain = session.ask(request_of(thinking))
    assert (off["text"] == plain["text"]).all()
    assert (off["n_trace_tokens"] == 0).all()
    assert set(off["trace_status"]) == {"none"}
    assert "n_trace_tokens" not in plain


def test_a_trace_ends_at_its_mark_wherever_tokens_end(session, checkpoint):
    replies = session.ask(request_of(checkpoint, reasoning=BEFORE_THE_WORD))
    plain = session.usual(checkpoint)
    named = plain["text"].str.contains("acceptable") & (plain["finish_reason"] == "stop")
    assert named.any()
    assert set(replies.loc[named, "trace_status"]) == {"whole"}
    before = plain["text"].str.partition("acceptable")[0]
    assert all(before[at].startswith(replies["trace"][at]) for at in np.flatnonzero(named))
    assert set(replies.loc[plain["text"] == "neutral", "trace_status"]) <= {"unclosed"}


def test_a_budget_that_does_not_fit_is_refused_before_anything_is_loaded(session, thinking, questions_of):
    request = request_of(thinking, reasoning={**ON, "budget": 5_000})
    found = questions_of(request)

    def keep(at: int, reply: Any) -> None:
        raise AssertionError("nothing is asked")

    with pytest.raises(ConfigError, match="an answer with its trace may have 50"):
        session.engine(request).ask(found, np.arange(4), keep)
