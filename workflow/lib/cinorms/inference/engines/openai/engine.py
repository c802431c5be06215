"""How a model behind an OpenAI-compatible endpoint is declared: settings, what a job needs, how it is asked."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from cinorms.core.schema import NotRequired, Number, Value
from cinorms.inference.engine_kind import (
    Engine,
    EngineKind,
    Needs,
    RegistryLocation,
    stated,
)
from cinorms.inference.engines.openai.preflight import CHECKS
from cinorms.inference.engines.openai.replies import most_output
from cinorms.inference.request import Effort, ReasoningLevel
from cinorms.inference.settings import DAY, ServedSettings, TraceMarks


class OpenaiReasoning(TraceMarks):
    """For a model that reasons before it answers. It receives no temperature, unless it has a `switch`."""

    effort: NotRequired[Effort] = None
    """How long the model reasons; default: the model's own."""
    extra_tokens: int = Field(default=0, ge=0, le=1_000_000)
    """Tokens that reasoning may take, on top of the arm's max_tokens; an arm's own budget overrides it."""
    length_field: NotRequired[Literal["max_tokens", "max_completion_tokens"]] = None
    """Field of a request that limits trace and answer together, without a switch; default: max_completion_tokens.
    Ollama knows max_tokens alone."""
    switch: NotRequired[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """For a server of open models: variable of the chat template that is true for reasoning and false for none
    (enable_thinking), sent as chat_template_kwargs in place of the effort."""
    budget_field: NotRequired[str] = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Field of a request that limits the trace alone (thinking_token_budget of vLLM's server), if the server has
    one."""


class Limits(Value):
    """How fast the endpoint may be asked. Changes no response."""

    concurrency: int = Field(default=64, ge=1, le=10_000)
    """Most requests under way at once."""
    requests_per_minute: NotRequired[Number] = Field(default=None, gt=0, le=10**9)
    """Most requests per minute."""
    tokens_per_minute: NotRequired[Number] = Field(default=None, gt=0, le=10**12)
    """Most tokens per minute, counting the longest possible answers."""
    timeout: Number = Field(default=120.0, gt=0, le=86_400)
    """Seconds after which an unanswered request is sent again."""


class OpenAISettings(ServedSettings):
    """A model behind an endpoint that speaks one of OpenAI's APIs."""

    base_url: str | None = Field(default=None, pattern=r"^https?://[^@?\s]+$")
    """Address of an OpenAI-compatible endpoint (https://host/v1), without any key; null for OpenAI itself."""
    key_variable: NotRequired[str] = Field(default=None, pattern=r"^[A-Z][A-Z0-9_]*$")
    """Environment variable with the endpoint's key; default: OPENAI_API_KEY, or none with another base_url."""
    api: NotRequired[Literal["chat", "responses"]] = None
    """Which of the endpoint's APIs is asked: chat (/chat/completions; the default) or responses (/responses), where
    some of OpenAI's models answer only."""
    ends: NotRequired[str] = Field(default=None, pattern=DAY)
    """The day on which the endpoint stops serving the model, as 2027-01-14; checks and the plan warn from 60
    days before."""
    reasoning: NotRequired[OpenaiReasoning] = Field(default=None, description=str(OpenaiReasoning.__doc__))
    limits: Limits = Field(default=Limits(), description=str(Limits.__doc__))

    @property
    def needed_key_variable(self) -> str | None:
        """The environment variable with the key: a server of one's own never receives OpenAI's."""
        return self.key_variable or (None if self.base_url else "OPENAI_API_KEY")


#: Minutes for waiting and trying again, however little is asked.
BASE_MINUTES = 30
#: Seconds until a short answer is complete, tokens of it and its prompt, and tokens of a trace in a second.
# ASSUME: a slow endpoint. A job that is stopped goes on where it was, with more time.
ANSWER_SECONDS = 4.0
ANSWER_TOKENS = 400
TOKENS_PER_SECOND = 30.0


def _prompts_per_minute(settings: OpenAISettings) -> float:
    """Return how many prompts are answered in a minute, as far as the entry's limits allow."""
    limits = settings.limits
    tokens = limits.tokens_per_minute or math.inf
    requests = limits.requests_per_minute or math.inf
    return min(60 * limits.concurrency / ANSWER_SECONDS, requests, tokens / ANSWER_TOKENS)


def _request(entry: Mapping[str, Any], place: RegistryLocation) -> dict[str, Any]:
    """Return the settings that can change a reply; a reasoning model takes no temperature."""
    names = ("source", "revision", "dtype", "quantisation", "base_url", "reasoning")
    settings = stated(*names)(entry, place)
    if entry.get("api") == "responses":
        settings["api"] = "responses"
    reasoning = entry.get("reasoning")
    if reasoning == {}:  # it reasons as it does by itself
        settings["reasoning"] = reasoning = {"extra_tokens": 0}
    return {**settings, "temperature": None} if reasoning and "switch" not in reasoning else settings


def _reasoning(settings: OpenAISettings, level: ReasoningLevel) -> dict[str, Any] | None:
    """Return the entry's `reasoning` with the arm's effort and budget: the same keys as if the entry stated them."""
    if settings.reasoning is None:
        return None
    stated = settings.reasoning.model_dump(exclude_unset=True)
    leveled = {**stated, "effort": level.effort, "extra_tokens": level.budget}
    return {"reasoning": leveled} if "switch" in leveled else {"reasoning": leveled, "temperature": None}


def _runtime(settings: OpenAISettings) -> dict[str, Any]:
    """Return how the endpoint is reached and paid; ``key_variable`` names a variable and holds no key."""
    return {
        "key_variable": settings.needed_key_variable,
        "rates": settings.rates.model_dump(exclude_none=True),
        "limits": settings.limits.model_dump(exclude_none=True),
    }


def _make(runtime: Mapping[str, Any], key: str | None) -> Engine:
    from cinorms.inference.engines.openai.live import LiveEngine

    return LiveEngine(runtime, key)


ENGINE = EngineKind(
    name="openai",
    settings=OpenAISettings,
    make=_make,
    # --resources api_jobs=1: one job at a time, for an account with tight limits
    needs=Needs(
        memory_mb=lambda settings, attempt: 2000 * attempt,
        minutes=lambda settings, attempt: BASE_MINUTES * attempt,
        start_minutes=BASE_MINUTES,
        prompts_per_minute=_prompts_per_minute,
        tokens_per_minute=lambda settings: 60 * TOKENS_PER_SECOND * settings.limits.concurrency,
        more={"api_jobs": 1},
    ),
    request=_request,
    reasoning=_reasoning,
    unlimited=lambda request: most_output(request) is None,
    unseen=frozenset({"wrap"}),  # the endpoint wraps prompts itself
    runtime=_runtime,
    checks=CHECKS,
    environment="openai",
    packages=("openai",),
    public=("base_url",),
    origin=lambda entry: str(entry.get("base_url") or "OpenAI"),
)
