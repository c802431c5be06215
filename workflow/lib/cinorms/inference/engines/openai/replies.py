"""What an endpoint is sent and what it answers, by either of OpenAI's APIs; or what went wrong and what that means.

Endpoints that call themselves compatible send many shapes. Nothing of a reply leaves this module that a file could
not hold: one reply must not cost another.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from cinorms.core.logs import SHORTEST_KEY, redact
from cinorms.inference.request import OFF, Request
from cinorms.prompts.variants import PAPER_REQUESTS

OPENAI = "https://api.openai.com/v1"
#: Characters of an endpoint's reason, and of an id or a name, that are shown and kept.
LONGEST_REASON, LONGEST_WORD = 500, 200
#: Codes and types of errors that concern every request.
QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "access_terminated")
#: What to do about a failure that ends the job.
ADVICE = {
    "key": "check the key in {variable}",
    "quota": "pay, or wait until the account's limit resets, then run again",
    "model": "the endpoint does not know model {source!r}: it may have been retired, or the key may not see it. Check "
    "base_url, or give a model that is still served its own entry in config/models.yaml (it is another instrument)",
    "request": "every request would be refused; correct the model's entry in config/models.yaml (a reasoning model "
    "needs `reasoning`: it takes no temperature and a larger output limit)",
    "redirect": "prompts are sent to no other address than base_url; if that one is right, put it into base_url of the "
    "model's entry in config/models.yaml",
    "certificate": "its certificate is not trusted: correct base_url, or name the file with the certificate of whoever "
    "signed it in the environment variable SSL_CERT_FILE",
    "name": "no machine has this name: correct base_url (or HTTP_PROXY, HTTPS_PROXY)",
    "down": "check that the endpoint is up and that base_url (http or https?), HTTP_PROXY and HTTPS_PROXY are right, "
    "then run again",
}
#: The parts of a message that hold its text, and its trace: the field that has it, by their type.
_TEXTS = {"text": "text", "output_text": "text", "refusal": "refusal"}
_TRACES = {"thinking": "thinking"}
_UNLIKE_A_REPLY = (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError)


class Failure(NamedTuple):
    """What went wrong with a request, and what it means.

    ``wait``: the endpoint is too busy; ``again``: it failed, another try may not; ``lost``: there is no reply;
    ``unreadable``: there is one, but nobody can read it; ``refused``: this prompt will always fail; ``stop``: every
    prompt will; ``nowhere``: every prompt will, unless the address was right before.
    """

    kind: Literal["wait", "again", "lost", "unreadable", "refused", "stop", "nowhere"]
    reason: str
    advice: str = "down"
    #: Whether it may have been billed: it was sent, and the endpoint did not say that it refuses it.
    billed: bool = False
    #: Seconds that the endpoint asks to wait for.
    after: float = 0.0


def path_of(request: Request) -> str:
    """Return where requests are sent, below the endpoint's address."""
    return "/responses" if request.settings.get("api") == "responses" else "/chat/completions"


def most_output(request: Request) -> int | None:
    """Return the longest output that a request may have, in tokens, reasoning included; None where no limit is sent.

    The PETS authors' own requests state neither the longest answer nor a seed.
    """
    reasoning = request.settings.get("reasoning") or {}
    if request.layout in PAPER_REQUESTS and not reasoning and request.settings.get("api") != "responses":
        return None
    return request.max_tokens + int(reasoning.get("extra_tokens", 0))


def key_problem(variable: str, key: str) -> str:
    """Return why no request can hold a key; empty where it can."""
    if key.isascii() and key.isprintable():
        return ""
    return (
        f"the key in {variable} has characters that a request cannot hold (a line end, or other than ASCII); copy it "
        "again, without the line end"
    )


def body(request: Request, chat: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return what is sent to ask ``chat``."""
    reasoning, most = request.settings.get("reasoning") or {}, most_output(request)
    effort, switch = reasoning.get("effort"), reasoning.get("switch")
    sent: dict[str, Any] = {"model": request.settings["source"]}
    # A model that reasons, unless it has a switch, takes no temperature.
    drawn = {} if reasoning and not switch else {"temperature": request.temperature}
    if request.settings.get("api") == "responses":
        sent |= {"input": list(chat), "max_output_tokens": most, "store": False, **drawn}
        return sent | ({"reasoning": {"effort": effort}} if effort else {})
    sent["messages"] = list(chat)
    if most is None:
        return sent | drawn
    if reasoning and not switch:
        limit = {reasoning.get("length_field", "max_completion_tokens"): most}
        return sent | limit | ({"reasoning_effort": effort} if effort else {})
    sent |= {"max_tokens": most, **drawn}
    if effort:
        sent["chat_template_kwargs"] = {switch: effort != OFF}
        if effort != OFF and "budget_field" in reasoning:
            sent[reasoning["budget_field"]] = reasoning["extra_tokens"]
    # At temperature 0 nothing is drawn, and some endpoints refuse the parameter.
    return sent | ({"seed": request.seed + request.sample - 1} if request.temperature else {})


def clean(text: str, secrets: Iterable[str], longest: int | None = None) -> str:
    """Return ``text`` as a file can hold it: without secrets, lone surrogates and what is too long."""
    # Cut last: half a secret would not be found.
    return redact(text, secrets).encode("utf-8", "backslashreplace").decode()[:longest]


def parsed(text: str | bytes) -> Any:
    """Return what JSON holds; None where it cannot be read, as where it is nested without end."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def judge_status(status: int, content: Any, message: str = "", location: str = "") -> Failure:
    """Return what an HTTP status other than 200 means, with the error object that came with it."""
    if 300 <= status < 400:
        return Failure(
            "stop", f"it redirects to {location or 'an address that it does not name'}", "redirect"
        )
    error = content if isinstance(content, dict) else {}
    error = error["error"] if isinstance(error.get("error"), dict) else error
    code, kind, text = (str(error.get(name) or "") for name in ("code", "type", "message"))
    code = code or kind
    reason = f"{status} {code}: {text or message}".strip()
    if code in QUOTA or kind in QUOTA or status == 402:
        return Failure("stop", reason, "quota")
    if status in (401, 403):
        return Failure("stop", reason, "key")
    if status in (404, 410) or code == "model_not_found":
        return Failure("stop", reason, "model")
    if status == 407:
        return Failure("stop", reason)
    if status == 429:
        return Failure("wait", reason, "quota")
    if status in (408, 409) or status >= 500:
        return Failure("again", reason, billed=status >= 500)
    # A parameter is the same in every request: refused once, refused always.
    return Failure("stop" if code.startswith("unsupported_") else "refused", reason, "request")


def read_reply(
    content: bytes, request: Request | None = None, secrets: Sequence[str] = ()
) -> dict[str, Any] | Failure:
    """Return the reply to a ``request`` in what came with status 200, as the store has it, or what is wrong with it.

    A reply that the endpoint's content filter cut off is no answer: its finish reason becomes ``error``, what
    it has of a text is kept.
    """
    answer = parsed(content)
    if not isinstance(answer, dict):
        return Failure("unreadable", "a reply that is no JSON", billed=True)
    if isinstance(failed := answer.get("error"), dict) and failed:  # some endpoints fail with status 200
        status = failed.get("code")
        return judge_status(status if isinstance(status, int) and 400 <= status < 600 else 500, answer)
    read = _response if "output" in answer else _completion
    try:
        text, trace, finish, usage = read(answer)
        usage = usage if isinstance(usage, dict) else {}
    except _UNLIKE_A_REPLY:
        return Failure("unreadable", "a reply without an answer", billed=True)
    keys = [secret for secret in secrets if len(secret) >= SHORTEST_KEY]
    filtered = finish == "content_filter"
    n_output = _whole(usage.get("completion_tokens", usage.get("output_tokens")))
    reasoning = request.settings.get("reasoning") if request else None
    about = _about_trace(reasoning, text, trace, finish, n_output, usage)
    return {
        **{name: clean(value, keys) if isinstance(value, str) else value for name, value in about.items()},
        "finish_reason": "error" if filtered else finish and clean(finish, secrets, LONGEST_WORD),
        "error": "content_filter: the reply was withheld" if filtered else None,
        "n_prompt_tokens": _whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        "n_output_tokens": n_output,
        "reply_id": _word(answer.get("id"), secrets),  # names the reply to its provider
        "created": _whole(answer.get("created", answer.get("created_at"))),
        "answered_by": _word(answer.get("model"), secrets),
        "fingerprint": _word(answer.get("system_fingerprint"), secrets),
    }


def _completion(answer: dict[str, Any]) -> tuple[str, str | None, str, Any]:
    """Return text, trace, reason to end and usage of a chat completion."""
    choice = answer["choices"][0]
    message, finish = choice["message"], choice.get("finish_reason")
    content = message.get("content")
    if content is None:
        content = message.get("refusal") or ""
    named = message.get("reasoning_content") or message.get("reasoning")
    trace = named if isinstance(named, str) else _joined(content, _TRACES)
    return _joined(content, _TEXTS), trace or None, str(finish or "unknown"), answer.get("usage")


def _response(answer: dict[str, Any]) -> tuple[str, str | None, str, Any]:
    """Return the same of a reply of the responses API."""
    items = answer["output"]
    messages = [part for item in items if item["type"] == "message" for part in item["content"]]
    thoughts = [part for item in items if item["type"] == "reasoning" for part in item.get("summary") or ()]
    finish = "stop" if answer["status"] == "completed" else str(answer["incomplete_details"]["reason"])
    finish = "length" if finish == "max_output_tokens" else finish
    trace = "\n\n".join(part["text"] for part in thoughts)
    return _joined(messages, _TEXTS), trace or None, finish, answer.get("usage")


def _joined(content: Any, kinds: Mapping[str, str]) -> str:
    """Return the text of a message, or of those of its parts that are of these ``kinds``."""
    texts = []
    for part in [content] if isinstance(content, str | dict) else content:
        part = {"text": part} if isinstance(part, str) else part
        if field := kinds.get(part.get("type", "text")):
            value = part[field]
            texts.append(value if isinstance(value, str) else _joined(value, {"text": "text"}))
    return "".join(texts)


def _about_trace(
    reasoning: Mapping[str, Any] | None,
    text: str,
    trace: str | None,
    finish: str,
    n_output: int | None,
    usage: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the columns about the trace, its text, and the text that is the answer.

    Where a server shows a trace that it does not count, its length is its share of the reply's characters. What an
    endpoint does not tell stays missing.
    """
    if not reasoning:
        return {"text": text}
    closed = True
    if trace is None and "switch" in reasoning:
        trace, text, closed = split_trace(
            text, reasoning.get("begin", "<think>"), reasoning.get("end", "</think>")
        )
    details = usage.get("completion_tokens_details", usage.get("output_tokens_details"))
    n_tokens = _whole(details.get("reasoning_tokens")) if isinstance(details, dict) else None
    if n_tokens is None and trace is not None and n_output is not None:
        n_tokens = round(n_output * len(trace) / max(len(trace) + len(text), 1))
    if n_tokens is None and trace is None and reasoning.get("effort") == OFF:
        n_tokens = 0
    status = "whole" if n_tokens or (trace and trace.strip()) else "none" if n_tokens == 0 else None
    if not closed or (finish == "length" and not text.strip()):
        status = "cut"
    return {"text": text, "trace": trace, "n_trace_tokens": n_tokens, "trace_status": status}


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


def _word(value: object, secrets: Sequence[str]) -> str | None:
    """Return an id or a name; None for what is none."""
    return clean(value, secrets, LONGEST_WORD) if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    """Return a count that a table can hold; None for what is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return int(value) if 0 <= value < 2**31 else None
