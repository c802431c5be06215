"""What a chat completion holds: the columns of a response, or why nobody can read it.

Endpoints that call themselves compatible send many shapes. Nothing of a reply leaves this module that a file could
not hold: one reply must not cost another.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from cinorms.core.logs import SHORTEST_KEY
from cinorms.inference.engines.openai.failures import Failure, clean, judge_status, unreadable

#: Bytes that a reply may have, unpacked; a reply of 100,000 tokens has half a million.
LONGEST_REPLY = 4 * 2**20
#: Characters that are kept of an id or a name.
LONGEST_WORD = 200

#: Kinds of the parts of a message that hold its text, and where; others (such as thinking) do not count.
_PARTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
#: Fields of a message in which servers send the trace; the first that has a text counts.
_TRACE_FIELDS = ("reasoning_content", "reasoning")
#: Types of the parts of a message that are its trace.
_TRACE_PARTS = ("thinking", "reasoning")
_UNLIKE_A_REPLY = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)


def read_reply(
    content: bytes, secrets: Sequence[str] = (), traces: TraceReading | None = None
) -> dict[str, Any] | Failure:
    """Return the columns of ``journal.PART`` that a chat completion fills, or what is wrong with it.

    ``traces``, for a model that reasons, keeps the trace apart: the columns about it, and its text as ``trace``.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return unreadable("a reply that is no JSON", content)
    return read_body(body, content, secrets, traces)


def read_body(
    body: Any, raw: bytes, secrets: Sequence[str] = (), traces: TraceReading | None = None
) -> dict[str, Any] | Failure:
    """Return the same of a reply that is no longer JSON, which came as the bytes ``raw``.

    A reply that the endpoint's content filter cut off is no answer: its finish reason becomes ``error``, what
    it has of a text is kept.
    """
    if len(raw) > LONGEST_REPLY:
        return unreadable(f"a reply of more than {LONGEST_REPLY:,} bytes", raw)
    failed = body.get("error") if isinstance(body, dict) else None
    if isinstance(failed, dict) and failed:  # some endpoints fail with status 200
        status = failed.get("code")
        return judge_status(status if isinstance(status, int) and 400 <= status < 600 else 500, body, {})
    try:
        choice, usage = body["choices"][0], body.get("usage")
        text = _text(choice["message"])
        finish = _word(choice.get("finish_reason"), secrets) or "unknown"
    except _UNLIKE_A_REPLY:
        return unreadable("a reply without an answer", raw)
    usage = usage if isinstance(usage, dict) else {}
    filtered = finish == "content_filter"
    n_output = _whole(usage.get("completion_tokens"))
    about = traces.columns(choice["message"], usage, text, finish, n_output) if traces else {"text": text}
    keys = [secret for secret in secrets if len(secret) >= SHORTEST_KEY]
    return {
        **{name: clean(value, keys) if isinstance(value, str) else value for name, value in about.items()},
        "finish_reason": "error" if filtered else finish,
        "error": "content_filter: the reply was withheld" if filtered else None,
        "n_prompt_tokens": _whole(usage.get("prompt_tokens")),
        "n_output_tokens": n_output,
        "reply_id": _word(body.get("id"), secrets),
        "created": _whole(body.get("created")),
        "answered_by": _word(body.get("model"), secrets),
        "fingerprint": _word(body.get("system_fingerprint"), secrets),
    }


def _text(message: dict[str, Any]) -> str:
    """Return the text of a message: a string, a number or parts; raise ``TypeError`` where it is none of these."""
    content = message.get("content")
    if content is None:
        refusal = message.get("refusal") or ""
        return refusal if isinstance(refusal, str) else json.dumps(refusal, ensure_ascii=False)
    if isinstance(content, int | float) and not isinstance(content, bool):
        return json.dumps(content)
    texts = []
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, dict):
            key = _PARTS.get(part.get("type", "text"))
            part = part[key] if key else ""
        texts.append(part)
    return "".join(texts)


def _word(value: object, secrets: Sequence[str]) -> str | None:
    """Return an id or a name, None for what is neither a word nor a number."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return clean(str(value), secrets, LONGEST_WORD)


def _whole(value: object) -> int | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if 0 <= value < 2**31 else None


class TraceReading(NamedTuple):
    """How to tell a trace from an answer: the marks, whether the text can have them, whether no trace is asked for.

    Endpoints name a trace in several ways, count it or not, show it or not. What none of them says stays missing.
    """

    begin: str = "<think>"
    end: str = "</think>"
    inline: bool = False
    off: bool = False

    def columns(
        self, message: dict[str, Any], usage: dict[str, Any], text: str, finish: str, n_output: int | None
    ) -> dict[str, Any]:
        """Return the columns of ``journal.PART`` about the trace, its text, and the text that is the answer.

        Where a server shows a trace that it does not count, its length is its share of the reply's characters.
        """
        trace, closed = _shown(message), True
        if trace is None and self.inline:
            trace, text, closed = split_trace(text, self.begin, self.end)
        details = usage.get("completion_tokens_details")
        n_tokens = _whole(details.get("reasoning_tokens")) if isinstance(details, dict) else None
        if n_tokens is None and trace is not None and n_output is not None:
            n_tokens = round(n_output * len(trace) / max(len(trace) + len(text), 1))
        if n_tokens is None and trace is None and self.off:
            n_tokens = 0
        ended = finish == "length" and not text.strip()
        return {
            "text": text,
            "trace": trace,
            "n_trace_tokens": n_tokens,
            "trace_status": status_of(n_tokens, trace, finished=closed and not ended),
        }


def _shown(message: dict[str, Any]) -> str | None:
    """Return the trace that a message has beside its content."""
    for name in _TRACE_FIELDS:
        if isinstance(trace := message.get(name), str) and trace:
            return trace
    content = message.get("content")
    parts = [p for p in content if isinstance(p, dict)] if isinstance(content, list) else []
    trace = "".join(_texts(p.get(p["type"])) for p in parts if p.get("type") in _TRACE_PARTS)
    return trace or None


def _texts(value: Any) -> str:
    if isinstance(value, str):
        return value
    texts = (p.get("text") for p in value if isinstance(p, dict)) if isinstance(value, list) else ()
    return "".join(text for text in texts if isinstance(text, str))


def split_trace(text: str, begin: str, end: str) -> tuple[str | None, str, bool]:
    """Return the trace at the beginning of ``text``, what follows it, and whether the trace is closed.

    The trace is None where there is none. A template can have opened it in the prompt: then ``end`` alone is in the
    text. Marks after the first ``end`` belong to the answer.
    """
    begin, end = begin.strip(), end.strip()
    opened = text.lstrip().startswith(begin)
    trace, closed, rest = text.partition(end)
    if not closed:
        return (text.lstrip()[len(begin) :], "", False) if opened else (None, text, True)
    if not opened and begin in trace:  # something else comes first: marks that the answer speaks of
        return None, text, True
    return trace.lstrip()[len(begin) if opened else 0 :], rest, True


def status_of(n_tokens: int | None, trace: str | None, finished: bool) -> str | None:
    """Return the status of a trace of which an engine tells some; ``finished``: it did not stop within it."""
    if not finished:
        return "cut"
    if n_tokens or (trace and trace.strip()):
        return "whole"
    return "none" if n_tokens == 0 else None
