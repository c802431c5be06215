"""Asking live: whatever the endpoint does, every question gets its one reply, and nothing is asked twice."""

import json
from typing import Any

import pandas as pd
import pytest

from cinorms.core.errors import ConfigError, EngineError
from cinorms.inference.engines.openai.live import TRIES

from .conftest import KEY, RATES, Asked, vignettes
from .server import Fault, about, answer_to

pytestmark = pytest.mark.usefixtures("impatient")


def test_every_question_is_asked_once_and_its_reply_and_cost_are_kept(asked):
    asked.runtime = {"rates": RATES}
    responses = asked.ask()
    assert len(responses) == asked.n == 120
    assert set(asked.endpoint.asked.values()) == {1}
    assert {json.dumps(body["messages"]) for body in asked.endpoint.bodies} == set(asked.endpoint.asked)
    questions = asked.questions
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(120)]
    assert (responses["finish_reason"] == "stop").all()
    assert (responses["n_prompt_tokens"] == 80).all()
    run, raw = asked.last_run(), asked.raw()
    assert run["status"] == "done"
    assert run["versions"]["openai"]
    assert raw["reply_id"].is_unique
    facts = {"fingerprint": "fp_planted", "answered_by": "gpt-planted-2024-07-18", "created": 1_800_000_000}
    for column, fact in facts.items():
        assert set(raw[column]) == {fact}
    assert run["usd"] == pytest.approx(raw["usd"].sum()) == pytest.approx(120 * 0.012)
    pd.testing.assert_frame_equal(asked.ask(), responses)
    assert asked.endpoint.number == 120


def test_the_api_of_responses_is_asked_too(asked):
    asked.changes = {"api": "responses", "reasoning": {"effort": "high", "extra_tokens": 500}}
    responses = asked.ask()
    questions = asked.questions
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(120)]
    assert (responses["n_output_tokens"] == 4).all()
    assert (responses["n_trace_tokens"] == 2).all()


TRANSIENT = (
    Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.05"}),
    Fault(429, "rate_limit_exceeded"),
    Fault(500),
    *(Fault(way=way) for way in ("drop", "truncate", "reset", "malformed", "nothing")),
)


def test_passing_faults_leave_no_trace(asked):
    expected = Asked(asked.folder / "clean", asked.endpoint).ask()
    asked.endpoint.number = 0
    faults, failed = iter(TRANSIENT * 3), set()  # for a fifth of the prompts

    def once(number: int, body: dict[str, Any]) -> Fault | None:
        """Let a prompt fail once: what nobody can read is not asked for a third time."""
        prompt = json.dumps(body["messages"])
        if number % 4 or prompt in failed:
            return None
        failed.add(prompt)
        return next(faults, None)

    asked.endpoint.fault = once
    pd.testing.assert_frame_equal(asked.ask(), expected)
    assert asked.endpoint.number == 120 + 3 * len(TRANSIENT)
    assert set(asked.endpoint.answered.values()) == {2}  # once by each asked


def test_a_request_without_reply_is_sent_again(asked):
    asked.runtime = {"limits": {"timeout": 1.0, "concurrency": 4}}
    asked.endpoint.fault = lambda number, body: Fault(way="hang") if number == 5 else None
    assert asked.ask()["text"].notna().all()
    assert asked.endpoint.number == 121


def test_a_prompt_that_is_refused_becomes_an_error_with_its_reason(asked):
    refused, filtered = Fault(400, "content_policy_violation", "not this one"), Fault(way="filtered")
    asked.endpoint.fault = lambda *asked: about(3, refused)(*asked) or about(4, filtered)(*asked)
    responses = asked.ask()
    errors = responses[responses["finish_reason"] == "error"]
    assert set(errors["flow"]) == {3, 4}
    assert len(errors) == 12
    assert errors.loc[errors["flow"] == 3, "text"].isna().all()
    raw = asked.raw().set_index("flow")["error"]
    assert "not this one" in raw[3].iloc[0]
    assert "content_filter" in raw[4].iloc[0]
    assert set(asked.endpoint.asked.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(400, "invalid_request", "no such thing"), "every request would be refused"),
        (Fault(way="drop"), "no reply"),
    ],
)
def test_an_endpoint_that_refuses_everything_or_is_down_stops_the_job_and_records_nothing(
    asked, fault, message
):
    asked.flows = vignettes(4 if fault.way == "drop" else 20)
    asked.endpoint.fault = lambda number, body: fault
    with pytest.raises(EngineError, match=message):
        asked.ask()
    assert len(asked.raw()) == 0
    assert fault.way == "drop" or asked.endpoint.number < 80  # 64 are under way


def test_a_prompt_that_always_fails_ends_as_an_error_when_others_are_answered(asked):
    asked.endpoint.fault = about(7, Fault(500))
    responses = asked.ask()
    assert set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {7}
    assert max(asked.endpoint.asked.values()) <= 2 * TRIES


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(401, "invalid_api_key", f"Incorrect API key: {KEY}"), "check the key in CINORMS_TEST_KEY"),
        (Fault(429, "insufficient_quota", "You exceeded your current quota"), "exceeded your current quota"),
    ],
)
def test_what_concerns_every_prompt_stops_at_once_and_keeps_what_was_answered(asked, fault, message):
    asked.runtime = {"limits": {"concurrency": 4}}
    asked.endpoint.fault = lambda number, body: fault if number >= 60 else None
    with pytest.raises(EngineError, match=message) as raised:
        asked.ask()
    assert KEY not in str(raised.value)
    assert asked.endpoint.number <= 64
    assert len(asked.raw()) == 60
    assert asked.last_run()["status"] == "failed"
    asked.endpoint.fault = lambda number, body: None
    asked.ask()
    assert set(asked.endpoint.answered.values()) == {1}


# --- Money


def test_the_cap_stops_before_it_is_passed_and_a_higher_one_goes_on(asked):
    asked.runtime = {"rates": RATES, "max_usd": 1.0}
    with pytest.raises(EngineError, match=r"share of max_cost_usd"):
        asked.ask()
    n = asked.endpoint.number
    assert n * 0.012 <= 1.0
    assert n > 40  # a request costs at most about 0.12; the cap is used up but for less than some of those
    assert len(asked.raw()) == n
    asked.runtime["max_usd"] = 2.0
    asked.ask()
    assert asked.endpoint.number == 120


# --- Keys


def test_openais_key_is_not_sent_to_another_endpoint(asked, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openais-own")
    asked.runtime, asked.key = {"key_variable": None}, ""
    asked.flows = vignettes(2)
    asked.ask()
    assert asked.endpoint.keys == {"Bearer none"}


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"wrap": "llama2"}, KEY, "wraps prompts itself"),
        ({"readout": "options"}, KEY, "an API gives text only"),
        ({}, "", "CINORMS_TEST_KEY is not set"),
        ({}, f"{KEY}\n", "the key in CINORMS_TEST_KEY has characters that a request cannot hold"),
        ({}, f"{KEY}ä", "the key in CINORMS_TEST_KEY has characters that a request cannot hold"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, changes, key, message):
    asked.changes, asked.key = changes, key
    with pytest.raises(ConfigError, match=message) as raised:
        asked.ask()
    assert KEY not in str(raised.value)
    assert not asked.endpoint.number
