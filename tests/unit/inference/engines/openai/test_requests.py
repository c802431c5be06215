"""What is sent to an OpenAI-compatible endpoint, what its failures mean, and what its replies hold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cinorms
from cinorms.core.errors import ConfigError
from cinorms.inference.engines.openai.endpoint import Endpoint, Failure, judge_status, read_reply, refusal
from cinorms.inference.spending import CapReached, Spending, spent_in

from .....specs import endpoint_tuning, make_spec

CHAT = [{"role": "user", "content": "Is it? ä"}]
SPEC = {"source": "gpt-x", "seed": 5}


def body(**changes: Any) -> dict[str, Any]:
    return Endpoint(make_spec(**{**SPEC, **changes}), endpoint_tuning(), None).body(CHAT)


def test_requests() -> None:
    assert body() == {"model": "gpt-x", "messages": CHAT, "max_tokens": 100, "temperature": 0}
    assert body(temperature=1) == {**body(), "temperature": 1, "seed": 5}
    reasoning = body(reasoning={"effort": "none", "extra_tokens": 50}, temperature=None)
    assert reasoning == {
        "model": "gpt-x",
        "messages": CHAT,
        "max_completion_tokens": 150,
        "reasoning_effort": "none",
    }
    assert "reasoning_effort" not in body(reasoning={"extra_tokens": 50})


def test_the_key_is_not_shown_with_the_endpoint() -> None:
    assert "sk-secret" not in repr(Endpoint(make_spec(**SPEC), endpoint_tuning(), "sk-secret"))


def test_most_input_is_an_upper_bound() -> None:
    assert (
        Endpoint(make_spec(**SPEC), endpoint_tuning(), None).most_input(CHAT) >= len("Is it? ä".encode()) + 4
    )


def test_openai_is_imported_only_when_it_is_asked() -> None:
    program = (
        "import sys, cinorms.ask, cinorms.inference.engines.openai.endpoint; print('openai' in sys.modules)"
    )
    library = Path(cinorms.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


@pytest.mark.parametrize(
    ("status", "error", "kind", "advice"),
    [
        (400, {"code": "content_policy_violation"}, "refused", "request"),
        (400, {"code": "context_length_exceeded", "param": "messages"}, "refused", "request"),
        (413, {}, "refused", "request"),
        (422, {"code": "bad"}, "refused", "request"),
        (400, {"code": "unsupported_parameter", "param": "max_tokens"}, "stop", "request"),
        (400, {"code": "invalid_value", "param": "temperature"}, "stop", "request"),
        (400, {"code": "billing_hard_limit_reached"}, "stop", "quota"),
        (402, {}, "stop", "quota"),
        (429, {"code": "insufficient_quota"}, "stop", "quota"),
        (429, {"type": "insufficient_quota", "code": None}, "stop", "quota"),
        (401, {"code": "invalid_api_key"}, "stop", "key"),
        (403, {}, "stop", "key"),
        (404, {"code": "model_not_found"}, "stop", "model"),
        (400, {"code": "model_not_found"}, "stop", "model"),
        (429, {"code": "rate_limit_exceeded"}, "wait", "quota"),
        (408, {}, "again", "down"),
        (409, {}, "again", "down"),
        (500, {}, "again", "down"),
        (503, {}, "again", "down"),
        (529, {}, "again", "down"),
    ],
)
def test_what_a_status_means(status: int, error: dict[str, Any], kind: str, advice: str) -> None:
    for shape in (error, {"error": error}):
        found = judge_status(status, shape, {})
        assert (found.kind, found.advice) == (kind, advice)


def test_an_error_that_is_no_object_is_still_judged() -> None:
    assert judge_status(502, "<html>", {}, "Bad gateway").reason == "502 : Bad gateway"


def test_retry_after_comes_with_the_judgement() -> None:
    assert judge_status(429, {}, {"retry-after": "3"}).retry_after == 3
    busy = judge_status(503, {}, {"retry-after": "3"})
    assert (busy.retry_after, busy.overload) == (3, True)


def reply(**changes: Any) -> str:
    whole = {
        "id": "chatcmpl-1",
        "created": 1_800_000_000,
        "model": "gpt-x-2024",
        "system_fingerprint": "fp",
        "choices": [{"message": {"content": "neutral"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 2},
    }
    return json.dumps({**whole, **changes})


def test_a_reply() -> None:
    assert read_reply(reply()) == {
        "text": "neutral",
        "finish_reason": "stop",
        "error": None,
        "n_prompt_tokens": 80,
        "n_output_tokens": 2,
        "reply_id": "chatcmpl-1",
        "created": 1_800_000_000,
        "answered_by": "gpt-x-2024",
        "fingerprint": "fp",
    }


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"message": {"content": ""}, "finish_reason": "length"}, "", "length"),
        ({"message": {"content": None}, "finish_reason": "length"}, "", "length"),
        (
            {"message": {"content": None, "refusal": "I will not."}, "finish_reason": "stop"},
            "I will not.",
            "stop",
        ),
        ({"message": {"content": "  raw \n"}}, "  raw \n", "unknown"),
        ({"message": {"content": "half"}, "finish_reason": "content_filter"}, "half", "error"),
        ({"message": {"content": "a\ud800b"}, "finish_reason": "stop"}, "a\\ud800b", "stop"),
    ],
)
def test_unusual_replies(choice: dict[str, Any], text: str, finish: str) -> None:
    found = read_reply(reply(choices=[choice]))
    assert isinstance(found, dict)
    assert (found["text"], found["finish_reason"]) == (text, finish)
    assert (found["error"] is None) == (finish != "error")


def test_a_server_that_counts_nothing_is_believed() -> None:
    found = read_reply(
        json.dumps({"choices": [{"message": {"content": "neutral"}, "finish_reason": "stop"}]})
    )
    assert isinstance(found, dict)
    assert found["n_prompt_tokens"] is None
    assert found["created"] is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"choices": []}',
        '{"choices": [{}]}',
        '{"choices": [{"message": "x"}]}',
        "<html>",
    ],
)
def test_no_answer_is_asked_again_and_counts_as_paid(content: str) -> None:
    found = read_reply(content)
    assert isinstance(found, Failure)
    assert (found.kind, found.paid) == ("again", True)


def test_an_error_inside_a_200_is_judged_like_its_status() -> None:
    found = read_reply(json.dumps({"error": {"code": 429, "message": "slow down"}}))
    assert isinstance(found, Failure)
    assert found.kind == "wait"


def test_a_refusal_keeps_its_reason_without_the_key() -> None:
    row = refusal(Failure("refused", "400: no, sk-1"), ["sk-1"])
    assert row == {"text": None, "finish_reason": "error", "error": "400: no, [key]", "usd": 0.0}


@given(st.binary(max_size=60))
def test_whatever_comes_back_is_a_reply_or_a_failure(content: bytes) -> None:
    assert isinstance(read_reply(content), dict | Failure)


# --- Money

RATES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}


def spending(folder: Path, job: str = "a", cap: float | None = 1.0) -> Spending:
    return Spending(folder, job, cap, RATES, "m")


def test_prices(tmp_path: Path) -> None:
    assert spending(tmp_path).price(1_000_000, 100_000) == pytest.approx(2.0)
    assert Spending(tmp_path, "a", None, RATES, "m", discount=0.5).price(1_000_000, 0) == pytest.approx(0.5)
    assert not Spending(tmp_path, "a", None, {}, "m").priced


@given(
    requests=st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), max_size=40), n_jobs=st.integers(1, 3)
)
@settings(max_examples=30, deadline=None)
def test_jobs_together_never_pass_the_cap(
    requests: list[tuple[float, float]], n_jobs: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("money")
    jobs = [spending(folder, str(n)) for n in range(n_jobs)]
    spent = 0.0
    for number, (most, share) in enumerate(requests):
        job = jobs[number % n_jobs]
        try:
            job.reserve(most)
        except CapReached:
            continue
        job.settle(most, most * share)
        spent += most * share
        assert spent <= 1.0 + 1e-9
    for job in jobs:
        job.close()
    assert (spent_in(folder) or 0.0) == pytest.approx(spent)


def test_a_killed_job_counts_what_it_had_taken(tmp_path: Path) -> None:
    killed = spending(tmp_path)
    killed.reserve(0.4)
    again = spending(tmp_path)
    with pytest.raises(CapReached, match="max_cost_usd: 1 would be passed"):
        again.reserve(0.7)
    again.reserve(0.5)
    other = spending(tmp_path, "b")
    with pytest.raises(CapReached):
        other.reserve(0.2)
    assert other.left() == pytest.approx(0.1, abs=0.03)


def test_a_cap_without_prices_and_prices_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rates.usd_per_million_input"):
        Spending(tmp_path, "a", 1.0, {"usd_per_million_output": 1}, "m")
    free = Spending(tmp_path, "a", 1.0, {"usd_per_million_input": 0, "usd_per_million_output": 0}, "m")
    free.reserve(free.price(10**9, 10**9))
    assert spent_in(tmp_path) in (None, 0.0)
