"""What an endpoint answers: the columns of a response, or what went wrong and what that means.

Endpoints that call themselves compatible send many shapes. Nothing of a reply leaves this module that a file could
not hold: one reply must not cost another.
"""

import hashlib
import json
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

from cinorms.core.logs import SHORTEST_KEY, redact
from cinorms.inference.engines.openai.limiter import read_retry_after

#: Characters of an endpoint's reason that are shown and kept.
LONGEST_REASON = 500
#: Times that a prompt with unreadable replies is sent: each of them is paid.
UNREADABLE_ATTEMPTS = 2

_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated")
_RETIRED = ("model_not_found", "model_deprecated", "deployment_not_found", "DeploymentNotFound")
#: Parameters that are the same in every request: refused once, refused always.
_COMMON = {
    *("model", "temperature", "max_tokens", "max_completion_tokens", "reasoning_effort", "seed"),
    "messages[0].role",
}

#: Failures of the HTTP client after which nothing can have been answered.
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
#: What a request adds to base_url.
_CALLS = re.compile(r"/chat/completions\b.*$")

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


class TooLarge(Exception):
    """A reply has more bytes than one may have."""


@dataclass(frozen=True)
class Failure:
    """What went wrong with a request, and what it means.

    ``wait``: the endpoint is too busy; ``again``: it failed, another try may not; ``refused``: this prompt
    will always fail; ``stop``: every prompt will. ``paid``: the reply may have been made and charged.
    ``unreadable``: there is a reply, but nobody can read it. ``reason`` is as the endpoint wrote it: see ``clean``.
    """

    kind: Literal["wait", "again", "refused", "stop"]
    reason: str
    retry_after: float | None = None
    advice: str | None = None
    paid: bool = False
    overload: bool = False
    unreadable: bool = False


def clean(text: str, secrets: Iterable[str], longest: int | None = None) -> str:
    """Return ``text`` as a file can hold it: without secrets, lone surrogates and what is too long."""
    # Cut last: half a secret would not be found.
    return redact(text, secrets).encode("utf-8", "backslashreplace").decode()[:longest]


def parsed(text: str | bytes) -> Any:
    """Return what JSON holds; None where it cannot be read, as where it is nested without end."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def judge(error: Exception) -> Failure:
    """Return what an exception of ``clients`` or of the HTTP client means."""
    import anyio
    import httpx2

    if isinstance(error, TooLarge):
        return unreadable(str(error))
    if isinstance(error, httpx2.RequestError | ssl.SSLError | anyio.EndOfStream):
        sent = type(error).__name__ not in _NEVER_SENT
        if type(error).__name__ == "DecodingError":
            return unreadable(f"a reply that cannot be unpacked ({error})")
        if "Receive buffer too long" in str(error):  # as h11 calls headers without end
            return unreadable("a reply whose headers are too long")
        if sent and isinstance(error, httpx2.TimeoutException):
            return Failure("again", "no reply in time", paid=True, overload=True, advice="down")
        return Failure("again", f"no connection ({type(error).__name__}: {error})", paid=sent, advice="down")
    raise error


def judge_answer(status: int, content: bytes, headers: Mapping[str, str], asked: str) -> Failure:
    """Return what an answer with another status than 200 to a request to the address ``asked`` means."""
    if 300 <= status < 400:
        target = headers.get("location")
        if target:
            with suppress(ValueError):  # no address at all: shown as it is
                target = urljoin(asked, target)
            target = _CALLS.sub("", target)
        to = target or "an address that it does not name"
        return Failure("stop", f"it redirects to {to}", advice="redirect")
    text = content.decode("utf-8", "replace").strip()
    return judge_status(status, parsed(text), headers, text)


def judge_status(status: int, body: object, headers: Mapping[str, str], message: str = "") -> Failure:
    """Return what an HTTP status other than 200 means, with the error object that came with it."""
    error = body if isinstance(body, dict) else {}
    error = error["error"] if isinstance(error.get("error"), dict) else error
    code, kind, param, told = (
        str(value) if isinstance(value, str | int | float) else ""
        for value in map(error.get, ("code", "type", "param", "message"))
    )
    code = code or kind
    reason = f"{status} {code}: {told or message}".strip()
    if code in _QUOTA or kind in _QUOTA or status == 402:
        return Failure("stop", reason, advice="quota")
    if status in (401, 403):
        return Failure("stop", reason, advice="key")
    if status == 404 or code in _RETIRED:
        return Failure("stop", reason, advice="model")
    # To wait for no time is no advice: the pause is then the limiter's own.
    after = read_retry_after(headers) or None
    if status == 429:
        return Failure("wait", reason, after, "quota")
    if status in (408, 409) or status >= 500:
        return Failure("again", reason, after, "down", overload=status == 503 or after is not None)
    if param in _COMMON or code.startswith("unsupported_") or code == "invalid_model":
        return Failure("stop", reason, advice="request")
    return Failure("refused", reason, advice="request")


def unreadable(reason: str, raw: bytes | None = None) -> Failure:
    """Return the failure of an unreadable reply; the digest of its bytes tells two of them apart."""
    digest = f" (sha256 {hashlib.sha256(raw).hexdigest()})" if raw else ""
    return Failure("again", reason + digest, paid=True, advice="down", unreadable=True)


def refusal(failure: Failure, secrets: Iterable[str], usd: float | None = 0.0) -> dict[str, Any]:
    """Return the columns of a prompt that has no answer, with the reason."""
    error = clean(failure.reason, secrets, LONGEST_REASON)
    return {"text": None, "finish_reason": "error", "error": error, "usd": usd}


def read_reply(
    content: bytes, secrets: Sequence[str] = (), traces: "TraceReading | None" = None
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
    body: Any, raw: bytes, secrets: Sequence[str] = (), traces: "TraceReading | None" = None
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
