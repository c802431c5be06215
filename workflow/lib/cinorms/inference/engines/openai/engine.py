"""How a model behind an OpenAI-compatible endpoint is declared: settings, what a job needs, how it is asked."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.inference.engine_kind import (
    Engine,
    EngineKind,
    Job,
    ModelCheck,
    Needs,
    RegistryPlace,
    always,
    stated,
)
from cinorms.inference.spec import Asked, Spec

if TYPE_CHECKING:
    from cinorms.inference.engines.openai.settings import OpenAISettings
    from cinorms.inference.settings import EntrySettings


def _settings() -> "type[EntrySettings]":
    from cinorms.inference.engines.openai.settings import OpenAISettings

    return OpenAISettings


def _identity(entry: Mapping[str, Any], place: RegistryPlace) -> dict[str, Any]:
    """Return the settings that can change a response; a reasoning model takes no temperature."""
    names = ("source", "revision", "dtype", "quantisation", "base_url", "reasoning")
    settings = stated(*names)(entry, place)
    reasoning = settings.get("reasoning")
    return {**settings, "temperature": None} if reasoning and "switch" not in reasoning else settings


def _reasoning(settings: "OpenAISettings", asked: Asked) -> dict[str, Any] | None:
    """Return the entry's `reasoning` with the arm's effort and budget: the same keys as if the entry stated them."""
    if settings.reasoning is None:
        return None
    stated = settings.reasoning.model_dump(exclude_unset=True)
    told = {**stated, "effort": asked.effort, "extra_tokens": asked.budget}
    return {"reasoning": told} if "switch" in told else {"reasoning": told, "temperature": None}


def _tuning(settings: "OpenAISettings", job: Job) -> dict[str, Any]:
    """Return how the endpoint is reached and paid; ``key_variable`` names a variable and holds no key."""
    return {
        "max_cost_usd": job.max_cost_usd,
        "key_variable": settings.needed_key_variable,
        "rates": settings.rates.model_dump(exclude_none=True),
        "limits": settings.limits.model_dump(exclude_none=True),
        "spending": job.spending,
        "job": job.name,
    }


def make_openai(spec: Spec, tuning: Mapping[str, Any], key: str | None) -> Engine:
    """Return the engine that asks the endpoint of ``spec``.

    Raises ``ConfigError`` where the key is missing, or the arm asks for what an API cannot do.
    """
    model = f"model {spec.model!r}"
    variable, wrap = tuning["key_variable"], spec.identity.get("wrap", "none")
    if variable and not key:
        raise ConfigError(
            f"{model}: the environment variable {variable} is not set; put the endpoint's key into it"
        )
    if wrap not in ("none", "chat_template"):
        raise ConfigError(
            f"{model}: wrap {wrap!r} is not possible, because an API wraps prompts itself; allowed: none"
        )
    if spec.readout != "text":
        raise ConfigError(
            f"{model}: readout {spec.readout!r} is not possible, because an API gives text only; use engine vllm"
        )
    try:
        import openai  # noqa: F401
    except ImportError:
        raise ConfigError(
            f"{model}: the package openai is not installed here; run `make` or use envs/openai.yaml"
        ) from None
    from cinorms.inference.engines.openai.endpoint import Endpoint
    from cinorms.inference.engines.openai.live import LiveEngine

    return LiveEngine(Endpoint(spec, tuning, key))


def _checks() -> tuple[ModelCheck, ...]:
    from cinorms.inference.engines.openai.preflight import CHECKS

    return CHECKS


ENGINE = EngineKind(
    name="openai",
    settings=_settings,
    make=make_openai,
    # --resources api_jobs=1: one job at a time, for an account with tight limits
    needs=Needs(memory_mb=always(2000), minutes=always(1440), more={"api_jobs": 1}),
    identity=_identity,
    reasoning=_reasoning,
    unseen=frozenset({"wrap"}),  # the endpoint wraps prompts itself
    wraps=True,
    tuning=_tuning,
    checks=_checks,
    environment="openai",
    packages=("openai",),
    public=("base_url",),
    paraphrases_with=("base_url", "reasoning"),
    origin=lambda entry: str(entry.get("base_url") or "OpenAI"),
)
