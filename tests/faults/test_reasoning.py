"""Models that reason, behind an endpoint: traces apart from answers, in every way that servers send them."""

from typing import Any

import pandas as pd
import pytest

from cinorms.answers.read import read_responses

from ..scales import ACCEPTABILITY
from .conftest import Asked, vignettes
from .server import answer_to
from .test_kill import Jobs

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


def replies(
    asked: Asked, reply: Any, changes: dict[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the responses, the answers in them, and the traces in the store, in their order."""
    asked.flows, asked.changes, asked.endpoint.reply = vignettes(3), changes, reply
    responses = asked.ask()
    traces = dict(asked.store.traces(asked.questions.keys))
    return responses, read_responses(responses, ACCEPTABILITY), [traces.get(at, "") for at in range(asked.n)]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_trace_beside_the_answer_is_kept_apart(asked, name):
    responses, answers, traces = replies(asked, says(count=200, **{name: TRACE}), SERVED)
    questions = asked.questions
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(asked.n)]
    for column, value in (("n_trace_tokens", 200), ("trace_status", "whole"), ("n_output_tokens", 204)):
        assert set(responses[column]) == {value}
    assert traces == [TRACE] * asked.n
    assert (answers["status"] == "ok").all()
    assert set(answers["n_trace_tokens"]) == {200}


@pytest.mark.parametrize("start", ["<think>", ""], ids=["between marks", "opened by a template"])
def test_a_trace_in_the_text_is_taken_out_of_it_and_measured(asked, start):
    responses, answers, traces = replies(asked, says(f"{start}{TRACE}</think>\n\nANSWER"), SERVED)
    assert not responses["text"].str.contains("think").any()
    assert responses["n_trace_tokens"].between(191, 203).all()
    assert traces == [TRACE] * asked.n
    assert (answers["status"] == "ok").all()


@pytest.mark.parametrize(
    ("reply", "changes"),
    [
        (says("", 500, "length"), OPENAI),
        (says("", 500, "length", reasoning_content=TRACE), SERVED),
        (says(f"<think>{TRACE}", finish="length"), SERVED),
    ],
)
def test_a_trace_cut_short_is_a_status_and_its_words_are_no_answer(asked, reply, changes):
    responses, answers, _ = replies(asked, reply, changes)
    assert set(responses["trace_status"]) == {"cut"}
    assert set(answers["status"]) == {"trace_cut"}
    assert answers["level"].isna().all()
    assert set(responses["text"]) == {""}


def test_an_answer_cut_after_a_whole_trace_is_no_cut_trace(asked):
    responses, answers, _ = replies(asked, says("Based on the", 100, "length", reasoning=TRACE), SERVED)
    assert set(responses["trace_status"]) == {"whole"}
    assert set(answers["status"]) == {"truncated"}


def test_what_an_endpoint_does_not_say_is_missing_and_not_0(asked):
    responses, answers, traces = replies(asked, says(), OPENAI)
    assert responses["n_trace_tokens"].isna().all()
    assert responses["trace_status"].isna().all()
    assert traces == [""] * asked.n
    assert (answers["status"] == "ok").all()


def test_no_reasoning_is_a_trace_of_no_tokens(asked):
    responses, _, _ = replies(asked, says(), OFF)
    assert set(responses["n_trace_tokens"]) == {0}
    assert set(responses["trace_status"]) == {"none"}
    assert asked.endpoint.bodies[0]["chat_template_kwargs"] == {"enable_thinking": False}
    assert asked.endpoint.bodies[0]["max_tokens"] == 100


def test_the_budget_is_room_beside_the_answer(asked):
    changes = {"reasoning": {**SERVED["reasoning"], "budget_field": "thinking_token_budget"}}
    replies(asked, says(count=1, reasoning="x"), changes)
    body = {name: value for name, value in asked.endpoint.bodies[0].items() if name != "messages"}
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
def test_odd_traces_cost_no_answer(asked, message):
    responses, answers, _ = replies(asked, says(**message), SERVED)
    assert (responses["finish_reason"] == "stop").all()
    assert (answers["status"] == "ok").all()


def test_a_model_that_does_not_reason_has_its_columns_as_before(asked):
    responses, answers, _ = replies(asked, says(reasoning_content=TRACE, count=3), {})
    assert not {"n_trace_tokens", "trace_status"} & {*responses, *answers}
    assert "trace_cut" not in answers["status"].cat.categories
    assert not list(asked.store.traces(asked.questions.keys))


@pytest.mark.slow
def test_a_killed_job_keeps_the_trace_of_every_reply_that_it_keeps(tmp_path, endpoint):
    endpoint.delay, endpoint.reply = 0.02, says(count=200, reasoning=TRACE)
    jobs = Jobs(tmp_path, endpoint, 60, SERVED, limits={"concurrency": 8})
    killed = jobs.kill_until_done(5, apart=60, seed=5)
    assert len(endpoint.asked) == 360
    assert sum(endpoint.asked.values()) - 360 <= killed * 8
    assert dict(jobs.store.traces(jobs.questions.keys)) == dict.fromkeys(range(360), TRACE)
