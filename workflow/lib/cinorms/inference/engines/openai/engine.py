"""How a model behind an OpenAI-compatible endpoint is declared: settings, what a job needs, how it is asked."""

import math
from collections.abc import Mapping
from typing import Any

from cinorms.inference.engine_kind import (
    Engine,
    EngineKind,
    Needs,
    RegistryPlace,
    stated,
)
from cinorms.inference.engines.openai.preflight import CHECKS
from cinorms.inference.engines.openai.settings import OpenAISettings
from cinorms.inference.request import ReasoningLevel

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


def _request(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
    """Return the settings that can change a reply; a reasoning model takes no temperature."""
    names = ("source", "revision", "dtype", "quantisation", "base_url", "reasoning")
    settings = stated(*names)(entry, place)
    if entry.get("api") == "responses":
        settings["api"] = "responses"
    reasoning = settings.get("reasoning")
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
    unseen=frozenset({"wrap"}),  # the endpoint wraps prompts itself
    wraps=True,
    runtime=_runtime,
    checks=CHECKS,
    environment="openai",
    packages=("openai",),
    public=("base_url",),
    paraphrases_with=("base_url", "reasoning"),
    origin=lambda entry: str(entry.get("base_url") or "OpenAI"),
)
