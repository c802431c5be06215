"""Models that reason, behind an endpoint: traces apart from answers, in every way that servers send them."""

from typing import Any

import pandas as pd
import pytest

from cinorms.answers.read import read_responses

from ..scales import ACCEPTABILITY
from .conftest import Asked, vignettes
from .server import answer_to
from .test_kill import Jobs

SERVED = {"reasoning": {"effort": "high", "extra_tokens": 500, "switch": "enable_thinking"}}
TRACE = "It might be neutral, or strongly acceptable. " * 20


def says(content: str | None = None, count: int = 0, finish: str = "stop", **message: Any) -> Any:
    """Return what makes an endpoint's replies those of a model that reasons."""

    def change(asked: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
        choice = reply["choices"][0]
        text = choice["message"]["content"]
        choice["message"] |= message
        choice["message"]["content"] = text if content is None else content
        choice["finish_reason"] = finish
        reply["usage"] |= {"completion_tokens": 204, "completion_tokens_details": {"reasoning_tokens": count}}
        return reply

    return change


def replies(asked: Asked, reply: Any) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the responses, the answers in them, and the traces in the store, in their order."""
    asked.flows, asked.changes, asked.endpoint.reply = vignettes(3), SERVED, reply
    responses = asked.ask()
    traces = dict(asked.store.traces(asked.questions.keys))
    return responses, read_responses(responses, ACCEPTABILITY), [traces.get(at, "") for at in range(asked.n)]


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_trace_beside_the_answer_is_kept_apart(asked, name):
    responses, answers, traces = replies(asked, says(count=200, **{name: TRACE}))
    questions = asked.questions
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(asked.n)]
    for column, value in (("n_trace_tokens", 200), ("trace_status", "whole"), ("n_output_tokens", 204)):
        assert set(responses[column]) == {value}
    assert traces == [TRACE] * asked.n
    assert (answers["status"] == "ok").all()


def test_a_trace_cut_short_is_a_status_and_its_words_are_no_answer(asked):
    responses, answers, _ = replies(asked, says("", count=500, finish="length", reasoning_content=TRACE))
    assert set(responses["trace_status"]) == {"cut"}
    assert set(answers["status"]) == {"trace_cut"}
    assert answers["level"].isna().all()
    assert set(responses["text"]) == {""}


@pytest.mark.slow
def test_a_killed_job_keeps_the_trace_of_every_reply_that_it_keeps(tmp_path, endpoint):
    endpoint.delay, endpoint.reply = 0.02, says(count=200, reasoning=TRACE)
    jobs = Jobs(tmp_path, endpoint, 60, SERVED, limits={"concurrency": 8})
    killed = jobs.kill_until_done(3, apart=100, seed=5)
    assert len(endpoint.asked) == 360
    assert sum(endpoint.asked.values()) - 360 <= killed * 8
    assert dict(jobs.store.traces(jobs.questions.keys)) == dict.fromkeys(range(360), TRACE)
