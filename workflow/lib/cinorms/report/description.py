"""What the report states about a study: its settings and names as plain data, read before anything is made."""

from __future__ import annotations

from typing import Any

from cinorms.study.entries import make_entry
from cinorms.study.spec import make_spec
from cinorms.study.study import Study

#: Kinds of analyses whose tables a card reads.
ON_CARDS = ("mean_delta", "flow_dependence", "people_distances", "people_flows")

#: What the report shows of a registry entry, next to its note and what its engine declares as ``public``. Names of
#: keys, limits and prices only matter to those who run jobs.
PUBLIC = (
    "engine",
    "source",
    "revision",
    "family",
    "capacity",
    "alignment",
    "quantisation",
    "dtype",
)


def describe(study: Study) -> dict[str, Any]:
    """Return everything that the page and the cards state about ``study``, apart from its results."""
    norms = study.settings.norms
    models = study.all_models()
    return {
        "name": study.name,
        "seed": study.seed,
        "planted": study.planted(),
        "people": study.people(),
        "mark": study.mark(models),
        "compared": study.settings.compare,
        "coder": study.coder if study.coded_scales() else None,
        "consensus": norms.consensus,
        "t_maj": norms.t_maj,
        "t_val": {model: study.t_val(model) for model in models},
        "grid": [list(values) for values in study.thresholds()],
        "arms": {arm: _arm(study, arm) for arm in study.arms},
        "datasets": {name: _dataset(study, name) for name in study.datasets()},
        "models": {model: _model(study, model) for model in models},
        "analyses": {name: _entry(study, "analyses", name) for name in study.settings.analyses},
        "figures": {name: _entry(study, "figures", name) for name in study.settings.figures},
        "printed": list(study.settings.printed),
        "settings": study.settings.plain(),
    }


def describe_for_card(study: Study, model: str) -> dict[str, Any]:
    """Return what the card of ``model`` states about ``study``; the card does not change with the rest of the study."""
    described = describe(study)
    arms = {
        name: {**arm, "models": [model], "layouts": {model: arm["layouts"][model]}}
        for name, arm in described["arms"].items()
        if model in arm["models"]
    }
    datasets = {arm["dataset"] for arm in arms.values()}
    shown = {
        name: {**entry, "models": [model]}
        for name, entry in described["analyses"].items()
        if entry["kind"] in ON_CARDS and model in entry["models"]
    }
    return {
        **{key: described[key] for key in ("name", "seed", "consensus", "t_maj", "grid")},
        "t_val": {model: described["t_val"][model]},
        "arms": arms,
        "datasets": {name: dataset for name, dataset in described["datasets"].items() if name in datasets},
        "mark": study.mark([model]),
        "models": {model: described["models"][model]},
        "analyses": shown,
    }


def _arm(study: Study, arm: str) -> dict[str, Any]:
    settings, scale = study.arms[arm], study.scale(arm)
    people = settings.source == "human"
    words = study.survey(arm) if people else study.prompt_set(settings.prompts)
    return {
        "dataset": settings.dataset,
        "source": settings.source,
        "frame": settings.frame,
        "origin": _origin(study, arm),
        "scale": scale.known,
        "levels": list(scale.levels),
        "options": list(scale.options),
        "prompts": words.title,
        "prompts_citation": words.origin.get("citation", ""),
        "people": study.survey(arm).people if people else "",
        "n_templates": study.templates(arm),
        "orders": settings.orders.plain(),
        "asking": settings.asking.plain(),
        **({"repeat": settings.repeat} if settings.repeat > 1 else {}),
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "reasoning": settings.reasoning.asked.shown if settings.reasoning else None,
        "readout": settings.readout,
        "system": settings.system,
        "models": study.models(arm),
        # How a prompt is laid out can differ from model to model (`layout: paper`).
        "layouts": {
            m: "single" if people else make_spec(study, arm, m, "1-of-1").layout for m in study.models(arm)
        },
    }


def _origin(study: Study, arm: str) -> str:
    """Return who published the answers of an arm that asks no model."""
    settings = study.arms[arm]
    if settings.source != "published" or settings.frame is None:
        return ""
    return str(study.release(settings.frame.partition("/")[0]).origin.get("citation", settings.frame))


def _dataset(study: Study, name: str) -> dict[str, Any]:
    dataset = study.dataset(name)
    return {
        "title": dataset.title,
        "context": dataset.context,
        "factors": list(dataset.factors),
        "linked": [list(group) for group in dataset.design.linked] if dataset.design else [],
        "expected_range": list(dataset.expected_range) if dataset.expected_range else None,
        "flows_of": dataset.flows_of,
        "citation": dataset.origin.get("citation", ""),
    }


def _model(study: Study, model: str) -> dict[str, Any]:
    entry = study.registry_entry(model)
    stated = {**entry.stated, "engine": entry.engine}
    own = study.registry[model].kind.public
    public = {key: stated[key] for key in (*PUBLIC, *own, "note") if stated.get(key) is not None}
    arms = [arm for arm in study.arms if model in study.models(arm)]
    asked = any(study.arms[arm].source == "model" for arm in arms)
    return {**public, "planted": asked and entry.kind.planted, "arms": arms, "asked": asked}


def _entry(study: Study, section: str, name: str) -> dict[str, Any]:
    entry = make_entry(study, section, name)
    kind = entry.declared
    return {
        "kind": kind.name,
        "title": getattr(entry.options, "title", ""),
        "about": kind.about,
        "sentence": kind.sentence,
        "meanings": {column.name: column.about for column in kind.columns},
        "section": kind.report_section,
        "arms": list(entry.arms),
        "models": list(dict.fromkeys(model for _, model in entry.selected)),
        "columns": list(kind.shown),
    }
