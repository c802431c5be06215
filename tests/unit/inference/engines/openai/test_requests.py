"""What is sent to an OpenAI-compatible endpoint, what its failures mean, and what its replies hold."""

import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.core.errors import ConfigError, EngineError, JournalError
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.replies import LONGEST_WORD, Failure, judge_status, read_reply, refusal
from cinorms.inference.journal import PART
from cinorms.inference.spending import CapReached, Spending, spent_in

from .....specs import endpoint_tuning, make_spec

CHAT = [{"role": "user", "content": "Is it? ä"}]
SPEC = {"source": "gpt-x", "seed": 5}


def body(**changes: Any) -> dict[str, Any]:
    return Endpoint(make_spec(**{**SPEC, **changes}), endpoint_tuning(), None).body(CHAT)


def test_requests():
    assert body() == {"model": "gpt-x", "messages": CHAT, "max_tokens": 100, "temperature": 0}
    assert body(temperature=1) == {**body(), "temperature": 1, "seed": 5}
    reasoning = body(reasoning={"effort": "none", "extra_tokens": 50}, temperature=None)
    told = {"max_completion_tokens": 150, "reasoning_effort": "none"}
    assert reasoning == {"model": "gpt-x", "messages": CHAT, **told}
    assert "reasoning_effort" not in body(reasoning={"extra_tokens": 50})


def test_an_endpoint_hides_its_key_and_counts_at_most_a_token_per_byte():
    endpoint = Endpoint(make_spec(**SPEC), endpoint_tuning(), "sk-secret")
    assert "sk-secret" not in repr(endpoint)
    assert endpoint.most_input(CHAT) >= len("Is it? ä".encode()) + 4


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
def test_what_a_status_means(status, error, kind, advice):
    for shape in (error, {"error": error}):
        found = judge_status(status, shape, {})
        assert (found.kind, found.advice) == (kind, advice)


def test_an_error_that_is_no_object_is_still_judged_and_so_is_a_retry_after():
    assert judge_status(502, "<html>", {}, "Bad gateway").reason == "502 : Bad gateway"
    assert judge_status(429, {}, {"retry-after": "3"}).retry_after == 3
    busy = judge_status(503, {}, {"retry-after": "3"})
    assert (busy.retry_after, busy.overload) == (3, True)


def reply(**changes: Any) -> bytes:
    whole = {
        "id": "chatcmpl-1",
        "created": 1_800_000_000,
        "model": "gpt-x-2024",
        "system_fingerprint": "fp",
        "choices": [{"message": {"content": "neutral"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 80, "completion_tokens": 2},
    }
    return json.dumps({**whole, **changes}).encode()


def answer(raw: bytes, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """Return the columns of a reply that holds an answer."""
    found = read_reply(raw, secrets)
    assert isinstance(found, dict)
    return found


def test_a_reply():
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
    ("message", "finish", "text", "read"),
    [
        ({"content": ""}, "length", "", "length"),
        ({"content": None}, "length", "", "length"),
        ({"content": None, "refusal": "I will not."}, "stop", "I will not.", "stop"),
        ({"content": "  raw \n"}, None, "  raw \n", "unknown"),
        ({"content": "half"}, "content_filter", "half", "error"),
        ({"content": "a\ud800b"}, "stop", "a\\ud800b", "stop"),
        # Content in the shapes that servers send.
        ({"content": [{"type": "text", "text": "neu"}, {"text": "tral"}]}, "stop", "neutral", "stop"),
        ({"content": [{"type": "thinking", "thinking": []}, "neutral"]}, "stop", "neutral", "stop"),
        ({"content": {"type": "text", "text": "neutral"}}, "stop", "neutral", "stop"),
        ({"content": []}, "stop", "", "stop"),
        ({"content": 4}, "stop", "4", "stop"),
        ({"content": 0.5}, "stop", "0.5", "stop"),
        ({"content": None, "refusal": {"reason": "ä"}}, "stop", '{"reason": "ä"}', "stop"),
        ({"content": [{"type": "refusal", "refusal": "no"}]}, "stop", "no", "stop"),
        ({"content": "neutral", "refusal": {"reason": "none"}}, "stop", "neutral", "stop"),
        ({}, "stop", "", "stop"),
    ],
)
def test_unusual_replies(message, finish, text, read):
    found = answer(reply(choices=[{"message": message, "finish_reason": finish}]))
    assert (found["text"], found["finish_reason"]) == (text, read)
    assert (found["error"] is None) == (read != "error")


#: What is no answer, however it is read.
NO_ANSWER = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"{}",
    b"7",
    b"[" * 100_000,
    b'{"choices":' * 100_000,
    b"\xff\xfe",
    b'{"choices": []}',
    b'{"choices": {}}',
    b'{"choices": [{}]}',
    b'{"choices": [null]}',
    b'{"choices": [{"message": "x"}]}',
    b'{"choices": [{"message": {"content": true}}]}',
    b'{"choices": [{"message": {"content": [1]}}]}',
    b'{"choices": [{"message": {"content": [{"type": "text"}]}}]}',
    b'{"choices": [{"message": {"content": {"type": "text", "text": {}}}}]}',
    b"<html>",
]


@pytest.mark.parametrize("content", NO_ANSWER, ids=lambda content: str(content[:50]))
def test_no_answer_counts_as_paid_and_shows_its_digest(content):
    found = read_reply(content)
    assert isinstance(found, Failure)
    assert (found.kind, found.paid, found.unreadable) == ("again", True, True)
    assert (hashlib.sha256(content).hexdigest() in found.reason) == bool(content)


@pytest.mark.parametrize(
    "usage", [None, [], [80, 2], 82, "82", True, {}, {"prompt_tokens": "80"}, {"prompt_tokens": -1}]
)
def test_an_odd_usage_costs_no_answer(usage):
    found = answer(reply(usage=usage, created=None))
    assert (found["text"], found["n_prompt_tokens"], found["created"]) == ("neutral", None, None)


#: Any JSON that is not too deep, lone surrogates included.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(field=st.sampled_from(["id", "model", "system_fingerprint", "created", "usage"]), value=JSON)
def test_no_field_beside_the_answer_costs_it(field, value):
    found = answer(reply(**{field: value}))
    assert found["text"] == "neutral"
    part(found)


@given(
    st.dictionaries(st.sampled_from(["message", "finish_reason"]), JSON)
    | st.builds(lambda value: {"message": {"content": value, "refusal": value}}, JSON)
)
def test_whatever_an_answer_holds_can_be_stored(choice):
    found = read_reply(reply(choices=[choice]))
    part(refusal(found, []) if isinstance(found, Failure) else found)


@given(
    status=st.integers(300, 599), error=st.dictionaries(st.sampled_from(["code", "message", "param"]), JSON)
)
def test_whatever_an_error_holds_can_be_stored(status, error):
    part(refusal(judge_status(status, {"error": error}, {}), []))


def part(row: dict[str, Any]) -> None:
    """Make a row a part of a journal, as strictly as the journal does."""
    for name, value in row.items():
        array = pa.array([value], PART.field(name).type)
        assert str(array[0].as_py()) == str(value)
        str(value).encode()


def test_the_key_is_taken_out_of_every_field():
    key = "sk-planted-77777777"
    parts = [{"type": "text", "text": f"{key[:9]}"}, {"type": "text", "text": f"{key[9:]} neutral"}]
    choice = {"message": {"content": parts}, "finish_reason": key}
    padded = "x" * (LONGEST_WORD - 5) + key  # the place where it is cut is in the key
    raw = reply(id=padded, model=key, system_fingerprint=key, choices=[choice])
    found = answer(raw.replace(b"planted", b"\\u0070lanted"), [key])
    assert found["text"] == "[key] neutral"
    assert "sk-p" not in str(found)
    assert answer(reply(id="x" * 10**6))["reply_id"] == "x" * LONGEST_WORD
    assert "sk-p" not in refusal(Failure("refused", "x" * 495 + key), [key])["error"]
    # Servers of one's own have keys like "x" or "none": answers are left alone.
    assert answer(reply(), ["n"])["text"] == "neutral"


@pytest.mark.parametrize("code", [True, 3, 200, -1, 10**9, "429", None, 429])
def test_an_error_inside_a_200_is_judged_like_its_status_or_is_the_endpoints(code):
    found = read_reply(json.dumps({"error": {"code": code, "message": "no"}}).encode())
    assert isinstance(found, Failure)
    assert found.kind == ("wait" if code == 429 else "again")
    answer(reply(error={}))  # an empty error is none


def test_a_refusal_keeps_its_reason_without_the_key():
    row = refusal(Failure("refused", "400: no, sk-1"), ["sk-1"])
    assert row == {"text": None, "finish_reason": "error", "error": "400: no, [key]", "usd": 0.0}


@given(st.binary(max_size=60))
def test_whatever_comes_back_is_a_reply_or_a_failure(content):
    assert isinstance(read_reply(content), dict | Failure)


# --- Money


@pytest.mark.parametrize("nothing", [0, None])
def test_what_a_reply_does_not_say_costs_the_most(nothing, tmp_path):
    endpoint = Endpoint(make_spec(**SPEC), endpoint_tuning(), None)
    money = Spending(tmp_path, "a", None, RATES, "m")
    most = money.price(endpoint.most_input(CHAT), endpoint.most_output)
    assert endpoint.cost(money, CHAT, {"n_prompt_tokens": nothing, "n_output_tokens": nothing}) == most
    assert endpoint.cost(money, CHAT, {}) == most
    said = {"n_prompt_tokens": 10, "n_output_tokens": 2}
    assert endpoint.cost(money, CHAT, said) == money.price(10, 2) < most


RATES = {"usd_per_million_input": 1.0, "usd_per_million_output": 10.0}


def spending(folder: Path, job: str = "a", cap: float | None = 1.0) -> Spending:
    return Spending(folder, job, cap, RATES, "m")


def test_prices(tmp_path):
    assert spending(tmp_path).price(1_000_000, 100_000) == pytest.approx(2.0)
    assert not Spending(tmp_path, "a", None, {}, "m").priced


@given(
    requests=st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 1)), max_size=40), n_jobs=st.integers(1, 3)
)
@settings(max_examples=30)
def test_jobs_together_never_pass_the_cap(requests, n_jobs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("money")
    jobs = [spending(folder, str(n)) for n in range(n_jobs)]
    spent = 0.0
    for number, (most, share) in enumerate(requests):
        job = jobs[number % n_jobs]
        with suppress(CapReached):
            job.reserve(most)
            job.settle(most, most * share)
            spent += most * share
            assert spent <= 1.0 + 1e-9
    for job in jobs:
        job.close()
    assert (spent_in(folder) or 0.0) == pytest.approx(spent)


def test_a_killed_job_counts_what_it_had_taken(tmp_path):
    killed = spending(tmp_path)
    killed.reserve(0.4)
    again = spending(tmp_path)
    with pytest.raises(CapReached, match=r"could exceed max_cost_usd \(1\)"):
        again.reserve(0.7)
    again.reserve(0.5)
    other = spending(tmp_path, "b")
    with pytest.raises(CapReached):
        other.reserve(0.2)


def test_a_cap_without_prices_and_prices_of_nothing(tmp_path):
    with pytest.raises(ConfigError, match=r"rates.usd_per_million_input"):
        Spending(tmp_path, "a", 1.0, {"usd_per_million_output": 1}, "m")
    free = Spending(tmp_path, "a", 1.0, {"usd_per_million_input": 0, "usd_per_million_output": 0}, "m")
    free.reserve(free.price(10**9, 10**9))
    assert spent_in(tmp_path) in (None, 0.0)


NO_AMOUNTS = ["NaN", "-1", "Infinity", "-Infinity", "1e999", "1" * 400, "true", "null", '"0.1"']


@pytest.mark.parametrize(
    "content", [None, "", "{", "[]", "1", "null", "{}", *(f'{{"usd": {odd}}}' for odd in NO_AMOUNTS)]
)
@pytest.mark.parametrize("name", ["a", "b"])
def test_a_damaged_file_never_raises_the_cap(name, content, tmp_path):
    """The job's own or another's; before the job begins or while it asks. None stands for a folder."""
    path = tmp_path / f"{name}.json"
    if name == "b":
        running = spending(tmp_path)
        running.reserve(0.005)
    if content is None:
        path.mkdir()
    else:
        path.write_text(content)
    message = re.escape(f"{path}: states no amount") + "(?s:.)*Write .*make status"
    with pytest.raises(EngineError, match=message):
        spending(tmp_path)
    if name == "b":
        running.reserve(0.004)  # it has taken this already
        with pytest.raises(EngineError, match=message):
            running.reserve(0.1)
        running.close()
        assert json.loads((tmp_path / "a.json").read_text()) == {"usd": pytest.approx(0.009)}
    with pytest.raises(EngineError, match=message):
        spent_in(tmp_path)
    spending(tmp_path, cap=None).reserve(1e6)  # nothing is counted without a cap
    path.rmdir() if content is None else path.write_text('{"usd": 0.5}')
    if content is not None:
        with pytest.raises(CapReached):
            spending(tmp_path).reserve(0.6)


def test_a_desktops_file_is_no_amount_and_a_folder_that_is_a_file_is_one_message(tmp_path, capsys):
    (tmp_path / "._b.json").write_bytes(b"\0\xff")
    money = spending(tmp_path)
    money.reserve(0.5)
    assert spent_in(tmp_path) == 0.5
    assert capsys.readouterr().out.count("._b.json") == 1
    (tmp_path / "money").write_text("")
    with pytest.raises(JournalError, match=r"money: cannot write what is spent"):
        spending(tmp_path / "money")
