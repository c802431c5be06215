"""How a model behind an OpenAI-compatible endpoint is declared: settings, what a job needs, how it is asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cinorms.inference.engine_kind import (
    Engine,
    EngineKind,
    ModelCheck,
    Needs,
    RegistryPlace,
    always,
    stated,
)
from cinorms.inference.request import ReasoningLevel

if TYPE_CHECKING:
    from cinorms.inference.engines.openai.settings import OpenAISettings
    from cinorms.inference.settings import EntrySettings


def _settings() -> "type[EntrySettings]":
    from cinorms.inference.engines.openai.settings import OpenAISettings

    return OpenAISettings


def _request(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
    """Return the settings that can change a reply; a reasoning model takes no temperature."""
    names = ("source", "revision", "dtype", "quantisation", "base_url", "reasoning")
    settings = stated(*names)(entry, place)
    if entry.get("api") == "responses":
        settings["api"] = "responses"
    reasoning = settings.get("reasoning")
    return {**settings, "temperature": None} if reasoning and "switch" not in reasoning else settings


def _reasoning(settings: "OpenAISettings", level: ReasoningLevel) -> dict[str, Any] | None:
    """Return the entry's `reasoning` with the arm's effort and budget: the same keys as if the entry stated them."""
    if settings.reasoning is None:
        return None
    stated = settings.reasoning.model_dump(exclude_unset=True)
    leveled = {**stated, "effort": level.effort, "extra_tokens": level.budget}
    return {"reasoning": leveled} if "switch" in leveled else {"reasoning": leveled, "temperature": None}


def _runtime(settings: "OpenAISettings") -> dict[str, Any]:
    """Return how the endpoint is reached and paid; ``key_variable`` names a variable and holds no key."""
    return {
        "key_variable": settings.needed_key_variable,
        "rates": settings.rates.model_dump(exclude_none=True),
        "limits": settings.limits.model_dump(exclude_none=True),
    }


def _make(runtime: Mapping[str, Any], key: str | None) -> Engine:
    from cinorms.inference.engines.openai.live import LiveEngine

    return LiveEngine(runtime, key)


def _checks() -> tuple[ModelCheck, ...]:
    from cinorms.inference.engines.openai.preflight import CHECKS

    return CHECKS


ENGINE = EngineKind(
    name="openai",
    settings=_settings,
    make=_make,
    # --resources api_jobs=1: one job at a time, for an account with tight limits
    needs=Needs(memory_mb=always(2000), minutes=always(1440), more={"api_jobs": 1}),
    request=_request,
    reasoning=_reasoning,
    unseen=frozenset({"wrap"}),  # the endpoint wraps prompts itself
    wraps=True,
    runtime=_runtime,
    checks=_checks,
    environment="openai",
    packages=("openai",),
    public=("base_url",),
    paraphrases_with=("base_url", "reasoning"),
    origin=lambda entry: str(entry.get("base_url") or "OpenAI"),
)
