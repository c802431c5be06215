"""What went wrong with a request to an OpenAI-compatible endpoint, and what that means."""

from __future__ import annotations

import hashlib
import json
import re
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urljoin

from cinorms.core.logs import redact
from cinorms.inference.engines.openai.limiter import read_retry_after

#: Characters of an endpoint's reason that are shown and kept.
LONGEST_REASON = 500
#: Times that a prompt with unreadable replies is sent: each of them is paid.
UNREADABLE_ATTEMPTS = 2

_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated")
_RETIRED = ("model_not_found", "model_deprecated", "deployment_not_found", "DeploymentNotFound")
#: Parameters that are the same in every request: refused once, refused always.
_COMMON = (
    "model",
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "seed",
    "messages[0].role",
)

#: Failures of the HTTP client after which nothing can have been answered.
_NEVER_SENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
#: What a request adds to base_url.
_CALLS = re.compile(r"/(chat/completions|files|batches)\b.*$")


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
    """Return what an exception of the openai package, of ``clients`` or of the HTTP client means."""
    import anyio
    import httpx2
    import openai

    if isinstance(error, TooLarge):
        return unreadable(str(error))
    if isinstance(error, openai.APIStatusError):
        response = error.response
        return judge_answer(response.status_code, response.content, response.headers, str(error.request.url))
    if isinstance(error, openai.APIConnectionError | httpx2.RequestError | ssl.SSLError | anyio.EndOfStream):
        cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
        sent = type(cause).__name__ not in _NEVER_SENT
        if type(cause).__name__ == "DecodingError":
            return unreadable(f"a reply that cannot be unpacked ({cause})")
        if sent and isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
            return Failure("again", "no reply in time", paid=True, overload=True, advice="down")
        return Failure("again", f"no connection ({type(cause).__name__}: {cause})", paid=sent, advice="down")
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
