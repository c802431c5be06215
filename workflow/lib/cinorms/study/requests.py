"""What the jobs of a study that ask receive: the request of each arm, what changes no reply, and time."""

import math
from typing import Any

from cinorms.core.errors import first_few
from cinorms.inference.engine_kind import TRACE_SHARE, EngineKind, engine_kind, engine_modules
from cinorms.inference.job_state import FOLDER
from cinorms.inference.model_entry import ModelEntry
from cinorms.inference.questions import PARAPHRASES, shard_names
from cinorms.inference.request import ReasoningLevel, Request
from cinorms.inference.store import stores_of
from cinorms.prompts.paraphrase.paraphrasers import PARAPHRASERS, Paraphraser
from cinorms.prompts.variants import paper_layout
from cinorms.study.study import Study

#: Most minutes that a job requests at its first attempt. One that is stopped goes on where it was, and longer jobs fit
#: in few partitions.
MOST_MINUTES = 720
#: Below a study's results: what each model is expected to cost, by which jobs share a cap.
EXPECTED_USD = f"{FOLDER}/expected_usd.json"


def request_of(study: Study, arm: str, model: str) -> Request:
    """Return what is asked of ``model`` in ``arm``."""
    settings, entry = study.arms[arm], study.registry_entry(model)
    layout: str = settings.layout
    if layout == "paper":
        layout = paper_layout(entry.original_settings.paper_layout, settings.orders.method)
    stated: dict[str, Any] = {
        "seed": study.seed,
        "scale": study.scale(arm).plain,
        "factors": list(study.dataset(settings.dataset).levels),
        "select": settings.plain()["select"],
        "n_templates": study.templates(arm, model),
        "order_method": settings.orders.method,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "readout": settings.readout,
        "layout": layout,
        "system": settings.system,
        "sample": settings.sample,
    }
    reasoning = reasoning_of(entry, settings.reasoning.level) if settings.reasoning else None
    return entry.ask(stated, settings.wrap, reasoning)


def coder_request(study: Study, scale: str) -> Request:
    """Return what is asked of the coder about the replies to ``scale``."""
    assert study.coder is not None, "asked only where the study has a coder"
    entry = study.registry_entry(study.coder)
    stated: dict[str, Any] = {
        "seed": study.seed,
        "scale": study.named_scale(scale).plain,
        "n_templates": 1,
        "temperature": 0.0,
        "max_tokens": study.settings.answers.max_tokens,
    }
    return entry.ask(stated)


def reasoning_of(entry: ModelEntry, level: ReasoningLevel) -> dict[str, Any] | None:
    """Return the keys of a request that say how a model reasons; None where its entry does not say how to switch it."""
    return entry.kind.reasoning(entry.settings, level) if entry.kind.reasoning else None


def engine_of(entry: ModelEntry) -> EngineKind:
    """Return the engine of an entry that one asks."""
    assert entry.asks is not None, "a job asks neither people nor planted respondents"
    return entry.asks


def job_of(study: Study, model: str) -> str:
    """Return the model whose jobs ask ``model``: the first of the study's that load the same engine."""
    entry = study.registry_entry(model)
    engine = entry.asks
    if engine is None or engine.loads is None:
        return model
    others = (other for other in study.all_models() if study.registry_entry(other).asks is engine)
    loads = engine.loads(entry.settings)
    return next(o for o in others if engine.loads(study.registry_entry(o).settings) == loads)


def arms_of(study: Study, job: str) -> list[tuple[str, str]]:
    """Return each arm and model that the jobs of the model ``job`` ask."""
    return [(arm, model) for arm, model in study.pairs("model") if job_of(study, model) == job]


def requests_of(study: Study, job: str) -> list[tuple[str, dict[str, Any]]]:
    """Return everything that can change a reply to what the jobs of the model ``job`` ask, arm by arm."""
    return [(arm, request_of(study, arm, model).plain()) for arm, model in arms_of(study, job)]


def stored_models(study: Study) -> list[str]:
    """Return the models whose replies are in the store."""
    asked = {model for _, model in study.pairs("model")}
    return [model for model in study.all_models() if model in asked and study.registry_entry(model).asks]


def loaded_models(study: Study) -> list[str]:
    """Return the models of engines that load a checkpoint, coder and paraphrasers among them."""
    paraphrasers = [asked["model"] for request in study.awaited().values() if (asked := request["asked"])]
    models = dict.fromkeys([*stored_models(study), *filter(None, [study.coder]), *paraphrasers])
    return [model for model in models if study.registry_entry(model).is_fetched]


def shards_of(study: Study, job: str) -> list[str]:
    """Return the names of the shards that a model's questions are split into."""
    return shard_names(study.registry_entry(job).settings.shards)


def runtime_of(study: Study, model: str, shard: str) -> dict[str, Any]:
    """Return how ``model`` is reached and paid, and where its job writes, which changes no reply.

    All studies share the store beside their results. ``key_variable`` is the name of an environment variable, never a
    key. ``expected_usd`` is the file with what each model is expected to cost, which the start of a run writes.
    """
    entry, cap, results = study.registry_entry(model), study.settings.max_cost_usd, study.results
    return {
        "study": study.name,
        "model": model,
        "shard": shard,
        "store": str(stores_of(results)),
        "progress": str(results / FOLDER),
        **({} if cap is None else {"max_cost_usd": cap, "expected_usd": f"{results}/{EXPECTED_USD}"}),
        **engine_of(entry).runtime(entry.settings),
    }


def paraphrase_runtime(study: Study, prompt_set: str) -> dict[str, Any]:
    """Return the same for the paraphraser of ``prompt_set``; nothing where no model is asked."""
    asked = study.awaited()[prompt_set]["asked"]
    return runtime_of(study, asked["model"], f"{PARAPHRASES}{prompt_set}") if asked else {}


def cap_notes(study: Study) -> list[str]:
    """Return by how much the study's cap can be exceeded; nothing where it cannot, or there is none."""
    engines = {model: study.registry_entry(model).asks for model in study.all_models()}
    pairs = [
        pair
        for pair in study.pairs("model")
        if (engine := engines[pair[1]]) and engine.unlimited(request_of(study, *pair))
    ]
    if study.settings.max_cost_usd is None or not pairs:
        return []
    arms, models = (first_few(list(dict.fromkeys(names))) for names in zip(*pairs, strict=True))
    return [
        "max_cost_usd can be exceeded by at most what the requests under way cost (limits.concurrency): "
        f"{models} gets no token limit in {arms}, as in the paper (layout)"
    ]


def paraphraser_environment(engine: str) -> EngineKind | type[Paraphraser]:
    """Return the declaration of a paraphraser's environment: its engine's, or its own if it is no engine."""
    return engine_kind(engine) if engine in engine_modules() else PARAPHRASERS[engine]


def asking_minutes(study: Study, job: str, attempt: int) -> int:
    """Return the minutes to request for one shard of what the jobs of a model ask: one start, and every arm."""
    needs, settings = engine_of(study.registry_entry(job)).needs, study.registry_entry(job).settings
    start, most = needs.start_minutes, max(MOST_MINUTES, needs.minutes(settings, 1))
    minutes = sum(
        needs.minutes(settings, 1) - start + _prompt_minutes(study, *pair) + _trace_minutes(study, *pair)
        for pair in arms_of(study, job)
    )
    return min(start + math.ceil(minutes / len(shards_of(study, job))), most) * attempt


def _prompt_minutes(study: Study, arm: str, model: str) -> float:
    """Return the minutes that the prompts of an arm take; 0 where the engine's own minutes have time for an arm."""
    entry = study.registry_entry(model)
    rate = engine_of(entry).needs.prompts_per_minute
    return _prompts(study, arm, model) / rate(entry.settings) if rate else 0


def _trace_minutes(study: Study, arm: str, model: str) -> float:
    """Return the minutes that the traces of ``model`` in ``arm`` take; 0 where it writes none."""
    budget, entry = study.budget(arm, model), study.registry_entry(model)
    rate = engine_of(entry).needs.tokens_per_minute
    if not budget or rate is None:
        return 0
    share = entry.original_settings.rates.trace_share or TRACE_SHARE
    tokens = budget * share * _prompts(study, arm, model)
    return tokens / rate(entry.settings)


def _prompts(study: Study, arm: str, model: str) -> float:
    """Return how many prompts ``model`` gets in ``arm``, without reading a file.

    Selected levels cut all flows in proportion; a dataset in a file that states no number of rows counts as one flow.
    """
    settings = study.arms[arm]
    dataset = study.dataset(settings.dataset)
    prompts = float(dataset.n_flows() or 1)
    for factor, levels in settings.plain()["select"].items():
        all_levels = dataset.levels.get(factor)
        prompts *= len(levels) / len(all_levels) if all_levels else 1
    return prompts * settings.orders.count * study.templates(arm, model)
