"""What both ways of asking an OpenAI-compatible endpoint share: requests, replies, and what failures mean."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from cinorms.core.errors import EngineError
from cinorms.core.logs import redact
from cinorms.inference.engines.openai.limiter import read_retry_after
from cinorms.inference.spec import Spec
from cinorms.inference.spending import Spending

OPENAI = "https://api.openai.com/v1"
#: Tokens that a chat format puts around one message, at most.
# ASSUME: 16 are enough for every endpoint's format; OpenAI's has 4.
TOKENS_AROUND_MESSAGE = 16

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


@dataclass(frozen=True)
class Endpoint:
    """One model at one endpoint, and what changes no response: how it is reached and paid."""

    spec: Spec
    #: What the engine's declaration makes of the model's entry: every key is there.
    tuning: Mapping[str, Any]
    key: str | None = field(repr=False)

    @property
    def model(self) -> str:
        """The name that the endpoint knows the model by."""
        return str(self.spec.identity["source"])

    @property
    def url(self) -> str:
        """The endpoint's address."""
        return str(self.spec.identity.get("base_url") or OPENAI)

    @property
    def limits(self) -> Mapping[str, Any]:
        """What the registry says the endpoint bears."""
        return dict(self.tuning["limits"])

    def client(self, asynchronous: bool) -> Any:
        """Return a client that never retries by itself: there is one retry layer, and it is the engine's."""
        import openai

        kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
        timeout = float(self.limits["timeout"])
        # A server of one's own may want no key, and must not be given OpenAI's.
        return kind(api_key=self.key or "none", base_url=self.url, max_retries=0, timeout=timeout)

    def body(self, chat: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        """Return the request that asks ``chat``."""
        spec, reasoning = self.spec, self.spec.identity.get("reasoning")
        body: dict[str, Any] = {"model": self.model, "messages": list(chat)}
        if reasoning:
            body["max_completion_tokens"] = self.most_output
            return body | ({"reasoning_effort": reasoning["effort"]} if "effort" in reasoning else {})
        body |= {"max_tokens": self.most_output, "temperature": spec.temperature}
        # At temperature 0 nothing is drawn, and some endpoints refuse the parameter.
        return body | ({"seed": spec.seed} if spec.temperature else {})

    @property
    def most_output(self) -> int:
        """The longest output that a request may have, in tokens, reasoning included."""
        reasoning = self.spec.identity.get("reasoning") or {}
        return self.spec.max_tokens + int(reasoning.get("extra_tokens", 0))

    def most_input(self, chat: Sequence[Mapping[str, str]]) -> int:
        """Return the most input tokens that ``chat`` can have: a token is at least one byte."""
        return sum(len(m["content"].encode("utf-8", "replace")) + TOKENS_AROUND_MESSAGE for m in chat)

    def spending(self, discount: float = 0.0) -> Spending:
        """Return the money that this job may spend."""
        tuning = self.tuning
        return Spending(
            Path(tuning["spending"]),
            str(tuning["job"]),
            tuning["max_cost_usd"],
            tuning["rates"],
            self.spec.model,
            discount,
        )

    def explain(self, failure: Failure) -> EngineError:
        """Return the message that tells the user why ``failure`` ends the job, and what to do."""
        variable = self.tuning["key_variable"]
        advice = {
            "key": f"check the key in {variable}"
            if variable
            else "name the variable that holds its key as `key_variable` of the model's entry in "
            "config/models.yaml",
            "quota": "pay or wait until the account may ask again, then run again",
            "model": (
                f"the endpoint does not know model {self.model!r}: it may have been retired, or the key may "
                "not see it. What was answered is kept; name a model that is still served in an entry of its "
                "own in config/models.yaml (it is another instrument), and check base_url"
            ),
            "request": (
                "every request would be refused; correct the model's entry in config/models.yaml "
                "(a reasoning model needs `reasoning`: it takes no temperature and a larger output limit)"
            ),
            "down": "see whether the endpoint is up and base_url is right, then run again",
        }
        do = advice[failure.advice or "down"]
        text = f"model {self.spec.model!r} at {self.url}: {failure.reason}; {do}"
        return EngineError(redact(f"{text}. Every response so far is in the journal", self.secrets))

    @property
    def secrets(self) -> list[str]:
        """What must appear nowhere."""
        return [self.key] if self.key else []

    def facts(self) -> dict[str, Any]:
        """Return what the run record says of the endpoint."""
        request = {name: value for name, value in self.body([]).items() if name != "messages"}
        return {"device": self.url, "request": request, "mode": self.tuning["mode"]}


@dataclass(frozen=True)
class Failure:
    """What went wrong with a request, and what it means.

    ``wait``: the endpoint is too busy; ``again``: it failed, another try may not; ``refused``: this prompt
    will always fail; ``stop``: every prompt will. ``paid``: the reply may have been made and charged.
    """

    kind: Literal["wait", "again", "refused", "stop"]
    reason: str
    retry_after: float | None = None
    advice: str | None = None
    paid: bool = False
    overload: bool = False


def progress(total: int, done: int) -> tqdm[Any]:
    """Return a progress bar: lively on a terminal, a line every half minute in a log."""
    pause = 0.5 if sys.stderr.isatty() else 30
    return tqdm(total=total, initial=done, unit="requests", mininterval=pause)


def judge(error: Exception) -> Failure:
    """Return what an exception of the openai package means."""
    import openai

    if isinstance(error, openai.APIStatusError):
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        return judge_status(error.status_code, error.body, headers, str(error.message))
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        sent = type(cause).__name__ not in _NEVER_SENT
        if sent and isinstance(error, openai.APITimeoutError):
            return Failure("again", "no reply in time", paid=True, overload=True, advice="down")
        reason = f"no connection ({type(cause).__name__}: {cause})"[:200]
        return Failure("again", reason, paid=sent, advice="down")
    raise error


def judge_status(status: int, body: object, headers: Mapping[str, str], message: str = "") -> Failure:
    """Return what an HTTP status other than 200 means, with the error object that came with it."""
    found = body if isinstance(body, dict) else {}
    found = found["error"] if isinstance(found.get("error"), dict) else found
    code, param = str(found.get("code") or found.get("type") or ""), str(found.get("param") or "")
    named = (code, str(found.get("type") or ""))
    reason = f"{status} {code}: {found.get('message') or message}".strip()[:500]
    if any(name in _QUOTA for name in named) or status == 402:
        return Failure("stop", reason, advice="quota")
    if status in (401, 403):
        return Failure("stop", reason, advice="key")
    if status == 404 or code in _RETIRED:
        return Failure("stop", reason, advice="model")
    if status == 429:
        return Failure("wait", reason, read_retry_after(headers), "quota")
    if status in (408, 409) or status >= 500:
        after = read_retry_after(headers)
        return Failure("again", reason, after, "down", overload=status == 503 or after is not None)
    if param in _COMMON or code.startswith("unsupported_") or code == "invalid_model":
        return Failure("stop", reason, advice="request")
    return Failure("refused", reason, advice="request")


def read_reply(content: bytes | str) -> dict[str, Any] | Failure:
    """Return the columns of ``journal.PART`` that a chat completion fills, or what is wrong with it.

    A reply that the endpoint's content filter cut off is no answer: its finish reason becomes ``error``, what
    it has of a text is kept.
    """
    try:
        body = json.loads(content)
    except ValueError:
        return Failure("again", "a reply that is no JSON", paid=True, advice="down")
    if isinstance(body, dict) and isinstance(body.get("error"), dict):  # some endpoints fail with status 200
        status = body["error"].get("code")
        return judge_status(status if isinstance(status, int) else 500, body, {})
    try:
        choice, usage = body["choices"][0], body.get("usage") or {}
        message = choice["message"]
        text = message.get("content")
        text = message.get("refusal") or "" if text is None else text
        finish = choice.get("finish_reason") or "unknown"
        filtered = finish == "content_filter"
        return {
            # A lone surrogate is no text that a file could hold.
            "text": text.encode("utf-8", "backslashreplace").decode(),
            "finish_reason": "error" if filtered else str(finish),
            "error": "content_filter: the reply was withheld" if filtered else None,
            "n_prompt_tokens": _whole(usage.get("prompt_tokens")),
            "n_output_tokens": _whole(usage.get("completion_tokens")),
            "reply_id": body.get("id"),
            "created": _whole(body.get("created")),
            "answered_by": body.get("model"),
            "fingerprint": body.get("system_fingerprint"),
        }
    except (KeyError, IndexError, TypeError, AttributeError):
        return Failure("again", "a reply without an answer", paid=True, advice="down")


def refusal(failure: Failure, secrets: Iterable[str]) -> dict[str, Any]:
    """Return the columns of a prompt that has no answer, with the reason."""
    return {"text": None, "finish_reason": "error", "error": redact(failure.reason, secrets), "usd": 0.0}


def _whole(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 <= value < 2**31 else None
