"""What is sent to an OpenAI-compatible endpoint, what its failures mean, and what its replies hold."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.inference.engines.openai.replies import (
    LONGEST_WORD,
    Failure,
    body,
    clean,
    judge_status,
    path_of,
    read_reply,
)
from cinorms.prompts.variants import PAPER_REQUESTS

from .....asking import make_request

CHAT = [{"role": "user", "content": "Is it? ä"}]


def sent(**changes: Any) -> dict[str, Any]:
    return body(make_request(**{"source": "gpt-x", "seed": 5, **changes}), CHAT)


def test_what_is_sent():
    plain = {"model": "gpt-x", "messages": CHAT, "max_tokens": 100, "temperature": 0}
    assert sent() == plain
    assert sent(temperature=1) == {**plain, "temperature": 1, "seed": 5}
    assert sent(temperature=1, sample=3)["seed"] == 7
    as_the_authors = {"model": "gpt-x", "messages": CHAT, "temperature": 0}
    assert [sent(layout=layout) for layout in PAPER_REQUESTS] == [as_the_authors] * 2
    reasoning = sent(reasoning={"effort": "none", "extra_tokens": 50}, temperature=None)
    stated = {"max_completion_tokens": 150, "reasoning_effort": "none"}
    assert reasoning == {"model": "gpt-x", "messages": CHAT, **stated}
    assert "reasoning_effort" not in sent(reasoning={"extra_tokens": 50})
    switch = {"switch": "thinks", "budget_field": "budget", "extra_tokens": 50}
    on = sent(reasoning={**switch, "effort": "low"})
    assert on == {**plain, "max_tokens": 150, "chat_template_kwargs": {"thinks": True}, "budget": 50}
    assert sent(reasoning={**switch, "effort": "none", "extra_tokens": 0}) == {
        **plain,
        "chat_template_kwargs": {"thinks": False},
    }


def test_what_is_sent_to_the_api_of_responses():
    plain = {"model": "gpt-x", "input": CHAT, "max_output_tokens": 100, "store": False}
    assert sent(api="responses", temperature=1) == {**plain, "temperature": 1}
    reasoning = {"effort": "high", "extra_tokens": 900}
    stated = {"max_output_tokens": 1000, "reasoning": {"effort": "high"}}
    assert sent(api="responses", reasoning=reasoning, temperature=None) == plain | stated
    assert path_of(make_request(api="responses")) == "/responses"
    assert path_of(make_request()) == "/chat/completions"


@pytest.mark.parametrize(
    ("status", "error", "kind", "advice"),
    [
        (400, {"code": "content_policy_violation"}, "refused", "request"),
        (400, {"code": "context_length_exceeded", "param": "messages"}, "refused", "request"),
        (413, {}, "refused", "request"),
        (422, {"code": "bad"}, "refused", "request"),
        (400, {"code": "unsupported_parameter", "param": "max_tokens"}, "stop", "request"),
        (400, {"code": "billing_hard_limit_reached"}, "stop", "quota"),
        (402, {}, "stop", "quota"),
        (429, {"code": "insufficient_quota"}, "stop", "quota"),
        (429, {"type": "insufficient_quota", "code": None}, "stop", "quota"),
        (401, {"code": "invalid_api_key"}, "stop", "key"),
        (403, {}, "stop", "key"),
        (404, {"code": "model_not_found"}, "stop", "model"),
        (410, {}, "stop", "model"),
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
        found = judge_status(status, shape)
        assert (found.kind, found.advice) == (kind, advice)
    assert judge_status(502, "<html>", "Bad gateway").reason == "502 : Bad gateway"
    assert judge_status(308, None, location="http://x/v1").reason == "it redirects to http://x/v1"


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
    found = read_reply(raw, make_request(), secrets)
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
        ({"content": [{"type": "refusal", "refusal": "no"}]}, "stop", "no", "stop"),
        ({"content": "neutral", "refusal": {"reason": "none"}}, "stop", "neutral", "stop"),
        ({}, "stop", "", "stop"),
    ],
)
def test_unusual_replies(message, finish, text, read):
    found = answer(reply(choices=[{"message": message, "finish_reason": finish}]))
    assert (found["text"], found["finish_reason"]) == (text, read)
    assert (found["error"] is None) == (read != "error")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"choices": []}',
        b'{"choices": [{"message": "x"}]}',
        *(
            b'{"choices": [{"message": {"content": %s}}]}' % content
            for content in (b"true", b"[1]", b'[{"type": "text"}]', b'{"type": "text", "text": {}}')
        ),
    ],
    ids=lambda content: str(content[:50]),
)
def test_what_is_no_answer_is_unreadable(content):
    found = read_reply(content)
    assert isinstance(found, Failure)
    assert (found.kind, found.advice) == ("unreadable", "down")


#: Any JSON that is not too deep, lone surrogates included.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=40)
@given(field=st.sampled_from(["id", "model", "system_fingerprint", "created", "usage"]), value=JSON)
def test_whatever_a_reply_holds_can_be_stored_and_no_field_beside_the_answer_costs_it(field, value):
    found = answer(reply(**{field: value}))
    assert found["text"] == "neutral"
    choices = {"message": value}, {"finish_reason": value}, {"message": {"content": value, "refusal": value}}
    failures = [judge_status(400, {"error": {name: value}}) for name in ("code", "message", "param")]
    for each in (found, *failures, *(read_reply(reply(choices=[choice])) for choice in choices)):
        row = each if isinstance(each, dict) else {"error": clean(each.reason, [])}
        assert json.loads(json.dumps(row)) == row
        str(row).encode()


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
    assert "sk-p" not in clean("x" * 495 + key, [key], 500)
    # Servers of one's own have keys like "x" or "none": answers are left alone.
    assert answer(reply(), ["n"])["text"] == "neutral"


@pytest.mark.parametrize("code", [True, 3, 200, -1, 10**9, "429", None, 429])
def test_an_error_inside_a_200_is_judged_like_its_status_or_is_the_endpoints(code):
    found = read_reply(json.dumps({"error": {"code": code, "message": "no"}}).encode())
    assert isinstance(found, Failure)
    assert found.kind == ("wait" if code == 429 else "again")
    answer(reply(error={}))  # an empty error is none


# --- Counts and traces


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 80, "completion_tokens": 4}, (80, 4)),
        ({"prompt_tokens": 2**31, "completion_tokens": 10**400}, (None, None)),
        ({"prompt_tokens": "80", "completion_tokens": -1}, (None, None)),
        ({"prompt_tokens": True}, (None, None)),
        ([80, 2], (None, None)),
        ({"input_tokens": 80, "output_tokens": 4}, (80, 4)),
    ],
)
def test_counts_that_cannot_be_are_missing(usage, counts):
    found = answer(reply(usage=usage))
    assert (found["n_prompt_tokens"], found["n_output_tokens"]) == counts


SHOWN, INLINE = {"content": "no", "reasoning_content": "why not?"}, {"content": "<think>why</think>neutral"}
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": "why"}]}, {"type": "text", "text": "no"}]
SWITCH = {"switch": "s"}


@pytest.mark.parametrize(
    ("message", "finish", "reasoned", "reasoning", "found"),
    [
        ({"content": "no"}, "stop", 12, {}, ("no", None, 12, "whole")),
        ({"content": "no"}, "stop", 0, {}, ("no", None, 0, "none")),
        ({"content": "no"}, "stop", None, {}, ("no", None, None, None)),
        ({"content": "no"}, "stop", None, {"effort": "none"}, ("no", None, 0, "none")),
        ({"content": " "}, "length", 20, {}, (" ", None, 20, "cut")),
        ({"content": "Based on"}, "length", 12, {}, ("Based on", None, 12, "whole")),
        (SHOWN, "stop", None, {}, ("no", "why not?", 16, "whole")),
        (SHOWN, "stop", 3, {}, ("no", "why not?", 3, "whole")),
        ({"content": PARTS}, "stop", None, {}, ("no", "why", 12, "whole")),
        (INLINE, "stop", None, SWITCH, ("neutral", "why", 6, "whole")),
        (INLINE, "stop", None, {**SWITCH, "begin": "<x>"}, ("neutral", "<think>why", 12, "whole")),
        (
            INLINE,
            "stop",
            None,
            {},
            (INLINE["content"], None, None, None),
        ),  # without a switch it is the answer
        ({"content": "<think>why"}, "length", None, SWITCH, ("", "why", 20, "cut")),
        *(
            ({"content": "no", "reasoning": odd}, "stop", 0, {}, ("no", None, 0, "none"))
            for odd in (7, {}, [])
        ),
    ],
)
def test_a_trace_is_told_from_the_answer(message, finish, reasoned, reasoning, found):
    usage = {"prompt_tokens": 8, "completion_tokens": 20}
    usage |= {} if reasoned is None else {"completion_tokens_details": {"reasoning_tokens": reasoned}}
    raw = reply(choices=[{"message": message, "finish_reason": finish}], usage=usage)
    read = read_reply(raw, make_request(reasoning={"extra_tokens": 50, **reasoning}))
    assert tuple(read[name] for name in ("text", "trace", "n_trace_tokens", "trace_status")) == found


def response(**changes: Any) -> bytes:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}]}
    message = {"type": "message", "content": [{"type": "output_text", "text": "neutral"}]}
    whole = {"id": "resp_1", "created_at": 1_800_000_000.0, "model": "gpt-x-pro", "status": "completed"}
    whole |= {"error": None, "output": [thought, message]}
    usage = {"input_tokens": 80, "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 28}}
    return json.dumps({**whole, "usage": usage, **changes}).encode()


def test_a_reply_of_the_api_of_responses():
    found = read_reply(response(), make_request(reasoning={"effort": "high", "extra_tokens": 900}))
    assert found == {
        "text": "neutral",
        "trace": "why",
        "n_trace_tokens": 28,
        "trace_status": "whole",
        "finish_reason": "stop",
        "error": None,
        "n_prompt_tokens": 80,
        "n_output_tokens": 30,
        "reply_id": "resp_1",
        "created": 1_800_000_000,
        "answered_by": "gpt-x-pro",
        "fingerprint": None,
    }
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    assert answer(response(**cut))["finish_reason"] == "length"
    withheld = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    assert answer(response(**withheld))["finish_reason"] == "error"
    refused = [{"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}]
    assert answer(response(output=refused))["text"] == "I will not."
    for odd in ({"output": 1}, {"output": [{}]}, {"status": None}, {"output": [{"type": "message"}]}):
        assert isinstance(read_reply(response(**odd)), Failure)
    failed = read_reply(response(status="failed", error={"code": "server_error", "message": "no"}))
    assert isinstance(failed, Failure)
    assert failed.kind == "again"
