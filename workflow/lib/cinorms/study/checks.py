"""What the schemas cannot see in a study: every name is looked up, what does not fit together is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, load_schema, unknown
from cinorms.published.releases import SEPARATOR, analyses_of
from cinorms.study.layers import Layer
from cinorms.study.root import Root
from cinorms.study.study import Study

#: The only keys of the schema that config/config.yaml may leave out.
WITHOUT_DEFAULT = frozenset({"arm_defaults.dataset", "arm_defaults.prompts", "arm_defaults.models"})


def check_complete(settings: Mapping[str, Any], root: Root) -> None:
    """Insist that every key has a default: config/config.yaml is the only place for them."""
    schema = load_schema(root.schemas / "study.schema.yaml")

    def absent(of: Mapping[str, Any], given: Mapping[str, Any], place: str) -> Iterator[str]:
        for name, sub in of.get("properties", {}).items():
            key = f"{place}.{name}" if place else name
            if name not in given:
                yield key
            elif isinstance(given[name], dict):
                known = schema["$defs"][sub["$ref"].removeprefix("#/$defs/")] if "$ref" in sub else sub
                yield from absent(known, given[name], key)

    for key in absent(schema, settings, ""):
        if key not in WITHOUT_DEFAULT:
            raise ConfigError(f"config/config.yaml: key '{key}' is missing; every default has to stand there")


def file_of(layers: Sequence[Layer], *path: str) -> str | None:
    """Return the file that the setting at ``path`` comes from."""
    for layer in reversed(layers):
        found: Any = layer.document
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None:
            return layer.file
    return None


def _place(layers: Sequence[Layer], arm: str, setting: str) -> tuple[str, str]:
    """Return the file and the key in which a setting of an arm is stated: its own, or that of all arms."""
    arms_file = file_of(layers, "arms")
    of_arm = next(layer.document["arms"] for layer in reversed(layers) if layer.file == arms_file)[arm]
    if setting in of_arm:
        return str(arms_file), f"arms.{arm}.{setting}"
    return str(file_of(layers, "arm_defaults", setting)), f"arm_defaults.{setting}"


def check_names(study: Study, layers: Sequence[Layer]) -> None:
    """Look up every name that the schemas cannot know."""
    settings, known = study.settings, study.root.names("vignettes")
    for model in settings["models"]:
        if model not in study.registry:
            raise unknown(str(file_of(layers, "models")), "models", model, study.registry, "model")
    for name in settings["datasets"]:
        file = str(file_of(layers, "datasets", name))
        if name not in known:
            raise unknown(file, "datasets", name, known, "dataset")
        if study.null_principle(name) and not study.dataset(name).null_level:
            raise ConfigError(
                f"{file}: datasets.{name}.null_principle: true was given; the dataset has no 'null_level', "
                "allowed: false"
            )
    for name, arm in study.arms.items():
        _check_arm(study, name, arm, layers)
    _check_compared(study, layers)
    if settings["overrides"]:
        check_file(settings["overrides"], str(file_of(layers, "overrides")), "overrides")
    _check_pilot(study, layers)
    study.awaited()  # refuses a paraphraser that is not known
    _check_stand_ins(study)
    for model in settings["norms"]["t_val_for"]:
        if model not in study.all_models():
            file = str(file_of(layers, "norms", "t_val_for"))
            raise unknown(file, "norms.t_val_for", model, study.all_models(), "model of this study")


def _check_compared(study: Study, layers: Sequence[Layer]) -> None:
    """Look up the release whose numbers are compared, and the analyses that its numbers come from."""
    name, file = study.settings["compare"], str(file_of(layers, "compare"))
    known = study.root.names("published")
    if name is not None and name not in known:
        raise unknown(file, "compare", name, known, "release")
    release = study.compared()
    for analysis in analyses_of(release):
        if analysis not in study.settings["analyses"]:
            raise ConfigError(
                f"{file}: compare: {name!r} was given; its numbers need an analysis '{analysis}', and the "
                "study has none of that name (config/replication.yaml has all of them)"
            )


def _check_pilot(study: Study, layers: Sequence[Layer]) -> None:
    """Refuse a pilot that is this study, whose answers the plan would have to ask for, or that has no answers."""
    pilot, file = study.settings["plan"]["pilot"], str(file_of(layers, "plan", "pilot"))
    if pilot == study.name:
        raise ConfigError(f"{file}: plan.pilot: {pilot!r} was given; allowed: the name of another study")
    if pilot and not Path("results", pilot, "answers").is_dir():
        raise ConfigError(
            f"{file}: plan.pilot: {pilot!r} was given; there is no results/{pilot}/answers in the folder that "
            "the study runs in: run that study first"
        )


def _check_stand_ins(study: Study) -> None:
    if study.settings["engine"] == "planted":
        for model in study.all_models():
            entry = study.registry[model]
            if not entry.kind.planted and entry.settings.stand_in is None:
                raise ConfigError(
                    f"{entry.file}: {model}: key 'stand_in' is missing; 'engine: planted' needs the "
                    "name of the planted model that answers in its place"
                )


def _check_arm(study: Study, name: str, arm: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    _check_prompts(study, name, arm, layers)
    _check_source(study, name, arm, layers)
    models = study.models(name)
    if not models:
        raise ConfigError(
            f"{file_of(layers, 'models')}: models: no model is named for arm '{name}'; "
            "name some of config/models.yaml"
        )
    for model in models:
        if model not in study.registry:
            raise unknown(*_place(layers, name, "models"), model, study.registry, "model")
    file, key = _place(layers, name, "templates_for")
    # What stands in arm_defaults is for several arms, which need not all ask the same models.
    named = models if key.startswith("arms.") else [m for arm in study.arms for m in study.models(arm)]
    for model in arm["templates_for"]:
        if model not in named:
            raise unknown(file, key, model, set(named), "model of this arm")
    if arm["readout"] == "options" and arm["temperature"] != 0:
        file, key = _place(layers, name, "readout")
        raise ConfigError(
            f"{file}: {key}: 'options' reads probabilities, not samples; temperature {arm['temperature']} "
            "was given, allowed: 0"
        )
    if arm["orders"]["method"] == "fixed" and arm["orders"]["count"] > 1 and arm["temperature"] == 0:
        file, key = _place(layers, name, "orders")
        raise ConfigError(
            f"{file}: {key}.count: {arm['orders']['count']} was given; with method 'fixed' and temperature 0 every "
            "prompt would be asked so many times over; allowed: 1"
        )
    file, key = _place(layers, name, "select")
    check_select(study, arm["dataset"], arm["select"], key, file)


def _check_source(study: Study, name: str, arm: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    """Look up where the answers of an arm come from, and whether its models are in there."""
    needed = {"published": "frame", "raw_csv": "raw_files"}.get(arm["source"])
    for setting in ("frame", "raw_files"):
        file, key = _place(layers, name, setting if arm.get(setting) else "source")
        if setting == needed and not arm[setting]:
            raise ConfigError(
                f"{file}: {key}: '{arm['source']}' was given; arms.{name} needs the key '{setting}' too"
            )
        if setting != needed and arm[setting]:
            raise ConfigError(
                f"{file}: {key}: {arm[setting]!r} was given; allowed only with another 'source' than "
                f"'{arm['source']}'"
            )
    if needed and study.settings["engine"] == "planted":
        raise ConfigError(
            f"{file_of(layers, 'engine')}: engine: 'planted' was given; the answers of arm '{name}' are "
            f"there already (source: {arm['source']}), allowed: null"
        )
    if needed == "frame":
        frames = {
            f"{r}{SEPARATOR}{f}" for r in study.root.names("published") for f in study.release(r).frames
        }
        if arm["frame"] not in frames:
            raise unknown(*_place(layers, name, "frame"), arm["frame"], frames, "frame")
        release = study.release(arm["frame"].split(SEPARATOR)[0])
        for model in study.published_models():
            if model not in release.models:
                raise unknown(*_place(layers, name, "models"), model, release.models, "model of this release")


def _check_prompts(study: Study, name: str, arm: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    """Look up the dataset and the prompt set of an arm, and whether they fit each other and the templates."""
    for setting, kind, what in (("dataset", "vignettes", "dataset"), ("prompts", "prompts", "prompt set")):
        if arm[setting] not in study.root.names(kind):
            raise unknown(*_place(layers, name, setting), arm[setting], study.root.names(kind), what)
    prompt_set, dataset = study.prompt_set(arm["prompts"]), study.dataset(arm["dataset"])
    if prompt_set.scale != dataset.scale:
        raise ConfigError(
            f"{file_of(layers, 'arms')}: arms.{name}: prompt set {arm['prompts']!r} asks for "
            f"{prompt_set.scale}, dataset {arm['dataset']!r} is judged by {dataset.scale}; "
            "give both the same scale"
        )
    stated = {"templates": {"": arm["templates"]}, "templates_for": arm["templates_for"]}
    for setting, counts in stated.items():
        for model, count in counts.items():
            if count != "all" and count > prompt_set.n_templates:
                file, key = _place(layers, name, setting)
                raise ConfigError(
                    f"{file}: {key}{'.' + model if model else ''}: {count} was given; prompt set "
                    f"{arm['prompts']!r} has {prompt_set.n_templates} templates"
                )


def check_select(study: Study, dataset: str, select: Mapping[str, Any], key: str, file: str) -> None:
    """Look up the factors and levels of ``select`` in a dataset."""
    factors, null = study.dataset(dataset).factors, study.dataset(dataset).null_level
    for factor, levels in select.items():
        if factor not in factors:
            raise unknown(file, key, factor, factors, f"factor of dataset {dataset!r}")
        known = [*factors[factor]]
        if not known:
            continue  # a dataset that is a file does not tell its levels before it is fetched
        if study.null_principle(dataset) and null and null.factor == factor:
            known.append(null.label)
        for level in levels:
            if level not in known:
                raise unknown(file, f"{key}.{factor}", level, known, "level")
