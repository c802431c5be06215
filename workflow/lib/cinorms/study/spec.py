"""The spec of an inference job: everything that can change a response, and nothing else."""

from __future__ import annotations

from typing import Any

from cinorms.inference.shards import shard_names
from cinorms.study.registry import load_planted
from cinorms.study.study import Study

#: Raise it by hand when the same spec would give other responses: every model is asked again. Say so in
#: CHANGELOG.md.
PROTOCOL = 1


def make_spec(study: Study, arm: str, model: str, shard: str) -> dict[str, Any]:
    """Return the spec of one shard of ``model`` in ``arm`` as plain data."""
    settings, entry = study.arms[arm], study.registry_entry(model)
    dataset = study.dataset(settings.dataset)
    spec = {
        "protocol": PROTOCOL,
        "engine": entry["engine"],
        "model": model,
        "shard": shard,
        "seed": study.seed,
        "scale": dataset.scale,
        "factors": list(dataset.factors),
        "select": settings.plain()["select"],
        "n_templates": study.templates(arm, model),
        "order_method": settings.orders.method,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "readout": settings.readout,
        "layout": entry.get("paper_layout", "single") if settings.layout == "paper" else settings.layout,
        "system": settings.system,
    }
    if entry["engine"] == "planted":
        return {**spec, "planted": planted_spec(study, entry["planted"])}
    identity = ("source", "revision", "dtype", "quantisation", "trust_remote_code", "base_url", "reasoning")
    if entry.get("reasoning"):
        spec["temperature"] = None  # a reasoning model takes none
    return {
        **spec,
        "wrap": _wrapper(settings.wrap, entry),
        **{k: entry[k] for k in identity if entry.get(k)},
    }


def make_tuning(study: Study, model: str) -> dict[str, Any]:
    """Return how ``model`` is reached and paid: what changes no response, and so must not be in its spec.

    ``key_variable`` is the name of an environment variable, never a key.
    """
    entry, settings = study.registry_entry(model), study.settings
    if entry["engine"] == "vllm":
        return {name: entry[name] for name in ("gpus", "max_model_len") if name in entry}
    if entry["engine"] != "openai":
        return {}
    return {
        "mode": settings.mode or entry.get("mode", "live"),
        "max_cost_usd": settings.max_cost_usd,
        "key_variable": entry.get("key_variable") or (None if entry.get("base_url") else "OPENAI_API_KEY"),
        "rates": entry.get("rates", {}),
        "limits": entry.get("limits", {}),
    }


def planted_spec(study: Study, planted: dict[str, Any]) -> dict[str, Any]:
    """Return a registry entry's ``planted`` with the coefficients it names put in."""
    if "norms" not in planted:
        return planted
    norms = load_planted(study.root, planted["norms"])
    stated = {k: v for k, v in planted.items() if k != "norms"}
    return {
        **{k: norms[k] for k in ("thresholds", "coefficients", "other_levels_sd") if k in norms},
        **stated,
    }


def shards_of(study: Study, arm: str, model: str) -> list[str]:
    """Return the names of the shards of ``model`` in ``arm``; what is not asked is not split."""
    if study.arms[arm].source != "model":
        return shard_names(1, 1)
    n_variants = study.templates(arm, model) * study.arms[arm].orders.count
    return shard_names(study.registry[model].get("shards", 1), n_variants)


def _wrapper(asked: str, entry: dict[str, Any]) -> str:
    """Return how a prompt is wrapped: what the arm asks for, or else what the model's entry says."""
    if asked == "registry":
        return str(entry.get("wrap", "chat_template"))
    if asked == "paper":
        return str(entry.get("paper_wrap", "none"))
    return asked
