"""What the inference jobs of a study receive: the spec of each, settings that change no response, and time."""

import math
from pathlib import Path
from typing import Any

from cinorms.inference.companions import place_of
from cinorms.inference.engine_kind import TRACE_SHARE, EngineKind, Job, engine_kind, engine_modules
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.settings import ServedSettings, ShardsBy
from cinorms.inference.spec import PROTOCOL, Asked, Spec, in_repeat, shard_names
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS, Paraphraser
from cinorms.study.study import Study

#: Most minutes that a job requests for its traces. One that is stopped goes on where it was, and longer jobs fit in few
#: partitions.
MOST_MINUTES = 720


def make_spec(study: Study, arm: str, model: str, shard: str) -> Spec:
    """Return the spec of one shard of ``model`` in ``arm``."""
    settings, entry = study.arms[arm], study.registry_entry(model)
    stated: dict[str, Any] = {
        "model": model,
        "shard": shard,
        "scale": study.scale(arm).known,
        "factors": list(study.dataset(settings.dataset).factors),
        "select": settings.plain()["select"],
        "n_templates": study.templates(arm, model),
        "order_method": settings.orders.method,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "readout": settings.readout,
        "layout": entry.own_settings.paper_layout if settings.layout == "paper" else settings.layout,
        "system": settings.system,
    }
    reasoning = reasoning_of(entry, settings.reasoning.asked) if settings.reasoning else None
    return _spec(study, entry, settings.wrap, stated, reasoning or {})


def make_coder_spec(study: Study, scale: str) -> Spec:
    """Return the spec of the job in which the coder reads the replies to ``scale``."""
    entry = study.registry_entry(_coder(study))
    stated: dict[str, Any] = {
        "model": entry.name,
        "shard": shard_names(1, 1)[0],
        "scale": study.named_scale(scale).known,
        "factors": [],
        "select": {},
        "n_templates": 1,
        "order_method": "fixed",
        "temperature": 0.0,
        "max_tokens": study.settings.answers.max_tokens,
        "readout": "text",
        "layout": "single",
        "system": None,
    }
    return _spec(study, entry, "registry", stated, {})


def _spec(study: Study, entry: ModelEntry, wrap: str, stated: dict[str, Any], more: dict[str, Any]) -> Spec:
    """Return a spec of what is stated; the model's entry overrides it, and ``more`` overrides the entry."""
    wrapped = {}
    if entry.kind.wraps:
        if wrap in ("registry", "paper"):
            assert isinstance(entry.settings, ServedSettings), (
                "an engine that wraps prompts has these settings"
            )
            wrap = entry.settings.wrap if wrap == "registry" else entry.settings.paper_wrap
        wrapped = {"wrap": wrap}
    common = {"protocol": PROTOCOL, "engine": entry.engine, "seed": study.seed}
    return Spec.from_plain({**common, **stated, **wrapped, **entry.identity, **more})


def reasoning_of(entry: ModelEntry, asked: Asked) -> dict[str, Any] | None:
    """Return the keys of a spec that say how a model reasons; None where nobody knows how it is told."""
    return entry.kind.reasoning(entry.settings, asked) if entry.kind.reasoning else None


def make_coder_tuning(study: Study, scale: str, responses: str) -> dict[str, Any]:
    """Return `make_tuning` of the coder; its cost counts as the study's."""
    name, journal = f"coder.{scale}", coder_journal(study, scale, responses)
    return _tuning(study, study.registry_entry(_coder(study)), name, journal, responses)


def coder_journal(study: Study, scale: str, responses: str) -> dict[str, Any]:
    """Return `journal_of` for the coder."""
    return journal_of(study, f"coder.{scale}", _coder(study), responses)


def _coder(study: Study) -> str:
    assert study.coder is not None, "asked only where the study has a coder"
    return study.coder


def make_tuning(study: Study, arm: str, model: str, shard: str, responses: str) -> dict[str, Any]:
    """Return how ``model`` is reached and paid, which changes no response and so must not be in a spec.

    The paths in it are below ``responses``, the study's folder of responses. ``key_variable`` is the name of an
    environment variable, never a key.
    """
    entry, name = study.registry_entry(model), f"{arm}.{model}.{shard}"
    tuning = _tuning(study, entry, name, journal_of(study, arm, model, responses), responses)
    # An engine that takes no time to start has no companions to ask for.
    return tuning | ({"companions": place_of(responses, arm, model, shard)} if entry.kind.loads else {})


def _tuning(
    study: Study, entry: ModelEntry, name: str, journal: dict[str, Any], responses: str
) -> dict[str, Any]:
    job = Job(study.settings.max_cost_usd, spending_folder(responses), name)
    return {**journal, **entry.kind.tuning(entry.settings, job)}


def journal_of(study: Study, arm: str, model: str, responses: str) -> dict[str, Any]:
    """Return where replies of ``model`` are kept, and who asks: all studies next to this one share the folder."""
    return {"journal": str(Path(responses).parents[1] / ".journal"), "asker": [study.name, arm, model]}


def spending_folder(responses: str) -> str:
    """Return the folder in which the jobs of a study count what they spend."""
    return f"{responses}/.spending"


def shards_of(study: Study, arm: str, model: str) -> list[str]:
    """Return the names of the shards of ``model`` in the first asking of ``arm``; existing answers are one shard."""
    if study.arms[arm].source != "model":
        return shard_names(1, 1)
    templates, shards = study.templates(arm, model), study.registry[model].settings.shards
    n_variants = templates * study.arms[arm].orders.count
    if isinstance(shards, ShardsBy):
        # Variants are listed template by template, so as many equal runs as templates are the templates.
        shards = templates if shards.by == "template" else n_variants
    return shard_names(shards, n_variants)


def repeated_shards_of(study: Study, arm: str, model: str) -> list[str]:
    """Return the names of the shards of ``model`` in the further askings of ``arm``; none where it is asked once."""
    repeats = range(2, study.arms[arm].repeat + 1)
    return [in_repeat(shard, repeat) for repeat in repeats for shard in shards_of(study, arm, model)]


def all_shards_of(study: Study, arm: str, model: str) -> list[str]:
    """Return the names of the shards of ``model`` in every asking of ``arm``."""
    return [*shards_of(study, arm, model), *repeated_shards_of(study, arm, model)]


def paraphraser_environment(engine: str) -> EngineKind | type[Paraphraser]:
    """Return the declaration of a paraphraser's environment: its engine's, or its own if it is no engine."""
    return engine_kind(engine) if engine in engine_modules() else PARAPHRASERS[engine]


def asking_minutes(study: Study, arm: str, model: str, attempt: int) -> int:
    """Return the minutes to request for asking one shard of ``model`` in ``arm``, at this attempt."""
    entry = study.registry_entry(model)
    return entry.kind.needs.minutes(entry.settings, attempt) + attempt * trace_minutes(study, arm, model)


def trace_minutes(study: Study, arm: str, model: str) -> int:
    """Return the minutes to request for the traces of one shard of ``model`` in ``arm``; 0 where it writes none."""
    reasoning, entry = study.arms[arm].reasoning, study.registry_entry(model)
    if reasoning is None or not reasoning.budget or entry.kind.needs.tokens_per_minute is None:
        return 0
    settings = study.arms[arm]
    dataset = study.dataset(settings.dataset)
    # Selected levels cut all flows in proportion; a dataset in a file that states no number of rows counts as one flow.
    prompts = float(dataset.n_flows(study.null_principle(settings.dataset)) or 1) * settings.orders.count
    for factor, levels in settings.plain()["select"].items():
        known = dataset.factors.get(factor)
        prompts *= len(levels) / len(known) if known else 1
    share = entry.own_settings.rates.trace_share or TRACE_SHARE
    tokens = reasoning.budget * share * prompts * study.templates(arm, model)
    minutes = tokens / len(shards_of(study, arm, model)) / entry.kind.needs.tokens_per_minute(entry.settings)
    return min(math.ceil(minutes), MOST_MINUTES)
