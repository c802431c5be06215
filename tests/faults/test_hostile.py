"""An endpoint that answers nonsense, lies or listens: no reply costs another one, money or a secret."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai import batch_api, batch_notes, clients, live, replies

from ..specs import endpoint_tuning
from .conftest import KEY, Shard, every_file, once, spec, variants, vignettes
from .server import Endpoint, Fault, completion
from .test_batch import killed_when
from .test_kill import command, environment, files, journal_of

RATES = {"usd_per_million_input": 100.0, "usd_per_million_output": 1000.0}  # a reply: 0.008 + 0.004 dollars

Decide = Callable[[int, dict[str, Any]], Fault | None]


def altered(change: Callable[[dict[str, Any]], Any], where: str = "picture") -> Decide:
    """Return a fault: an answer that ``change`` has altered, for the prompts in which ``where`` appears."""

    def decide(number: int, body: dict[str, Any]) -> Fault | None:
        if where not in body["messages"][0]["content"]:
            return None
        reply = completion(body)
        changed = change(reply)
        content = changed if isinstance(changed, bytes) else json.dumps(changed or reply).encode()
        return Fault(200, content=content)

    return decide


def message(**fields: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of the message of an answer."""
    return lambda reply: reply["choices"][0]["message"].update(fields)


def packed(size: int, status: int = 200) -> Fault:
    """Return a reply of few bytes that has ``size`` of them, in MB, once it is unpacked."""
    content = gzip.compress(b" " * 2**20 * size)
    return Fault(status, content=content, headers={"Content-Encoding": "gzip"})


# --- A strange reply

ODD = [12345, 1.5, -1, True, [1], {"a": {}}, "fp_\ud800", "\x00", "", "x" * 10**6, 10**400, math.nan]


@pytest.mark.parametrize("field", ["id", "model", "system_fingerprint", "created", "usage", "object"])
def test_an_odd_field_costs_no_answer(shard: Shard, field: str) -> None:
    clean = Shard(shard.folder / "clean", shard.endpoint)
    clean.ask()
    values = iter(ODD * 10)
    shard.endpoint.fault = altered(lambda reply: reply.update({field: next(values)}))
    responses = shard.ask(chunk=1000)
    assert responses["text"].tolist() == tables_text(clean)
    assert set(shard.endpoint.asked.values()) == {2}  # once by each shard


def tables_text(shard: Shard) -> list[str]:
    return list(shard.ask()["text"])  # from the journal


@pytest.mark.parametrize(
    "fields",
    [
        {"content": [{"type": "text", "text": "strongly "}, {"type": "text", "text": "acceptable"}]},
        {"content": 3},
        {"content": "neutral \ud800"},
        {"content": "[" * 100_000},
        {"content": None, "refusal": {"reason": "I will not"}},
    ],
    ids=["parts", "number", "surrogate", "brackets", "refusal"],
)
def test_an_answer_in_another_shape_is_an_answer(shard: Shard, fields: dict[str, Any]) -> None:
    shard.flows = vignettes(4)
    shard.endpoint.fault = altered(message(**fields))
    responses = shard.ask()
    assert responses["text"].notna().all()
    assert (responses["finish_reason"] == "stop").all()
    assert set(shard.endpoint.asked.values()) == {1}


HOSTILE: dict[str, Fault] = {
    "brackets": Fault(200, content=b"[" * 100_000),
    "objects": Fault(200, content=b'{"a":' * 100_000),
    "nothing": Fault(200, content=b""),
    "a page": Fault(200, content=b"<html>"),
    "bytes": Fault(200, content=b"\xff\xfe\x00"),
    "no answer": Fault(200, content=b'{"choices": [{"message": {"content": {"a": 1}}}]}'),
    "a bomb": packed(100),
    "a bomb in an error": packed(100, status=500),
    "half packed": Fault(200, content=gzip.compress(b"{}")[:8] + b"x", headers={"Content-Encoding": "gzip"}),
    "not packed": Fault(200, content=b"{}", headers={"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_reply_that_cannot_be_read_is_asked_for_twice_and_costs_no_other(shard: Shard, name: str) -> None:
    shard.tuning = {"rates": RATES}
    shard.endpoint.fault = lambda number, body: (
        HOSTILE[name] if "picture 3 " in body["messages"][0]["content"] else None
    )
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
    assert "bomb" not in name or raw["error"].str.contains("more than 4,194,304 bytes").all()
    shard.out.unlink()
    shard.ask()
    assert shard.endpoint.number == 126


@pytest.mark.parametrize("status", [400, 500])
@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"error": {"message": "no \ud800", "code": "content_policy_violation"}}).encode(),
        json.dumps({"error": {"message": ["\ud800"], "code": {"a": 1}, "param": [2], "type": 3}}).encode(),
        json.dumps({"error": "\ud800"}).encode(),
        json.dumps({"detail": [{"msg": "\ud800"}]}).encode(),
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_an_error_of_any_shape_costs_no_answer(shard: Shard, status: int, content: bytes) -> None:
    shard.flows = vignettes(4)
    shard.endpoint.fault = lambda number, body: (
        Fault(status, content=content) if "picture 3 " in body["messages"][0]["content"] else None
    )
    responses = shard.ask(backoff=0.001, chunk=1000)
    assert set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {3}
    assert responses["text"].notna().sum() == 18


def test_an_error_in_a_charset_that_is_none_costs_no_answer(shard: Shard) -> None:
    shard.flows = vignettes(4)
    headers = {"Content-Type": "application/json; charset=zlib"}
    shard.endpoint.fault = once(Fault(500, content=b"{}", headers=headers))
    assert shard.ask()["text"].notna().all()


def test_an_endpoint_that_only_answers_nonsense_stops_the_job(shard: Shard) -> None:
    shard.flows = vignettes(1)  # fewer prompts than it takes to see that all are refused
    shard.variants = variants(templates=1, orders=2)
    shard.changes = {"n_templates": 1}
    shard.endpoint.fault = lambda number, body: Fault(200, content=b"<html>")
    with pytest.raises(EngineError, match=r"no JSON.*base_url"):
        shard.ask()
    assert shard.journal().read().num_rows == 0
    assert max(shard.endpoint.asked.values()) == 2


def test_what_can_be_handed_over_again_is_not_lost(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    from cinorms.inference.journal import Journal

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


def test_equal_ids_are_no_equal_replies(shard: Shard) -> None:
    shard.endpoint.fault = altered(lambda reply: reply.update(id="the same"))
    assert len(shard.ask()) == 120
    raw = shard.journal().read()
    assert raw.num_rows == 120
    assert set(raw["reply_id"].to_pylist()) == {"the same"}
    assert set(shard.endpoint.asked.values()) == {1}


# --- Money


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 0.4, "completion_tokens": -3},
        {"prompt_tokens": False, "completion_tokens": "0"},
        {"prompt_tokens": 1, "completion_tokens": 1},
        {},
        [],
        None,
    ],
)
def test_no_reply_is_free(shard: Shard, usage: object) -> None:
    shard.tuning = {"rates": RATES, "max_cost_usd": 1.0}

    def claim(reply: dict[str, Any]) -> None:
        reply["usage"] = usage
        reply["choices"][0]["message"]["content"] = "strongly unacceptable " * 3  # more than a token

    shard.endpoint.fault = altered(claim)
    with pytest.raises(EngineError, match="max_cost_usd"):
        shard.ask()
    assert 0 < shard.endpoint.number < 10  # a request costs at most about 0.12
    assert shard.last_run()["usd"] == pytest.approx(0.12 * shard.endpoint.number, rel=0.2)


# --- Secrets


def test_an_endpoint_that_echoes_the_key_has_it_stored_nowhere(shard: Shard) -> None:
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


@pytest.fixture
def elsewhere() -> Iterator[Endpoint]:
    """Return an endpoint that nobody should talk to."""
    with Endpoint() as running:
        yield running


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("mode", ["live", "batch"])
def test_prompts_do_not_follow_a_redirect(shard: Shard, elsewhere: Endpoint, status: int, mode: str) -> None:
    shard.tuning = {"mode": mode}
    asked: list[str] = []

    def redirect(path: str) -> Fault:
        asked.append(path)
        new = elsewhere.url + path.removeprefix("/v1")
        return Fault(status, content=b"", headers={"Location": new})

    shard.endpoint.every = redirect
    with pytest.raises(EngineError) as raised:
        shard.ask()
    assert f"it redirects to {elsewhere.url};" in str(raised.value)
    assert "base_url" in str(raised.value)
    assert not elsewhere.keys
    assert not elsewhere.number
    assert 1 <= len(asked) <= 16
    assert elsewhere.url.encode() not in every_file(shard.folder)


@pytest.mark.parametrize("location", [None, "/v2/chat/completions", "http://[", f"http://{KEY}.test/v1"])
def test_a_redirect_to_nowhere_is_one_message(shard: Shard, location: str | None) -> None:
    headers = {"Location": location} if location else {}
    shard.endpoint.fault = lambda number, body: Fault(307, content=b"", headers=headers)
    with pytest.raises(EngineError) as raised:
        shard.ask(backoff=0.001)
    assert KEY not in str(raised.value)


# --- Time


@pytest.mark.parametrize("after", ["-5", "0", "nan", "inf", "soon", "", "Wed, 21 Oct 2015 07:28:30 GMT"])
def test_useless_advice_to_wait_ends_with_the_longest_wait(
    shard: Shard, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "LONGEST_WAIT", 0.5)
    shard.endpoint.fault = lambda number, body: Fault(
        429, "rate_limit_exceeded", headers={"Retry-After": after}
    )
    with pytest.raises(EngineError, match="rate_limit_exceeded"):
        shard.ask(backoff=0.05)
    assert shard.endpoint.number < 40, "it asks again and again without a pause"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("after", ["3600", "1e308", "9" * 300, "Wed, 21 Oct 2815 07:28:30 GMT"])
def test_advice_to_wait_for_ever_ends_the_job(shard: Shard, status: int, after: str) -> None:
    shard.endpoint.fault = lambda number, body: Fault(status, "busy", headers={"Retry-After": after})
    started = time.monotonic()
    with pytest.raises(EngineError, match="busy"):
        shard.ask()
    assert time.monotonic() - started < 10


def test_a_reply_that_drips_is_given_up(shard: Shard) -> None:
    shard.flows = vignettes(2)
    shard.tuning = {"limits": {"timeout": 0.5}}
    shard.endpoint.fault = lambda number, body: Fault(way="drip") if number == 0 else None
    assert shard.ask()["text"].notna().all()
    assert sorted(shard.endpoint.asked.values()) == [1] * 11 + [2]


def test_ctrl_c_is_one_message_and_keeps_what_was_answered(tmp_path: Path, endpoint: Endpoint) -> None:
    endpoint.delay = 0.05
    given = files(tmp_path, spec(endpoint), vignettes(400), variants())
    given["tuning"] = endpoint_tuning()
    running = subprocess.Popen(
        command(given, tmp_path),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        # What a shell starts in the background ignores SIGINT, and so do the tests then and all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    end = time.monotonic() + 60
    while sum(endpoint.answered.values()) < 200 and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=30)
    assert running.returncode != 0
    assert "Stopped by Ctrl+C" in shown
    assert "Traceback" not in shown + (tmp_path / "job.log").read_text()
    assert journal_of(given).read().num_rows >= 200 - 64
    assert journal_of(given).runs()[-1]["status"] == "failed"


# --- Batches


@pytest.fixture
def batched(shard: Shard) -> Shard:
    shard.tuning = {"mode": "batch", "rates": RATES}
    return shard


@pytest.mark.parametrize("field", ["id", "model", "system_fingerprint", "created", "usage"])
def test_an_odd_field_costs_no_answer_of_a_batch(batched: Shard, field: str) -> None:
    values = iter(ODD * 10)
    batched.endpoint.line_body = lambda body: {**body, field: next(values)}
    assert batched.ask()["text"].notna().all()
    assert set(batched.endpoint.billed.values()) == {1}


@pytest.mark.parametrize("body", [None, [], {"choices": 3}, "x", {"choices": [{"message": {"content": {}}}]}])
def test_an_unreadable_line_is_asked_for_twice(batched: Shard, body: Any) -> None:
    marks: list[str] = []

    def spoil(reply: dict[str, Any]) -> Any:
        marks.append(reply["id"])
        return body if reply["id"] in marks[:6] else reply

    batched.endpoint.line_body = spoil
    responses = batched.ask()
    assert (responses["finish_reason"] == "error").sum() == 6
    assert sorted(batched.endpoint.billed.values()) == [1] * 114 + [2] * 6


@pytest.mark.parametrize("line", [b"[" * 100_000, b"", b"\xff", b"7", b'{"custom_id": "other"}'])
def test_a_line_that_never_comes_is_asked_for_twice(batched: Shard, line: bytes) -> None:
    def spoil(number: int, data: bytes) -> bytes:
        lines = data.splitlines()
        return b"\n".join([*lines[:-6], *[line] * 6]) if len(lines) > 6 else b"\n".join([line] * 6)

    batched.endpoint.spoil_download = spoil
    responses = batched.ask()
    assert (responses["finish_reason"] == "error").sum() == 6
    assert sorted(batched.endpoint.billed.values()) == [1] * 114 + [2] * 6


def test_a_line_that_is_too_long_is_an_error(batched: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "LONGEST_REPLY", 1000)
    first: list[str] = []

    def lengthen(reply: dict[str, Any]) -> dict[str, Any]:
        first.append(reply["id"])
        return {**reply, "object": "x" * 2000} if reply["id"] == first[0] else reply

    batched.endpoint.line_body = lengthen
    assert (batched.ask()["finish_reason"] == "error").sum() == 1
    assert max(batched.endpoint.billed.values()) == 2


def test_results_without_end_are_one_message(batched: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "LONGEST_RESULTS", 5000)
    with pytest.raises(EngineError, match="more than 5,000 bytes"):
        batched.ask()
    assert batched.endpoint.downloads == 1


@pytest.mark.parametrize("response", [7, "x", [], {"status_code": "x"}, {"status_code": [2]}, {}])
def test_a_line_of_another_shape_costs_no_answer(batched: Shard, response: Any) -> None:
    def spoil(number: int, data: bytes) -> bytes:
        lines = [json.loads(line) for line in data.splitlines()]
        if number == 1:
            lines[0] |= {"response": response, "error": response}
        return "\n".join(json.dumps(line) for line in [*lines, lines[-1]]).encode()

    batched.endpoint.spoil_download = spoil
    assert batched.ask()["text"].notna().all()
    assert sorted(batched.endpoint.billed.values()) == [1] * 119 + [2]


def test_a_batch_is_not_named_after_the_key(batched: Shard) -> None:
    create = batched.endpoint.create_batch
    batched.endpoint.create_batch = lambda given: {**create(given), "id": KEY}  # type: ignore[method-assign]
    with pytest.raises(EngineError, match="holds the key") as raised:
        batched.ask()
    assert KEY not in str(raised.value)
    assert KEY.encode() not in every_file(batched.folder)


STRANGE = [
    None,
    True,
    7,
    1.5,
    "",
    "x",
    [],
    [1],
    {},
    {"data": 3},
    {"data": [3, {"code": [1]}]},
    "\ud800",
    -(10**30),
]


@pytest.mark.parametrize(
    "field",
    ["output_file_id", "error_file_id", "request_counts", "errors", "metadata", "created_at", "status"],
)
def test_an_odd_field_of_a_batch_itself_is_harmless_or_one_message(
    batched: Shard, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_api, "ATTEMPTS", 2)
    for number, value in enumerate(STRANGE):
        if field == "status" and isinstance(value, str | int) and value != "" and value is not True:
            continue  # a status that the API may have one day: waited for
        one = Shard(
            batched.folder / str(number), batched.endpoint, tuning=batched.tuning, changes={"seed": number}
        )
        one.endpoint.billed.clear()
        one.endpoint.shown = lambda found, value=value: {**found, field: value}
        with suppress(EngineError):
            one.ask()
        one.endpoint.shown = lambda found: found
        assert one.ask()["text"].notna().all(), value
        assert max(one.endpoint.billed.values()) == 1, value


@pytest.mark.parametrize("name", STRANGE)
def test_an_odd_id_is_one_message_and_says_how_to_go_on(batched: Shard, name: Any) -> None:
    batched.endpoint.shown = lambda found: {**found, "id": name}
    with pytest.raises(EngineError) as raised:
        batched.ask()
    batched.endpoint.shown = lambda found: found
    if "delete the folder batches" in str(raised.value):
        shutil.rmtree(batched.journal().folder / "batches")
    assert batched.ask()["text"].notna().all()


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"7", b"null", b"[" * 100_000, b"{}", b'{"data": 3}', b"\xff"]
)
def test_an_answer_of_another_shape_to_a_call_is_one_message(batched: Shard, answer: bytes) -> None:
    for path in ("/files", "/batches"):
        batched.endpoint.every = lambda asked, path=path: (
            Fault(200, content=answer) if asked.endswith(path) else None
        )
        with pytest.raises(EngineError, match="nobody can read to a call of the Batch API"):
            batched.ask()


# --- Clocks


@pytest.mark.parametrize("days", [-4000, -1, 1, 4000])
def test_a_clock_that_was_wrong_when_a_batch_was_made_pays_for_nothing_twice(
    batched: Shard, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time
    with monkeypatch.context() as wrong:
        wrong.setattr(batch_notes.time, "time", lambda: now() + days * 86_400)
        killed_when(batched, "_create", wrong)
    for _ in range(150):  # of other people's, made since: the one that is looked for is on the second page
        batched.endpoint.create_batch(
            {"endpoint": "", "completion_window": "24h", "input_file_id": "file-in-0", "metadata": None}
        )
    batched.ask()
    assert set(batched.endpoint.billed.values()) == {1}
    assert batched.endpoint.number == 0
