"""An endpoint that answers nonsense, lies or listens: no reply costs another one, money or a secret."""

import gzip
import json
import math
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai import live
from cinorms.inference.journal import Journal

from .conftest import KEY, RATES, Shard, every_file, variants, vignettes
from .server import Endpoint, Fault, about, completion

Decide = Callable[[int, dict[str, Any]], Fault | None]


def altered(change: Callable[[dict[str, Any]], None]) -> Decide:
    """Return a fault: an answer that ``change`` has altered."""

    def decide(number: int, body: dict[str, Any]) -> Fault:
        reply = completion(body)
        change(reply)
        return Fault(200, content=json.dumps(reply).encode())

    return decide


def packed(size: int, status: int = 200) -> Fault:
    """Return a reply of few bytes that has ``size`` of them, in MB, once it is unpacked."""
    content = gzip.compress(b" " * 2**20 * size)
    return Fault(status, content=content, headers={"Content-Encoding": "gzip"})


# --- A strange reply

#: What no field beside the answer should be; of the answer itself, `tests/unit/inference/engines/openai` has more.
ODD = [12345, 1.5, -1, True, [1], {"a": {}}, "fp_\ud800", "\x00", "", "x" * 10**6, 10**400, math.nan]
FIELDS = ("id", "model", "system_fingerprint", "created", "usage", "object")


def test_odd_fields_cost_no_answer(shard):
    clean = Shard(shard.folder / "clean", shard.endpoint)
    expected = clean.ask()["text"].tolist()
    values = cycle(ODD)

    def spoil(reply: dict[str, Any]) -> dict[str, Any]:
        next(values)  # seven steps of twelve a reply: every field has every value
        reply.update({field: next(values) for field in FIELDS})
        return reply

    shard.endpoint.reply = lambda asked, reply: spoil(reply)
    assert shard.ask()["text"].tolist() == expected
    assert set(shard.endpoint.asked.values()) == {2}  # once by each shard


HOSTILE: dict[str, Fault] = {
    "a page": Fault(200, content=b"<html>"),
    "a bomb": packed(100),
    "a bomb in an error": packed(100, status=500),
    "half packed": Fault(200, content=gzip.compress(b"{}")[:8] + b"x", headers={"Content-Encoding": "gzip"}),
    "a bomb of headers": Fault(200, content=b"{}", headers={f"X-{n}": "x" * 8000 for n in range(40)}),
    "not packed": Fault(200, content=b"{}", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reply_that_cannot_be_read_is_asked_for_twice_and_costs_no_other(shard, name):
    shard.tuning = {"rates": RATES}
    shard.endpoint.fault = about(3, HOSTILE[name])
    responses = shard.ask(chunk=1000)
    errors = responses[responses["finish_reason"] == "error"]
    assert set(errors["flow"]) == {3}
    assert len(errors) == 6
    assert responses["text"].notna().sum() == 114
    assert max(shard.endpoint.asked.values()) == 2
    assert sum(shard.endpoint.asked.values()) == 126
    assert shard.last_run()["usd"] > 114 * 0.012 + 12 * 0.1  # each of the twelve at the most it can cost
    raw = shard.raw().query("flow == 3")
    assert (raw["usd"] > 0.1).all()
    assert "headers" not in name or raw["error"].str.contains("headers are too long").all()
    assert (
        name not in ("a bomb", "a bomb in an error")
        or raw["error"].str.contains("more than 4,194,304 bytes").all()
    )
    shard.out.unlink()
    shard.ask()
    assert shard.endpoint.number == 126


#: What is no error that the API has: contents, and headers where they matter.
ERRORS: list[tuple[bytes, dict[str, str]]] = [
    (json.dumps({"error": {"message": "no \ud800", "code": "content_policy_violation"}}).encode(), {}),
    (json.dumps({"error": {"message": ["\ud800"], "code": {"a": 1}, "param": [2], "type": 3}}).encode(), {}),
    (json.dumps({"error": "\ud800"}).encode(), {}),
    (json.dumps({"detail": [{"msg": "\ud800"}]}).encode(), {}),
    (b"[" * 100_000, {}),
    (b"\xff", {}),
    (b"{}", {"Content-Type": "application/json; charset=zlib"}),
]


@pytest.mark.parametrize("status", [400, 500])
def test_errors_of_any_shape_cost_no_answer(shard, status):
    # The last flows: some refusals before any answer end a job.
    wrong = dict(enumerate(ERRORS, start=20 - len(ERRORS)))
    faults = [about(flow, Fault(status, content=c, headers=h)) for flow, (c, h) in wrong.items()]
    shard.endpoint.fault = lambda *asked: next(filter(None, (fault(*asked) for fault in faults)), None)
    responses = shard.ask(backoff=0.001, chunk=1000)
    refused = responses["finish_reason"] == "error"
    assert set(responses.loc[refused, "flow"]) == set(wrong)
    assert responses["text"].notna().sum() == 120 - 6 * len(ERRORS)


@pytest.mark.parametrize(
    ("fault", "message"),
    [(HOSTILE["a page"], "no JSON"), (HOSTILE["a bomb of headers"], "headers are too long")],
)
def test_an_endpoint_that_only_answers_nonsense_stops_the_job(shard, fault, message):
    shard.flows = vignettes(1)  # fewer prompts than it takes to see that all are refused
    shard.variants = variants(templates=1, orders=2)
    shard.changes = {"n_templates": 1}
    shard.endpoint.fault = lambda number, body: fault
    with pytest.raises(EngineError, match=rf"{message}.*base_url"):
        shard.ask()
    assert shard.journal().read().num_rows == 0
    assert max(shard.endpoint.asked.values()) == 2


def test_what_can_be_handed_over_again_is_not_lost(shard, monkeypatch):
    keep, calls = Journal.keep, []

    def fail_once(journal: Journal, part: Any, *traces: Any) -> None:
        calls.append(part.num_rows)
        if len(calls) == 1:
            raise OSError("planted")
        keep(journal, part)

    monkeypatch.setattr(Journal, "keep", fail_once)
    with pytest.raises(OSError, match="planted"):
        shard.ask()
    kept = shard.journal().read().num_rows
    assert kept == sum(shard.endpoint.answered.values())


def test_equal_ids_are_no_equal_replies(shard):
    shard.endpoint.fault = altered(lambda reply: reply.update(id="the same"))
    assert len(shard.ask()) == 120
    raw = shard.journal().read()
    assert raw.num_rows == 120
    assert set(raw["reply_id"].to_pylist()) == {"the same"}
    assert set(shard.endpoint.asked.values()) == {1}


# --- Money


@pytest.mark.parametrize(
    "usage",
    [{"prompt_tokens": 0, "completion_tokens": 0}, {"prompt_tokens": 1, "completion_tokens": 1}, None],
    ids=["none", "fewer than its text has", "not said"],
)
def test_no_reply_is_free(shard, usage):
    shard.tuning = {"rates": RATES, "max_cost_usd": 1.0}

    def claim(reply: dict[str, Any]) -> None:
        reply["usage"] = usage
        reply["choices"][0]["message"]["content"] = "strongly unacceptable " * 3  # more than a token

    shard.endpoint.fault = altered(claim)
    with pytest.raises(EngineError, match="max_cost_usd"):
        shard.ask()
    assert 0 < shard.endpoint.number < 10  # a request costs at most about 0.12
    assert shard.last_run()["usd"] == pytest.approx(0.12 * shard.endpoint.number, rel=0.2)


def test_an_endpoint_that_reports_too_many_tokens_spends_no_more_than_a_request_can(shard, capsys):
    shard.tuning = {"rates": RATES, "max_cost_usd": 15.0}
    usage = {"prompt_tokens": 2 * 10**9, "completion_tokens": 2 * 10**9}
    shard.endpoint.fault = altered(lambda reply: reply.update(usage=usage))
    responses = shard.ask()
    assert (responses["n_output_tokens"] == 100).all()
    assert responses["n_prompt_tokens"].max() < 1000
    run = shard.last_run()
    assert run["usd"] == pytest.approx(120 * 0.12, rel=0.2)
    assert run["clipped"] == 240
    assert capsys.readouterr().out.count("such counts are clipped") == 1


# --- Secrets


def test_an_endpoint_that_echoes_the_key_has_it_stored_nowhere(shard):
    def echo(reply: dict[str, Any]) -> None:
        reply.update(id=f"id {KEY}", model=KEY, system_fingerprint=f"{'x' * 190}{KEY}")
        choice = reply["choices"][0]
        choice["message"]["content"] = [{"type": "text", "text": part} for part in (KEY[:9], KEY[9:])]
        choice["finish_reason"] = KEY

    answers, unread = altered(echo), Fault(200, content=f'{{"choices": "{KEY}"}}'.encode())
    shard.endpoint.headers = {"x-request-id": KEY, "x-ratelimit-limit-requests": KEY}
    refused = Fault(400, KEY, f"{'x' * 490}{KEY}", param=KEY)
    faults = [answers, lambda number, body: unread, lambda number, body: refused, answers]
    shard.endpoint.fault = lambda number, body: faults[number % 4](number, body)
    shard.ask()
    assert set(shard.endpoint.keys) == {f"Bearer {KEY}"}
    content = every_file(shard.folder)
    assert KEY.encode() not in content
    held = [str(row) for row in shard.journal().read().to_pylist()]
    assert not any("sk-p" in row for row in held), "nor a part of it"
    assert any("'text': '[key]'" in row for row in held)


# --- Redirects


@pytest.mark.parametrize("status", [301, 308])
def test_prompts_do_not_follow_a_redirect(shard, status):
    asked: list[str] = []

    def redirect(path: str) -> Fault:
        asked.append(path)
        new = elsewhere.url + path.removeprefix("/v1")
        return Fault(status, content=b"", headers={"Location": new})

    shard.endpoint.every = redirect
    with Endpoint() as elsewhere, pytest.raises(EngineError, match="base_url") as raised:
        shard.ask()
    assert f"it redirects to {elsewhere.url};" in str(raised.value)
    assert not elsewhere.keys
    assert not elsewhere.number
    assert 1 <= len(asked) <= 16
    assert elsewhere.url.encode() not in every_file(shard.folder)


@pytest.mark.parametrize("location", [None, "/v2/chat/completions", "http://[", f"http://{KEY}.test/v1"])
def test_a_redirect_to_nowhere_is_one_message(shard, location):
    headers = {"Location": location} if location else {}
    shard.endpoint.fault = lambda number, body: Fault(307, content=b"", headers=headers)
    with pytest.raises(EngineError) as raised:
        shard.ask(backoff=0.001)
    assert KEY not in str(raised.value)


# --- Time


def test_useless_advice_to_wait_ends_with_the_longest_wait(shard, monkeypatch):
    monkeypatch.setattr(live, "LONGEST_WAIT", 0.5)
    fault = Fault(429, "rate_limit_exceeded", headers={"Retry-After": "-5"})
    shard.endpoint.fault = lambda number, body: fault
    with pytest.raises(EngineError, match="rate_limit_exceeded"):
        shard.ask(backoff=0.05)
    assert shard.endpoint.number < 40, "it asks again and again without a pause"


@pytest.mark.parametrize(("status", "after"), [(429, "3600"), (503, "Wed, 21 Oct 2815 07:28:30 GMT")])
def test_advice_to_wait_for_ever_ends_the_job(shard, status, after):
    shard.endpoint.fault = lambda number, body: Fault(status, "busy", headers={"Retry-After": after})
    started = time.monotonic()
    with pytest.raises(EngineError, match="busy"):
        shard.ask()
    assert time.monotonic() - started < 600  # the shorter of them would be an hour


def test_a_reply_that_drips_leaves_its_place_to_others_and_is_given_up_in_the_end(shard):
    shard.flows = vignettes(2)
    # The drip takes 20 s, any other reply much less.
    shard.tuning = {"limits": {"timeout": 5.0, "concurrency": 1}}
    shard.endpoint.fault = lambda number, body: Fault(way="drip") if number == 0 else None
    assert shard.ask()["text"].notna().all()
    asked = [body["messages"] for body in shard.endpoint.bodies]
    assert asked[-1] == asked[0], "the others did not wait for it"
    assert sorted(shard.endpoint.asked.values()) == [1] * 11 + [2]
