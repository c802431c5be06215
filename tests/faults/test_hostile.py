"""An endpoint that answers nonsense, lies or listens: no reply costs another one, money or a secret."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from cinorms.core.errors import EngineError

from .conftest import KEY, RATES, every_file, variants, vignettes
from .server import BOMB, HEADERS, Endpoint, Fault, about, completion

pytestmark = pytest.mark.usefixtures("impatient")

Decide = Callable[[int, dict[str, Any]], Fault | None]


def altered(change: Callable[[dict[str, Any]], None]) -> Decide:
    """Return a fault: an answer that ``change`` has altered."""

    def decide(number: int, body: dict[str, Any]) -> Fault:
        reply = completion(body)
        change(reply)
        return Fault(200, content=json.dumps(reply).encode())

    return decide


# --- A strange reply

HOSTILE: dict[str, Fault] = {
    "a page": Fault(200, content=b"<html>"),
    "a bomb": BOMB,
    "a bomb in an error": replace(BOMB, status=500),
    "half packed": Fault(200, content=gzip.compress(b"{}")[:8] + b"x", headers={"Content-Encoding": "gzip"}),
    "a bomb of headers": HEADERS,
    "not packed": Fault(200, content=b"{}", headers={"Content-Encoding": "gzip"}),
}


def test_replies_that_cannot_be_read_are_asked_for_twice_and_cost_no_other(asked):
    asked.runtime = {"rates": RATES}
    decisions = [about(flow, fault) for flow, fault in enumerate(HOSTILE.values())]
    asked.endpoint.fault = lambda *given: next(filter(None, (decide(*given) for decide in decisions)), None)
    responses, unread = asked.ask(), 6 * len(HOSTILE)
    errors = responses[responses["finish_reason"] == "error"]
    assert errors["flow"].value_counts().to_dict() == dict.fromkeys(range(len(HOSTILE)), 6)
    assert responses["text"].notna().sum() == 120 - unread
    assert Counter(asked.endpoint.asked.values()) == {1: 120 - unread, 2: unread}
    # Each of those asked twice counts at the most that it can cost.
    assert asked.last_run()["usd"] > (120 - unread) * 0.012 + 2 * unread * 0.1
    raw = asked.raw().set_index("flow")
    for flow, name in enumerate(HOSTILE):
        words = "headers are too long" if "headers" in name else "packed" if "bomb" in name else ""
        assert raw.loc[flow, "error"].str.contains(words).all(), name
    with suppress(EngineError):  # nothing else is left to ask, and nothing of it is answered
        asked.ask()
    # One that was answered may be asked to see whether the endpoint still answers.
    assert Counter(asked.endpoint.asked.values())[1] >= 120 - unread - 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [(HOSTILE["a page"], "no JSON"), (HOSTILE["a bomb of headers"], "headers are too long")],
)
def test_an_endpoint_that_only_answers_nonsense_stops_the_job(asked, fault, message):
    asked.flows = vignettes(1)  # fewer prompts than it takes to see that all are refused
    asked.variants = variants(templates=1, orders=2)
    asked.changes = {"n_templates": 1}
    asked.endpoint.fault = lambda number, body: fault
    with pytest.raises(EngineError, match=rf"{message}.*base_url"):
        asked.ask()
    assert len(asked.raw()) == 0
    assert max(asked.endpoint.asked.values()) == 2


# --- Money


@pytest.mark.parametrize("usage", [{"prompt_tokens": 0, "completion_tokens": 0}, None])
def test_no_reply_is_free(asked, usage):
    asked.runtime = {"rates": RATES, "max_usd": 1.0}
    asked.endpoint.fault = altered(lambda reply: reply.update(usage=usage))
    with pytest.raises(EngineError, match="max_cost_usd"):
        asked.ask()
    assert 0 < asked.endpoint.number < 10  # a request costs at most about 0.12
    assert asked.last_run()["usd"] == pytest.approx(0.12 * asked.endpoint.number, rel=0.2)


def test_an_endpoint_that_reports_too_many_tokens_spends_no_more_than_a_request_can(asked):
    asked.runtime = {"rates": RATES, "max_usd": 15.0}
    usage = {"prompt_tokens": 2 * 10**9, "completion_tokens": 2 * 10**9}
    asked.endpoint.fault = altered(lambda reply: reply.update(usage=usage))
    asked.ask()
    assert asked.last_run()["usd"] == pytest.approx(120 * 0.12, rel=0.2)


# --- Secrets


def test_an_endpoint_that_echoes_the_key_has_it_stored_nowhere(asked):
    def echo(reply: dict[str, Any]) -> None:
        reply.update(id=f"id {KEY}", model=KEY, system_fingerprint=f"{'x' * 190}{KEY}")
        choice = reply["choices"][0]
        choice["message"]["content"] = [{"type": "text", "text": part} for part in (KEY[:9], KEY[9:])]
        choice["finish_reason"] = KEY

    answers, unread = altered(echo), Fault(200, content=f'{{"choices": "{KEY}"}}'.encode())
    asked.endpoint.headers = {"x-request-id": KEY, "x-ratelimit-limit-requests": KEY}
    refused = Fault(400, KEY, f"{'x' * 490}{KEY}", param=KEY)
    faults = [answers, lambda number, body: unread, lambda number, body: refused, answers]
    asked.endpoint.fault = lambda number, body: faults[number % 4](number, body)
    asked.ask()
    assert set(asked.endpoint.keys) == {f"Bearer {KEY}"}
    content = every_file(asked.folder)
    assert KEY.encode() not in content
    held = [str(row) for row in asked.raw().to_dict("records")]
    assert not any("sk-p" in row for row in held), "nor a part of it"
    assert any("'text': '[key]'" in row for row in held)


# --- Redirects


@pytest.mark.parametrize("status", [301, 308])
def test_prompts_do_not_follow_a_redirect(asked, status):
    paths: list[str] = []

    def redirect(path: str) -> Fault:
        paths.append(path)
        new = elsewhere.url + path.removeprefix("/v1")
        return Fault(status, content=b"", headers={"Location": new})

    asked.endpoint.every = redirect
    with Endpoint() as elsewhere, pytest.raises(EngineError, match="base_url") as raised:
        asked.ask()
    assert f"it redirects to {elsewhere.url};" in str(raised.value)
    assert not elsewhere.keys
    assert not elsewhere.number
    assert 1 <= len(paths) <= 64
    assert elsewhere.url.encode() not in every_file(asked.folder)


@pytest.mark.parametrize("location", [None, "/v2/chat/completions", "http://[", f"http://{KEY}.test/v1"])
def test_a_redirect_to_nowhere_is_one_message(asked, location):
    headers = {"Location": location} if location else {}
    asked.endpoint.fault = lambda number, body: Fault(307, content=b"", headers=headers)
    with pytest.raises(EngineError) as raised:
        asked.ask()
    assert KEY not in str(raised.value)


# --- Time


def test_a_reply_that_drips_is_given_up_and_asked_for_again(asked):
    asked.flows = vignettes(2)
    # The drip takes 20 s, any other reply much less.
    asked.runtime = {"limits": {"timeout": 5.0, "concurrency": 1}}
    asked.endpoint.fault = lambda number, body: Fault(way="drip") if number == 0 else None
    assert asked.ask()["text"].notna().all()
    assert sorted(asked.endpoint.asked.values()) == [1] * 11 + [2]
