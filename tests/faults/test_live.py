"""Asking live: whatever the endpoint does, every question gets its one reply, and nothing is asked twice."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest

from cinorms.core.errors import ConfigError, EngineError

from .conftest import KEY, Shard, every_file, once, spec, vignettes
from .server import Endpoint, Fault, answer_to


def test_every_question_is_asked_once_and_answered(shard: Shard) -> None:
    responses = shard.ask()
    assert len(responses) == shard.n == 120
    assert set(shard.endpoint.asked.values()) == {1}
    assert len(shard.endpoint.asked) == 120
    chats = {json.dumps(body["messages"]) for body in shard.endpoint.bodies}
    assert chats == set(shard.endpoint.asked)
    assert responses["text"].notna().all()
    assert (responses["finish_reason"] == "stop").all()
    assert (responses["n_prompt_tokens"] == 80).all()
    run = shard.last_run()
    assert run["status"] == "done"
    assert run["requests"] == 120
    assert run["input_tokens"] == 9600
    assert run["request"] == {"model": "gpt-planted", "max_tokens": 100, "temperature": 0}
    assert run["versions"]["openai"]


def test_each_text_belongs_to_its_question(shard: Shard) -> None:
    from cinorms.inference.questions import Questions

    responses = shard.ask()
    questions = Questions.of(shard.spec, shard.flows, shard.variants)
    assert responses["text"].tolist() == [answer_to(questions.chat(at)) for at in range(shard.n)]


def test_raw_facts_of_each_reply_are_kept(shard: Shard) -> None:
    shard.ask()
    raw = shard.journal().read().to_pandas()
    assert raw["reply_id"].is_unique
    assert set(raw["fingerprint"]) == {"fp_planted"}
    assert set(raw["answered_by"]) == {"gpt-planted-2024-07-18"}
    assert set(raw["created"]) == {1_800_000_000}


def test_a_second_run_asks_nothing_and_writes_the_same_bytes(shard: Shard) -> None:
    shard.ask()
    before = shard.out.read_bytes()
    shard.out.unlink()
    shard.ask()
    assert shard.out.read_bytes() == before
    assert shard.endpoint.number == 120


TRANSIENT = {
    "429 with Retry-After": Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.05"}),
    "429 with milliseconds": Fault(429, "rate_limit_exceeded", headers={"retry-after-ms": "30"}),
    "429 without Retry-After": Fault(429, "rate_limit_exceeded"),
    "500": Fault(500),
    "503": Fault(503, "overloaded"),
    "dropped connection": Fault(way="drop"),
    "429 with a useless Retry-After": Fault(429, "rate_limit_exceeded", headers={"Retry-After": "soon"}),
    "truncated JSON": Fault(way="truncate"),
    "reset connection": Fault(way="reset"),
    "malformed JSON": Fault(way="malformed"),
    "no choices": Fault(way="nothing"),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_passing_fault_leaves_no_trace(shard: Shard, name: str) -> None:
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


def test_a_request_without_reply_is_sent_again(shard: Shard) -> None:
    shard.tuning = {"limits": {"timeout": 1.0, "concurrency": 4}}
    shard.endpoint.fault = lambda number, body: Fault(way="hang") if number == 5 else None
    assert shard.ask()["text"].notna().all()
    assert shard.endpoint.number == 121


def test_retry_after_is_waited_for_by_everybody(shard: Shard) -> None:
    shard.tuning = {"limits": {"concurrency": 8}}
    told = Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.7"})
    shard.endpoint.fault = lambda number, body: told if number == 40 else None
    shard.ask()
    times = shard.endpoint.times
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert max(gaps) > 0.6  # requests under way may still come in, then nobody asks


def test_concurrency_goes_down_under_429_and_is_bounded(shard: Shard) -> None:
    shard.endpoint.delay = 0.02
    shard.tuning = {"limits": {"concurrency": 6}}
    shard.endpoint.fault = lambda number, body: (
        Fault(429, "rate_limit_exceeded", headers={"Retry-After": "0.01"})
        if shard.endpoint.under_way > 3
        else None
    )
    engine = shard.engine()
    from cinorms.ask import write_shard

    write_shard(shard.spec, shard.flows, shard.variants, shard.out, engine, shard.journal())
    assert shard.endpoint.most_under_way <= 6
    assert engine.limiter.allowed < 6
    assert engine.limiter.n_overloads > 0


def test_a_prompt_that_is_refused_becomes_an_error_with_its_reason(shard: Shard) -> None:
    def refuse(number: int, body: dict[str, Any]) -> Fault | None:
        if "picture 3 " in body["messages"][0]["content"]:
            return Fault(400, "content_policy_violation", "not this one")
        return Fault(way="filtered") if "picture 4 " in body["messages"][0]["content"] else None

    shard.endpoint.fault = refuse
    responses = shard.ask()
    errors = responses[responses["finish_reason"] == "error"]
    assert set(errors["flow"]) == {3, 4}
    assert len(errors) == 12
    assert errors.loc[errors["flow"] == 3, "text"].isna().all()
    raw = shard.raw().set_index("flow")["error"]
    assert "not this one" in raw[3].iloc[0]
    assert "content_filter" in raw[4].iloc[0]
    assert set(shard.endpoint.asked.values()) == {1}


def test_a_request_that_is_always_refused_stops_the_job_and_records_nothing(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: Fault(400, "invalid_request", "no such thing")
    with pytest.raises(EngineError, match="every request would be refused"):
        shard.ask()
    assert shard.journal().read().num_rows == 0
    assert shard.endpoint.number < 40


def test_a_refused_parameter_says_what_reasoning_models_need(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: Fault(400, "unsupported_value", "bad", param="temperature")
    with pytest.raises(EngineError, match="reasoning"):
        shard.ask()


def test_a_prompt_that_always_fails_ends_as_an_error_when_others_are_answered(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: (
        Fault(500) if "picture 7 " in body["messages"][0]["content"] else None
    )
    responses = shard.ask(backoff=0.001)
    assert set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {7}
    assert max(shard.endpoint.asked.values()) == 10


def test_an_endpoint_that_is_down_stops_the_job(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: Fault(way="drop")
    with pytest.raises(EngineError, match="no connection"):
        shard.ask(backoff=0.001)
    assert shard.journal().read().num_rows == 0


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            Fault(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"),
            "check the key in CINORMS_TEST_KEY",
        ),
        (Fault(403, "forbidden"), "check the key"),
        (Fault(429, "insufficient_quota", "You exceeded your current quota"), "exceeded your current quota"),
        (Fault(404, "model_not_found", "The model does not exist"), "may have been retired"),
    ],
)
def test_what_concerns_every_prompt_stops_at_once_and_keeps_the_journal(
    shard: Shard, fault: Fault, message: str
) -> None:
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


def test_being_told_to_wait_for_an_hour_ends_the_job(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: Fault(
        429, "rate_limit_exceeded", headers={"Retry-After": "3600"}
    )
    started = time.monotonic()
    with pytest.raises(EngineError, match="rate_limit_exceeded"):
        shard.ask()
    assert time.monotonic() - started < 10


def test_rate_limit_headers_hold_requests_back(shard: Shard) -> None:
    shard.flows = vignettes(4)
    shard.tuning = {"limits": {"concurrency": 1}}
    # 60 a minute, none left, a minute until full: a request a second.
    shard.endpoint.headers = {
        "x-ratelimit-limit-requests": "600",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    started = time.monotonic()
    shard.ask()
    assert time.monotonic() - started > 23 * 0.1


def test_reasoning_models_get_an_effort_and_room_and_no_temperature(shard: Shard) -> None:
    shard.flows = vignettes(2)
    shard.changes = {"reasoning": {"effort": "low", "extra_tokens": 2000}, "temperature": None}
    shard.ask()
    assert {k: v for k, v in shard.endpoint.bodies[0].items() if k != "messages"} == {
        "model": "gpt-planted",
        "max_completion_tokens": 2100,
        "reasoning_effort": "low",
    }


def test_sampling_is_seeded(shard: Shard) -> None:
    shard.flows = vignettes(2)
    shard.changes = {"temperature": 0.7}
    shard.ask()
    assert shard.endpoint.bodies[0]["seed"] == 7
    assert shard.endpoint.bodies[0]["temperature"] == 0.7


# --- Money


RATES = {"usd_per_million_input": 100.0, "usd_per_million_output": 1000.0}  # a reply: 0.008 + 0.004 dollars


def test_the_cost_is_recorded(shard: Shard) -> None:
    shard.tuning = {"rates": RATES}
    shard.ask()
    assert shard.last_run()["usd"] == pytest.approx(120 * 0.012)
    assert shard.journal().read()["usd"].to_numpy().sum() == pytest.approx(120 * 0.012)


def test_the_cap_stops_before_it_is_passed_and_a_higher_one_goes_on(shard: Shard) -> None:
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


def test_the_cap_is_the_studys_not_the_jobs(shard: Shard) -> None:
    shard.tuning = {"rates": RATES, "max_cost_usd": 2.0}
    shard.ask()
    other = Shard(shard.folder, shard.endpoint, tuning=shard.tuning, changes={"n_templates": 3, "seed": 8})
    with pytest.raises(EngineError, match="could exceed max_cost_usd"):
        other.ask()
    assert shard.endpoint.number * 0.012 <= 2.0


def test_unanswered_requests_count_as_paid(shard: Shard) -> None:
    shard.tuning = {"rates": RATES}
    shard.endpoint.fault = once(Fault(way="drop"))
    shard.ask()
    assert shard.last_run()["usd"] > 120 * 0.1


def test_a_cap_without_prices_is_refused(shard: Shard) -> None:
    shard.tuning = {"max_cost_usd": 1.0}
    with pytest.raises(ConfigError, match="needs a price"):
        shard.ask()


# --- Keys


def test_no_key_no_question(shard: Shard) -> None:
    shard.key = ""
    with pytest.raises(ConfigError, match="CINORMS_TEST_KEY is not set"):
        shard.ask()


def test_the_key_is_sent_and_stored_nowhere(shard: Shard) -> None:
    shard.endpoint.fault = lambda number, body: (
        Fault(400, "content_policy_violation", f"key {KEY} is refused") if number == 50 else None
    )
    shard.ask()
    assert shard.endpoint.keys == {f"Bearer {KEY}"}
    content = every_file(shard.folder)
    assert b"[key] is refused" in content or b"parts" in content
    assert KEY.encode() not in content
    assert not any(KEY in str(v) for v in shard.journal().read().to_pandas()["error"])


def test_openais_key_is_not_sent_to_another_endpoint(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openais-own")
    shard.tuning, shard.key = {"key_variable": None}, ""
    shard.flows = vignettes(2)
    shard.ask()
    assert shard.endpoint.keys == {"Bearer none"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"wrap": "llama2"}, "wraps prompts itself"), ({"readout": "options"}, "an API gives text only")],
)
def test_what_an_api_cannot_do_is_refused(shard: Shard, changes: dict[str, Any], message: str) -> None:
    shard.changes = changes
    with pytest.raises(ConfigError, match=message):
        shard.ask()


def test_the_planted_endpoint_is_needed_for_openai_itself_only_with_a_key(endpoint: Endpoint) -> None:
    from cinorms.inference.engine_kind import make_engine

    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        make_engine(spec(None), {"key_variable": "OPENAI_API_KEY"}, None, None)
