"""What cards and pages state about a study: its settings and names as plain data, read before anything is made."""

from collections.abc import Mapping
from typing import Any

from cinorms.study.entries import make_entry
from cinorms.study.metadata import ArmMetadata, DatasetMetadata, EntryMetadata, ModelMetadata, StudyMetadata
from cinorms.study.requests import request_of
from cinorms.study.study import Study

#: Kinds of analyses whose tables a card reads.
ON_CARDS = ("consistency", "flow_dependence", "say_do", "mean_delta", "people_distances", "people_flows")

#: What the report shows of a registry entry, next to its note and what its engine declares as ``public``. Names of
#: keys, limits and prices only matter to those who run jobs.
PUBLIC = ("label", "engine", "source", "revision", "family", "capacity", "alignment", "quantisation", "dtype")
#: Those that say what exactly was asked.
CHECKPOINT = ("source", "revision", "dtype")


def metadata_for_cards(whole: StudyMetadata) -> StudyMetadata:
    """Return what cards state of a study: they do not change with its figures, nor with what no card shows."""
    shown = {name: entry for name, entry in whole.analyses.items() if entry.kind in ON_CARDS}
    return whole.model_copy(update={"analyses": shown, "figures": {}, "settings": {}})


def metadata_of(study: Study) -> StudyMetadata:
    """Return everything that the page and the cards state about ``study``, apart from its results."""
    norms = study.settings.norms
    models = study.all_models()
    return StudyMetadata(
        name=study.name,
        coder=study.coder if study.coded_scales() else None,
        hand_sample=study.hand_sample if study.coded_scales() else None,
        consensus=norms.consensus,
        t_maj=norms.t_maj,
        t_val={model: study.t_val(model) for model in models},
        arms={arm: _arm(study, arm) for arm in study.arms},
        datasets={name: _dataset(study, name) for name in study.datasets()},
        models={model: _model(study, model) for model in models},
        analyses={name: _entry(study, "analyses", name) for name in study.entries["analyses"]},
        figures={name: _entry(study, "figures", name) for name in study.entries["figures"]},
        settings=study.settings.plain(),
    )


def _arm(study: Study, arm: str) -> ArmMetadata:
    settings, models = study.arms[arm], study.models(arm)
    survey = study.survey(arm) if settings.rated else None
    words = survey or study.prompt_set(settings.prompts)
    origin = ""
    if settings.source == "published" and settings.frame is not None:
        origin = study.release(settings.frame.partition("/")[0]).origin.citation
    rare: dict[str, Any] = {"sample": settings.sample} if settings.sample > 1 else {}
    if survey and survey.simulated:
        rare["simulated"] = True
    if select := settings.plain()["select"]:
        rare["select"] = select
    if fewer := {m: n for m in models if (n := study.templates(arm, m)) < study.templates(arm)}:
        rare["templates"] = fewer
    return ArmMetadata(
        dataset=settings.dataset,
        source=settings.source,
        origin=origin,
        scale=study.scale(arm),
        prompts=words.title,
        prompts_citation=dict(words.origin).get("citation", ""),
        people=survey.people if survey else "",
        orders=settings.orders.plain(),
        **rare,
        temperature=settings.temperature,
        system=settings.system,
        models=tuple(models),
        layouts={m: "single" if survey else request_of(study, arm, m).layout for m in models},
    )


def _dataset(study: Study, name: str) -> DatasetMetadata:
    dataset = study.dataset(name)
    return DatasetMetadata(
        title=dataset.title,
        about=dataset.about or "",
        short=dataset.short or {},
        factors=tuple(dataset.levels),
        expected_range=dataset.expected_range or None,
        flows_of=dataset.flows_of,
        citation=dataset.origin.citation,
    )


def _model(study: Study, model: str) -> ModelMetadata:
    entry = study.registry_entry(model)
    stated = {**entry.stated, "engine": entry.engine}
    # For a model whose place a planted respondent takes, no checkpoint and no endpoint was asked.
    taken = entry.planted and not study.registry[model].planted
    known = [key for key in PUBLIC if key not in CHECKPOINT] if taken else [*PUBLIC, *entry.kind.public]
    public = {key: stated[key] for key in (*known, "note") if stated.get(key) is not None}
    arms = tuple(arm for arm in study.arms if model in study.models(arm))
    asked = any(study.arms[arm].source == "model" for arm in arms)
    return ModelMetadata(**public, planted=asked and entry.planted, arms=arms)


def _entry(study: Study, section: str, name: str) -> EntryMetadata:
    entry = make_entry(study, section, name)
    kind = entry.declared
    return EntryMetadata(
        kind=kind.name,
        title=getattr(entry.options, "title", None) or "",
        about=kind.about,
        sentence=kind.sentence,
        meanings=dict(kind.columns),
        section=kind.report_section,
        arms=tuple(entry.arms),
        models=tuple(dict.fromkeys(model for _, model in entry.selected)),
        columns=tuple(kind.shown),
    )


# --- The page on people and models


def people_tables(analyses: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of the analyses that the page is made from, by what it makes of them.

    ``tables`` are the study's first of distances and its first of flows; fewer where it has none.
    """
    by_kind: dict[str, list[str]] = {}
    for name, options in analyses.items():
        by_kind.setdefault(options.kind, []).append(name)
    first = [name for kind in ("people_distances", "people_flows") for name in by_kind.get(kind, [])[:1]]
    standing, groups = (by_kind.get(kind, []) for kind in ("model_among_people", "people_groups"))
    return {"tables": first, "standing": standing, "groups": groups}


def people_inputs_of(study: Study, folder: str) -> dict[str, list[str]]:
    """Return the files below ``folder`` that the page is made from, by what it makes of them."""
    shown = people_tables(study.entries["analyses"])
    inputs = {part: [f"{folder}/tables/{name}.parquet" for name in names] for part, names in shown.items()}
    datasets = people_page_metadata(study)["datasets"]
    return {**inputs, "vignettes": [f"{folder}/vignettes/{name}.parquet" for name in datasets]}


def people_page_metadata(study: Study) -> dict[str, Any]:
    """Return the metadata as plain data, for a parameter of a rule; no arms and scale where nothing is compared."""
    stated = study.entries["analyses"]
    shown = people_tables(stated)
    arms = [arm for name in shown["tables"][:1] for arm in stated[name].arms]
    rated = [arm for arm in arms if study.arms[arm].rated]
    compared = [arm for arm in arms if arm not in rated]
    marked = arms if study.simulated(rated) else compared
    # People answer on the scale of the dataset; an arm of models can be asked on another, and is put on this one.
    # The units are those in which means are compared, with what their ends and directions are called.
    units = {}
    for arm in (rated + compared)[:1]:
        scale = study.scale(arm)
        lowest, highest = study.factors_of(arm).expected_range or (scale.levels[0], scale.levels[-1])
        units = {"lowest": lowest, "highest": highest, "ends": list(scale.ends), "measure": scale.measured}
        units |= {"more": scale.spoken.more, "less": scale.spoken.less}
    return {
        "study": study.name,
        "simulated": study.simulated(rated),
        "standing": [
            {"factor": stated[name].by, "people": study.survey(stated[name].people).people}
            for name in shown["standing"]
        ],
        "groups": [{arm: study.survey(arm).title for arm in stated[name].people} for name in shown["groups"]],
        "datasets": list(dict.fromkeys(study.arms[arm].dataset for arm in compared or rated))[:1],
        "people": {
            arm: {"title": survey.title, "people": survey.people, "question": study.question(arm).text}
            for arm, survey in zip(rated, map(study.survey, rated), strict=True)
        },
        "models": {
            arm: {
                "question": study.prompt_set(study.arms[arm].prompts).templates[0],
                "wordings": study.templates(arm),
                "models": len(study.models(arm)),
            }
            for arm in compared
        },
        "labels": study.labels(study.all_models()),
        # People are named as such all over the page: where real ones were asked, the mark is about the models.
        "mark": study.mark(
            dict.fromkeys(model for arm in marked for model in study.models(arm)),
            study.labels(study.all_models()),
        ),
        "scale": units,
    }
