"""A model that reasons, under real vLLM: trace up to the budget, then answer, as transformers generates both."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from cinorms.core.errors import ConfigError
from cinorms.inference.journal import Journal
from cinorms.inference.journal_files import read_traces
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec

from .conftest import spec_of
from .job import CHUNK
from .jobs import Jobs

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


def questions(build: Callable[[Spec], Questions], spec: Spec) -> tuple[Questions, list[int]]:
    found = build(spec)
    return found, list(range(0, len(found.grid), 29))


def test_trace_and_answer_are_those_that_transformers_generates(session, thinking, checkpoint, questions_of):
    spec = spec_of(thinking, reasoning=ON)
    replies = session.ask(spec)
    asked, some = questions(questions_of, spec)
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
    off = session.ask(spec_of(thinking, reasoning={**ON, "effort": "none", "budget": 0}))
    plain = session.ask(spec_of(thinking))
    assert (off["text"] == plain["text"]).all()
    assert (off["n_trace_tokens"] == 0).all()
    assert set(off["trace_status"]) == {"none"}
    assert "n_trace_tokens" not in plain


def test_a_trace_ends_at_its_mark_wherever_tokens_end(session, checkpoint):
    replies = session.ask(spec_of(checkpoint, reasoning=BEFORE_THE_WORD))
    plain = session.ask(spec_of(checkpoint))
    named = plain["text"].str.contains("acceptable") & (plain["finish_reason"] == "stop")
    assert named.any()
    assert set(replies.loc[named, "trace_status"]) == {"whole"}
    before = plain["text"].str.partition("acceptable")[0]
    assert all(before[at].startswith(replies["trace"][at]) for at in np.flatnonzero(named))
    assert set(replies.loc[plain["text"] == "neutral", "trace_status"]) <= {"unclosed"}


def test_a_seeded_trace_depends_on_its_question_alone(session, thinking):
    spec = spec_of(thinking, reasoning=ON, temperature=1.2)
    one, other = session.ask(spec), session.ask(spec, chunk=29)
    assert (one["trace"] == other["trace"]).all()
    assert (one["text"] == other["text"]).all()


def test_a_budget_that_does_not_fit_is_refused_before_anything_is_loaded(session, thinking, questions_of):
    spec = spec_of(thinking, reasoning={**ON, "budget": 5_000})
    found = questions_of(spec)

    def keep(chunk: Any) -> None:
        raise AssertionError("nothing is asked")

    with pytest.raises(ConfigError, match="an answer with its trace may have 50"):
        session.engine(spec).ask(found, np.arange(4), keep)


KILLS = 6


@pytest.fixture
def jobs(tmp_path: Path, thinking: Path, flows: pd.DataFrame, templates: tuple[str, ...]) -> Iterator[Jobs]:
    """Return jobs on the tiny model, which writes a trace before each answer."""
    found = Jobs(tmp_path, spec_of(thinking, reasoning=ON), flows, templates)
    yield found
    found.close()


def test_a_job_killed_while_it_writes_traces_keeps_a_trace_with_every_reply(tmp_path, jobs, questions_of):
    chance, out, asked = random.Random(5), tmp_path / "main/tiny/1-of-1.parquet", questions_of(jobs.spec)

    def traces(of: Path) -> dict[int, str]:
        parts = read_traces(Journal.at(of.parent / ".journal", jobs.spec).folder, asked.prompts)
        return {int(at): trace for part in parts for at, trace in part.itertuples(index=False)}

    for _ in range(KILLS):
        before = jobs.n_asked()
        pid = jobs.start(out)
        # Each question is two requests, its trace and then its answer: some kills fall between them.
        jobs.wait_for(before + CHUNK * chance.randint(1, 6))
        time.sleep(chance.uniform(0, 0.05))
        os.kill(pid, signal.SIGKILL)
        assert jobs.end() == -signal.SIGKILL, jobs.log.read_text()
        journal = Journal.at(out.parent / ".journal", jobs.spec)
        replies = set()
        if journal.folder.exists():
            journal._settle()  # as the next job does: what a slow job has only logged has its trace there
            replies = set(journal.read()["prompt"].to_pylist())
        assert len(traces(out)) == len(replies)
    assert 0 < len(replies) < len(asked.grid)
    jobs.start(out)
    assert jobs.end() == 0, jobs.log.read_text()
    assert len(asked.grid) < jobs.n_asked() <= 2 * (len(asked.grid) + CHUNK * KILLS)
    whole = tmp_path / "whole/tiny/1-of-1.parquet"
    jobs.start(whole)
    assert jobs.end() == 0, jobs.log.read_text()
    assert out.read_bytes() == whole.read_bytes()
    assert len(traces(out)) == len(asked.grid)
    assert traces(out) == traces(whole)
