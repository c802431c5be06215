"""Asking live: whatever the endpoint does, every question gets its one reply, and nothing is asked twice."""

import json
import time

import pytest

from cinorms.core.errors import ConfigError, EngineError
from cinorms.inference.engine_kind import make_engine
from cinorms.inference.questions import Questions

from .conftest import KEY, RATES, Shard, once, spec, vignettes
from .server import Fault, about, answer_to


def test_every_question_is_asked_once_and_its_reply_and_cost_are_kept(shard):
    shard.tuning = {"rates": RATES}
    responses = shard.ask()
    assert len(responses) == shard.n == 120
    assert set(shard.endpoint.asked.values()) == {1}
    assert {json.dumps(body["messages"]) for body in shard.endpoint.bodies} == set(shard.endpoint.asked)
    questions = Questions.of(shard.spec, shard.flows, shard.variants)
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(120)]
    assert (responses["finish_reason"] == "stop").all()
    assert (responses["n_prompt_tokens"] == 80).all()
    run = shard.last_run()
    assert (run["status"], run["requests"], run["input_tokens"]) == ("done", 120, 9600)
    assert run["request"] == {"model": "gpt-planted", "max_tokens": 100, "temperature": 0}
    assert run["versions"]["openai"]
    raw = shard.journal().read().to_pandas()
    assert raw["reply_id"].is_unique
    facts = {"fingerprint": "fp_planted", "answered_by": "gpt-planted-2024-07-18", "created": 1_800_000_000}
    for column, fact in facts.items():
        assert set(raw[column]) == {fact}
    assert run["usd"] == pytest.approx(raw["usd"].sum()) == pytest.approx(120 * 0.012)

    before = shard.out.read_bytes()
    shard.out.unlink()
    shard.ask()
    assert shard.out.read_bytes() == before
    assert shard.endpoint.number == 120


TRANSIENT = {
    "429 with Retry-After": Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.05"}),
    "429 without Retry-After": Fault(429, "rate_limit_exceeded"),
    "500": Fault(500),
    "dropped connection": Fault(way="drop"),
    "truncated JSON": Fault(way="truncate"),
    "reset connection": Fault(way="reset"),
    "malformed JSON": Fault(way="malformed"),
    "no choices": Fault(way="nothing"),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_passing_fault_leaves_no_trace(shard, name):
    shard.flows = vignettes(4)
    clean = Shard(shard.folder / "clean", shard.endpoint, flows=shard.flows)
    clean.ask()
    shard.endpoint.number = 0
    first = once(TRANSIENT[name])  # what nobody can read is not asked for a third time
    shard.endpoint.fault = lambda number, body: first(number, body) if number % 7 == 0 else None
    shard.ask()
    assert shard.out.read_bytes() == clean.out.read_bytes()
    assert shard.endpoint.number > 24
    assert all(count == 2 for count in shard.endpoint.answered.values())  # once by each shard


def test_a_request_without_reply_is_sent_again(shard):
    shard.tuning = {"limits": {"timeout": 1.0, "concurrency": 4}}
    shard.endpoint.fault = lambda number, body: Fault(way="hang") if number == 5 else None
    assert shard.ask()["text"].notna().all()
    assert shard.endpoint.number == 121


def test_a_prompt_that_is_refused_becomes_an_error_with_its_reason(shard):
    refused, filtered = Fault(400, "content_policy_violation", "not this one"), Fault(way="filtered")
    shard.endpoint.fault = lambda *asked: about(3, refused)(*asked) or about(4, filtered)(*asked)
    responses = shard.ask()
    errors = responses[responses["finish_reason"] == "error"]
    assert set(errors["flow"]) == {3, 4}
    assert len(errors) == 12
    assert errors.loc[errors["flow"] == 3, "text"].isna().all()
    raw = shard.raw().set_index("flow")["error"]
    assert "not this one" in raw[3].iloc[0]
    assert "content_filter" in raw[4].iloc[0]
    assert set(shard.endpoint.asked.values()) == {1}


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(400, "invalid_request", "no such thing"), "every request would be refused"),
        (Fault(way="drop"), "no connection"),
    ],
)
def test_an_endpoint_that_refuses_everything_or_is_down_stops_the_job_and_records_nothing(
    shard, fault, message
):
    shard.endpoint.fault = lambda number, body: fault
    with pytest.raises(EngineError, match=message):
        shard.ask(backoff=0.001)
    assert shard.journal().read().num_rows == 0
    assert fault.way == "drop" or shard.endpoint.number < 40


def test_a_prompt_that_always_fails_ends_as_an_error_when_others_are_answered(shard):
    shard.endpoint.fault = about(7, Fault(500))
    responses = shard.ask(backoff=0.001)
    assert set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {7}
    assert max(shard.endpoint.asked.values()) == 10


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault(401, "invalid_api_key", f"Incorrect API key: {KEY}"), "check the key in CINORMS_TEST_KEY"),
        (Fault(403, "forbidden"), "check the key"),
        (Fault(429, "insufficient_quota", "You exceeded your current quota"), "exceeded your current quota"),
        (Fault(404, "model_not_found", "The model does not exist"), "may have been retired"),
        (Fault(400, "unsupported_value", "bad", param="temperature"), "reasoning"),
    ],
)
def test_what_concerns_every_prompt_stops_at_once_and_keeps_the_journal(shard, fault, message):
    shard.tuning = {"limits": {"concurrency": 4}}
    shard.endpoint.fault = lambda number, body: fault if number >= 60 else None
    with pytest.raises(EngineError, match=message) as raised:
        shard.ask()
    assert KEY not in str(raised.value)
    assert shard.endpoint.number <= 64
    assert shard.journal().read().num_rows == 60
    assert shard.last_run()["status"] == "failed"
    shard.endpoint.fault = lambda number, body: None
    shard.ask()
    assert set(shard.endpoint.answered.values()) == {1}


def test_rate_limit_headers_hold_requests_back(shard):
    shard.flows = vignettes(4)
    shard.tuning = {"limits": {"concurrency": 1}}
    # 1,200 a minute, none left, a minute until full: twenty requests a second.
    shard.endpoint.headers = {
        "x-ratelimit-limit-requests": "1200",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    started = time.monotonic()
    shard.ask()
    assert time.monotonic() - started > 23 * 0.05


# --- Money


def test_the_cap_stops_before_it_is_passed_and_a_higher_one_goes_on(shard):
    shard.tuning = {"rates": RATES, "max_cost_usd": 1.0}
    with pytest.raises(EngineError, match=r"could exceed max_cost_usd \(1\)"):
        shard.ask()
    n = shard.endpoint.number
    assert n * 0.012 <= 1.0
    assert n > 40  # a request costs at most about 0.12; the cap is used up but for less than some of those
    assert shard.journal().read().num_rows == n
    shard.tuning["max_cost_usd"] = 2.0
    shard.ask()
    assert shard.endpoint.number == 120


def test_unanswered_requests_count_as_paid(shard):
    shard.tuning = {"rates": RATES}
    shard.endpoint.fault = once(Fault(way="drop"))
    shard.ask()
    assert shard.last_run()["usd"] > 120 * 0.1


# --- Keys


def test_openais_key_is_not_sent_to_another_endpoint(shard, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openais-own")
    shard.tuning, shard.key = {"key_variable": None}, ""
    shard.flows = vignettes(2)
    shard.ask()
    assert shard.endpoint.keys == {"Bearer none"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"wrap": "llama2"}, "wraps prompts itself"), ({"readout": "options"}, "an API gives text only")],
)
def test_what_an_api_cannot_do_is_refused(shard, changes, message):
    shard.changes = changes
    with pytest.raises(ConfigError, match=message):
        shard.ask()


def test_openai_itself_needs_a_key():
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        make_engine(spec(None), {"key_variable": "OPENAI_API_KEY"}, None)
