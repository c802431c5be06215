"""Models that reason, behind an endpoint: traces apart from answers, in every way that servers send them."""

import signal
import time
from typing import Any

import pandas as pd
import pytest

from cinorms.answers.read import read_responses
from cinorms.inference.journal_files import read_traces
from cinorms.inference.questions import Questions

from ..scales import ACCEPTABILITY
from .conftest import Shard, spec, variants, vignettes
from .server import answer_to
from .test_kill import files, job

OPENAI = {"reasoning": {"effort": "low", "extra_tokens": 500}, "temperature": None}
SERVED = {"reasoning": {"effort": "high", "extra_tokens": 500, "switch": "enable_thinking"}}
OFF = {"reasoning": {"effort": "none", "extra_tokens": 0, "switch": "enable_thinking"}}
TRACE = "It might be neutral, or strongly acceptable. " * 20


def says(content: str | None = None, count: int | None = None, finish: str = "stop", **message: Any) -> Any:
    """Return what makes an endpoint's replies those of a model that reasons."""

    def change(asked: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        choice = reply["choices"][0]
        text = choice["message"]["content"]
        choice["message"] |= message
        choice["message"]["content"] = text if content is None else content.replace("ANSWER", text)
        choice["finish_reason"] = finish
        reply["usage"]["completion_tokens"] = 204
        if count is not None:
            reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": count}
        return reply

    return change


def asked(shard: Shard, reply: Any, changes: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the responses to a shard, the answers in them, and the traces in the journal, in their order."""
    shard.flows, shard.changes, shard.endpoint.reply = vignettes(3), changes, reply
    responses = shard.ask()
    questions = Questions.of(shard.spec, shard.flows, shard.variants)
    traces: list[str] = [""] * shard.n
    for part in read_traces(shard.journal().folder, questions.prompts):
        for at, trace in part.itertuples(index=False):
            traces[at] = trace
    return responses, read_responses(responses, ACCEPTABILITY), traces


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_trace_beside_the_answer_is_kept_apart(shard, name):
    responses, answers, traces = asked(shard, says(count=200, **{name: TRACE}), SERVED)
    questions = Questions.of(shard.spec, shard.flows, shard.variants)
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(shard.n)]
    for column, value in (("n_trace_tokens", 200), ("trace_status", "whole"), ("n_output_tokens", 204)):
        assert set(responses[column]) == {value}
    assert traces == [TRACE] * shard.n
    assert (answers["status"] == "ok").all()
    assert set(answers["n_trace_tokens"]) == {200}


@pytest.mark.parametrize("start", ["<think>", ""], ids=["between marks", "opened by a template"])
def test_a_trace_in_the_text_is_taken_out_of_it_and_measured(shard, start):
    responses, answers, traces = asked(shard, says(f"{start}{TRACE}</think>\n\nANSWER"), SERVED)
    assert not responses["text"].str.contains("think").any()
    assert responses["n_trace_tokens"].between(191, 203).all()
    assert traces == [TRACE] * shard.n
    assert (answers["status"] == "ok").all()


@pytest.mark.parametrize(
    ("reply", "changes"),
    [
        (says("", 500, "length"), OPENAI),
        (says("", 500, "length", reasoning_content=TRACE), SERVED),
        (says(f"<think>{TRACE}", finish="length"), SERVED),
    ],
)
def test_a_trace_cut_short_is_a_status_and_its_words_are_no_answer(shard, reply, changes):
    responses, answers, _ = asked(shard, reply, changes)
    assert set(responses["trace_status"]) == {"cut"}
    assert set(answers["status"]) == {"trace_cut"}
    assert answers["level"].isna().all()
    assert set(responses["text"]) == {""}


def test_an_answer_cut_after_a_whole_trace_is_no_cut_trace(shard):
    responses, answers, _ = asked(shard, says("Based on the", 100, "length", reasoning=TRACE), SERVED)
    assert set(responses["trace_status"]) == {"whole"}
    assert set(answers["status"]) == {"truncated"}


def test_what_an_endpoint_does_not_say_is_missing_and_not_0(shard):
    responses, answers, traces = asked(shard, says(), OPENAI)
    assert responses["n_trace_tokens"].isna().all()
    assert responses["trace_status"].isna().all()
    assert traces == [""] * shard.n
    assert (answers["status"] == "ok").all()


def test_no_reasoning_is_a_trace_of_no_tokens(shard):
    responses, _, _ = asked(shard, says(), OFF)
    assert set(responses["n_trace_tokens"]) == {0}
    assert set(responses["trace_status"]) == {"none"}
    assert shard.endpoint.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert shard.endpoint.bodies[0]["max_tokens"] == 100


def test_the_budget_is_room_beside_the_answer(shard):
    changes = {"reasoning": {**SERVED["reasoning"], "budget_field": "thinking_token_budget"}}
    asked(shard, says(count=1, reasoning="x"), changes)
    body = {name: value for name, value in shard.endpoint.bodies[0].items() if name != "messages"}
    assert body == {
        "model": "gpt-planted",
        "max_tokens": 600,
        "temperature": 0,
        "chat_template_kwargs": {"enable_thinking": True},
        "thinking_token_budget": 500,
    }


@pytest.mark.parametrize(
    "message",
    [
        {"reasoning_content": 7},
        {"reasoning": {"a": [1]}},
        {"reasoning_content": None, "reasoning": []},
        {"reasoning_content": "\ud800 half a letter", "reasoning": "x" * 100_000},
    ],
)
def test_odd_traces_cost_no_answer(shard, message):
    responses, answers, _ = asked(shard, says(**message), SERVED)
    assert (responses["finish_reason"] == "stop").all()
    assert (answers["status"] == "ok").all()


def test_a_model_that_does_not_reason_has_its_columns_as_before(shard):
    responses, answers, _ = asked(shard, says(reasoning_content=TRACE, count=3), {})
    assert not {"n_trace_tokens", "trace_status"} & {*responses, *answers}
    assert "trace_cut" not in answers["status"].cat.categories
    assert not (shard.journal().folder / "traces").exists()


def test_a_killed_job_keeps_traces_and_asks_no_prompt_twice_that_was_kept(tmp_path, endpoint):
    """Five jobs killed at any moment: every reply in the journal has its trace, and the bytes are the same."""
    endpoint.delay, endpoint.reply = 0.02, says(count=200, reasoning=TRACE)
    of = spec(endpoint, **SERVED)
    given = files(tmp_path, of, vignettes(60), variants(), limits={"concurrency": 8})
    shard = Shard(tmp_path, endpoint, vignettes(60), variants(), SERVED)
    for number in range(6):
        running = job(given)
        assert running.stdout is not None
        running.stdout.readline()
        if number < 5:
            time.sleep(0.1 + 0.1 * number)
            running.send_signal(signal.SIGKILL)
        running.wait(timeout=900)
        running.stdout.close()
    assert running.returncode == 0
    assert len(endpoint.asked) == 360
    assert sum(endpoint.asked.values()) - 360 <= 5 * 8
    journal = shard.journal()
    assert journal.read().num_rows >= 360
    kept = {path.name for path in (journal.folder / "parts").glob("*.parquet")}
    assert kept <= {path.name for path in (journal.folder / "traces").glob("*.parquet")}
    questions = Questions.of(of, vignettes(60), variants())
    assert sum(len(part) for part in read_traces(journal.folder, questions.prompts)) == 360
