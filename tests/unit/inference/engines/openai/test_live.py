"""Asking live on a clock that jumps from event to event: retries, how fast it asks, what it may spend."""

import asyncio
import json
import random
import socket
import ssl
import time
from collections import Counter
from itertools import count as count_from
from types import SimpleNamespace

import httpx2
import numpy as np
import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai import live

from .....asking import make_questions, make_runtime

AT_ONCE, DELAY = 8, 0.2
KEY = "sk-planted-live-1"
#: Every request may cost a dollar and, as the endpoint reports no tokens, does.
A_DOLLAR = {"usd_per_million_input": 0.0, "usd_per_million_output": 10_000.0}


class Loop(asyncio.SelectorEventLoop):
    """An event loop in which waiting takes no time."""

    def __init__(self):
        self.now = 0.0
        super().__init__()
        select = self._selector.select

        def jump(timeout):
            if timeout is None:  # for a thread
                return select(5)
            self.now += max(timeout, 1e-6)
            assert self.now < 100_000, "nothing happens any more"
            return select(0)

        self._selector.select = jump

    def time(self):
        return self.now


ANSWER = {"choices": [{"message": {"content": "neutral"}, "finish_reason": "stop"}]}


class Server(httpx2.AsyncBaseTransport):
    """An endpoint without a network: ``refuse(now, body)`` returns status and headers, an error, or None."""

    def __init__(self, loop, refuse, usage):
        self.loop, self.refuse, self.answer = loop, refuse, {**ANSWER, "usage": usage}
        self.under_way = self.most_under_way = 0
        self.answered = Counter()
        self.times = []

    async def handle_async_request(self, request):
        body = await request.aread()
        self.times.append(self.loop.now)
        if refusal := self.refuse(self.loop.now, body):
            await asyncio.sleep(0.001)
            if isinstance(refusal, Exception):
                raise refusal
            content = {"error": {"message": f"busy {KEY}"}} if refusal[0] != 200 else "no reply"
            return httpx2.Response(refusal[0], headers=refusal[1], json=content)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(DELAY)
        self.under_way -= 1
        self.answered[body] += 1
        return httpx2.Response(200, json=self.answer)


@pytest.fixture
def loop(monkeypatch):
    def at_once(function):
        async def call():
            return function()

        return call

    made = Loop()
    # The client looks in a thread at what it runs on: meanwhile the clock would run on.
    monkeypatch.setattr("openai._base_client.get_platform", lambda: "Linux")
    monkeypatch.setattr("openai._base_client.asyncify", at_once)
    monkeypatch.setattr(live.asyncio, "run", made.run_until_complete)
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=made.time, time=time.time))
    yield made
    made.close()


class Kept(dict):
    """The replies of a job, and what it was charged without a reply."""

    __call__ = dict.__setitem__

    def __init__(self):
        super().__init__()
        self.charges = []
        self.charge = self.charges.append


@pytest.fixture
def ask(loop, monkeypatch):
    """Return a function that asks ``n`` questions and returns the seconds that it took, and the endpoint."""

    def ask(n, refuse=lambda now, body: None, usage=None, rows=None, most_again=0, **more):
        server, began, kept = Server(loop, refuse, usage), loop.now, Kept()
        monkeypatch.setattr("httpx2._client.AsyncHTTPTransport", lambda **settings: server)
        random.seed(3)
        engine = live.LiveEngine(make_runtime(**{"limits": {"concurrency": AT_ONCE}, **more}), KEY)
        rows = np.arange(n) if rows is None else rows
        try:
            engine.ask(make_questions(n // 4, source="gpt-x"), rows, kept)
        finally:
            server.spent, server.kept, server.metadata = engine.usd, kept, engine.metadata()
            paid = sum(reply["usd"] or 0 for reply in kept.values()) + sum(kept.charges)
            assert engine.usd == pytest.approx(paid)
        assert sorted(kept) == rows.tolist()
        if len(rows) < n:
            return loop.now - began, server
        answers = [row for row, reply in kept.items() if reply["finish_reason"] != "error"]
        again = server.answered.total() - len(server.answered)
        assert (len(server.answered), again <= most_again) == (len(answers), True), (
            "nothing is answered twice"
        )
        return loop.now - began, server

    return ask


def at_random(share):
    draws = random.Random(1)
    return lambda now, body: (503, {}) if draws.random() < share else None


def test_as_many_as_allowed_are_under_way_and_single_refusals_cost_little(ask):
    clean, server = ask(200)
    assert clean < 1.1 * 200 * DELAY / AT_ONCE
    assert (server.most_under_way, len(server.answered)) == (AT_ONCE, 200)
    assert server.metadata == {"device": "https://api.openai.com/v1", "usd": None}
    assert {reply["usd"] for reply in server.kept.values()} == {None}
    seconds, _ = ask(200, at_random(0.01))
    assert clean / seconds > 0.85


@pytest.mark.parametrize("status", [429, 503])
def test_an_endpoint_that_is_down_for_minutes_is_left_alone_and_asked_again(ask, status):
    seconds, server = ask(40, lambda now, body: (status, {}) if now < 240 else None, rates=A_DOLLAR)
    assert sum(at < 240 for at in server.times) < AT_ONCE + 16
    assert seconds < 240 + live.LONGEST_PAUSE + 10
    assert sum(server.kept.charges) == (status == 503) * sum(at < 240 for at in server.times)


@pytest.mark.parametrize(
    ("refusal", "message", "seconds", "requests"),
    [
        ((429, {}), r"429 : busy \[key\]; pay, or wait", (900, 935), 50),
        ((503, {}), r"503 : busy \[key\]; check that the endpoint is up", (900, 935), 50),
        ((503, {"retry-after": "3600"}), "busy", (900, 1021), AT_ONCE + 9),
        ((503, {"retry-after": "Fri, 31 Dec 2100 23:59:59 GMT"}), "busy", (900, 1021), AT_ONCE + 9),
        ((503, {"retry-after": "soon"}), "busy", (900, 935), 50),
        (
            httpx2.ConnectError("refused"),
            r"no connection \(ConnectError: refused\); check",
            (0, 16),
            AT_ONCE + 5,
        ),
        (
            httpx2.RemoteProtocolError("illegal status line"),
            "illegal status line.*http or https",
            (0, 16),
            13,
        ),
    ],
)
def test_an_endpoint_that_never_answers_ends_the_job(ask, loop, refusal, message, seconds, requests):
    asked = []
    with pytest.raises(EngineError, match=message):
        ask(20, lambda now, body: asked.append(now) or refusal)
    assert seconds[0] <= loop.now <= seconds[1]
    assert len(asked) <= requests


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            socket.gaierror(socket.EAI_NONAME, "not known"),
            r"no connection \(gaierror: .*not known\); no machine has this name",
        ),
        (ssl.SSLCertVerificationError(1, "x"), "its certificate is not trusted: correct base_url"),
    ],
)
def test_what_cannot_heal_stops_at_once(ask, loop, cause, words):
    def fail(now, body):
        error = httpx2.ConnectError("failed")
        error.__cause__ = cause
        return error

    with pytest.raises(EngineError, match=words):
        ask(20, fail, rates=A_DOLLAR, max_usd=100.0)
    assert loop.now < 1
    if isinstance(cause, socket.gaierror):  # the network may be down
        ask(20, lambda now, body: fail(now, body) if 1.3 < now < 300 else None)


def test_a_question_that_always_fails_is_told_from_an_outage_also_by_the_next_run(ask):
    poison = lambda now, body: (503, {}) if b"flow 1 " in body else None  # noqa: E731
    seconds, server = ask(20, poison, most_again=1)
    failed = [row for row, reply in server.kept.items() if reply.get("failed")]
    assert (len(failed), seconds < 300) == (4, True)
    seconds, server = ask(20, poison, rows=np.array(sorted(failed)), rates=A_DOLLAR)
    assert all(reply["failed"] for reply in server.kept.values())
    assert (len(server.answered), server.answered.total(), seconds < 300) == (1, 1, True)
    assert sum(server.kept.charges) == len(server.times) == server.spent


def test_stated_limits_hold(ask):
    seconds, _ = ask(120, limits={"concurrency": AT_ONCE, "requests_per_minute": 60})
    assert seconds == pytest.approx(60, rel=0.05)
    seconds, server = ask(120, limits={"concurrency": AT_ONCE, "tokens_per_minute": 6_000})
    sizes = [len(json.loads(body)["messages"][0]["content"].encode()) for body in server.answered]
    tokens = sum((size + 16) / 4 + 100 for size in sizes)
    assert seconds == pytest.approx(60 * (tokens / 6_000 - 1), rel=0.1)


# --- Refusals


def nth(number, status):
    numbers = count_from()
    return lambda now, body: (status, {}) if next(numbers) == number else None


def test_a_prompt_that_is_refused_has_its_reason_for_a_reply_unless_all_are(ask):
    _, server = ask(12, nth(5, 413), limits={"concurrency": 2}, rates=A_DOLLAR)
    assert server.spent == pytest.approx(11.0)
    refused = [reply for reply in server.kept.values() if reply["finish_reason"] == "error"]
    assert refused == [{"finish_reason": "error", "error": "413 : busy [key]", "usd": 0.0}]
    with pytest.raises(EngineError, match=r"413 : busy \[key\]; every request would be refused; correct"):
        ask(12, lambda now, body: (413, {}), limits={"concurrency": 1})
    _, server = ask(4, lambda now, body: (413, {}))
    assert len(server.times) == 4, "too few to blame the request"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "check the key in a variable that its entry names as `key_variable`"),
        (404, "the endpoint does not know model 'gpt-x': it may have been retired"),
        (302, "it redirects to an address that it does not name; prompts are sent to no other address"),
    ],
)
def test_what_ends_a_job_names_what_to_do(ask, status, message):
    with pytest.raises(EngineError, match=message):
        ask(4, nth(0, status))


# --- Money


def test_the_next_request_is_not_sent_where_it_could_exceed_the_share_of_the_job(ask):
    for refuse in (lambda now, body: None, nth(1, 503)):
        with pytest.raises(EngineError, match=r"this job's share of max_cost_usd has 0\.5000 left"):
            ask(20, refuse, rates=A_DOLLAR, max_usd=2.5)
    _, server = ask(20, rates=A_DOLLAR, max_usd=20.0)
    assert server.spent == server.metadata["usd"] == pytest.approx(20.0)
    assert [reply["usd"] for reply in server.kept.values()] == pytest.approx([1.0] * 20)


def test_reported_tokens_are_paid_but_no_more_than_was_sent(ask):
    rates = {"usd_per_million_input": 100.0, "usd_per_million_output": 10_000.0}
    for n_output, each in ((3, 0.031), (1_000, None)):
        _, server = ask(4, usage={"prompt_tokens": 10, "completion_tokens": n_output}, rates=rates)
        most = [1 + (len(json.loads(body)["messages"][0]["content"]) + 16) / 1e4 for body in server.answered]
        assert server.spent == pytest.approx(4 * each if each else sum(most))


def test_a_reply_that_nobody_can_read_is_paid_and_its_prompt_asked_twice(ask):
    _, server = ask(20, nth(3, 200), rates=A_DOLLAR)
    assert server.spent == pytest.approx(21.0)
    _, server = ask(20, lambda now, body: (200, {}) if b"flow 0 " in body else None, rates=A_DOLLAR)
    failed = [reply for reply in server.kept.values() if reply["finish_reason"] == "error"]
    assert [(each["error"], each["usd"]) for each in failed] == [("a reply that is no JSON", 0.0)] * 4
    assert server.kept.charges == [1.0] * 8
    with pytest.raises(
        EngineError, match="a reply that is no JSON; check that the endpoint is up and that base_url"
    ):
        ask(20, lambda now, body: (200, {}))


def test_what_was_not_sent_when_the_job_stops_costs_nothing(ask):
    with pytest.raises(EngineError, match="key"):
        ask(100, nth(3, 401), rates=A_DOLLAR, limits={"concurrency": 4})
