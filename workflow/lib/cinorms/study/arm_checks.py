"""What the schemas cannot see in an arm: its dataset, prompt set, source, models and what it selects."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from cinorms.core.errors import ConfigError, listing
from cinorms.core.validation import unknown
from cinorms.exchange.registry import format_modules
from cinorms.prompts.prompt_sets import PromptSet
from cinorms.published.releases import SEPARATOR
from cinorms.study.asking_checks import check_asking, check_repeat
from cinorms.study.layers import Place
from cinorms.study.people_checks import check_people
from cinorms.study.settings import Arm
from cinorms.study.spec import reasoning_of
from cinorms.study.study import Study

#: The settings that a source of answers needs, and those that it may have; no other source may have them.
_NEEDED = {
    "published": ("frame",),
    "raw_csv": ("raw_files",),
    "human": ("ratings",),
    "responses": ("response_files", "response_format"),
}
_ALLOWED = {"responses": (*_NEEDED["responses"], "response_origin")}
_OF_SOURCES = ("frame", "raw_files", "ratings", "response_files", "response_format", "response_origin")
#: Longest system prompt, in bytes: Linux allows 131,072 for one argument, which also holds the rest of the spec.
MOST_SYSTEM = 100_000


def check_arm(study: Study, name: str) -> None:
    """Look up every name in the arm ``name``, and check that its settings fit together."""
    arm, models = study.arms[name], study.models(name)
    _check_dataset(study, arm)
    check_repeat(name, arm)
    _check_source(study, name, arm)
    if arm.source == "human":
        check_people(study, name)
        check_select(study, arm.dataset, arm.select, arm.stated_in("select"))
        return
    _check_prompts(study, name, arm)
    if not models:
        raise ConfigError(
            f"{study.settings.stated_in('models')}: arm '{name}' has no models; name some from config/models.yaml"
        )
    for model in models:
        if model not in study.registry:
            raise unknown(
                *_place_of_models(study, arm).named,
                model,
                study.registry,
                "model",
                study.root.searched("models"),
            )
        if study.registry[model].kind.people:
            raise ConfigError(
                f"{_place_of_models(study, arm)}: '{model}' stands for people, whom nobody can ask in arm '{name}'; "
                "name a model, or set source: human"
            )
    _check_templates_for(study, arm, models)
    if arm.readout == "options" and arm.temperature != 0:
        raise ConfigError(
            f"{arm.stated_in('readout')}: 'options' reads probabilities, not samples; temperature is "
            f"{arm.temperature}, set it to 0"
        )
    if arm.orders.method == "fixed" and arm.orders.count > 1 and arm.temperature == 0:
        raise ConfigError(
            f"{arm.stated_in('orders', 'count')}: {arm.orders.count} sends every prompt {arm.orders.count} identical "
            "times (method: fixed, temperature: 0); set it to 1"
        )
    _check_system(arm)
    _check_reasoning(study, arm, models)
    check_asking(study, name, arm)
    check_select(study, arm.dataset, arm.select, arm.stated_in("select"))


def _check_reasoning(study: Study, arm: Arm, models: Sequence[str]) -> None:
    """Check that the effort and the budget fit together, and that each model can be told."""
    if arm.reasoning is None:
        return
    asked, place = arm.reasoning.asked, arm.stated_in("reasoning")
    if arm.source != "model":
        raise ConfigError(f"{place}: does not fit source '{arm.source}', which asks no model; remove it")
    if asked.off and asked.budget:
        raise ConfigError(f"{place}: effort 'none' writes no trace; remove budget ({asked.budget})")
    if not asked.off and not asked.budget:
        raise ConfigError(
            f"{place}: effort '{asked.effort}' needs the key 'budget', the most tokens of a trace; allowed: 1 to "
            "1000000"
        )
    if arm.readout == "options" and not asked.off:
        raise ConfigError(
            f"{arm.stated_in('readout')}: 'options' reads probabilities right after the prompt, before any trace; set "
            "it to text, or the effort of reasoning to none"
        )
    for model in models:
        if reasoning_of(study.registry_entry(model), asked) is None:
            raise ConfigError(
                f"{place}: nobody knows how {model!r} is told to reason; state `reasoning` in its entry in "
                "config/models.yaml (docs/method/inference/reasoning.md), or name other models in the arm"
            )


def _check_system(arm: Arm) -> None:
    """Refuse a system prompt that does not fit on a command line, where jobs receive it."""
    length = len(shlex.quote(json.dumps(arm.system)))
    if length > MOST_SYSTEM:
        raise ConfigError(
            f"{arm.stated_in('system')}: the text has {len(arm.system or ''):,} characters, {length:,} bytes "
            f"as a job receives it; allowed: at most {MOST_SYSTEM:,}; shorten it"
        )


def check_select(study: Study, dataset: str, select: Mapping[str, Sequence[str]], place: Place) -> None:
    """Look up the factors and levels of ``select``, stated in ``place``, in a dataset."""
    factors, null = study.dataset(dataset).factors, study.dataset(dataset).null_level
    file, key = place.named
    for factor, levels in select.items():
        if factor not in factors:
            raise unknown(file, key, factor, factors, f"factor of dataset {dataset!r}")
        known = [*factors[factor]]
        if not known:
            continue  # the levels of a dataset in a file are unknown until it is fetched
        if study.null_principle(dataset) and null and null.factor == factor:
            known.append(null.label)
        for level in levels:
            if level not in known:
                raise unknown(file, f"{key}.{factor}", level, known, "level")


def _check_dataset(study: Study, arm: Arm) -> None:
    """Look up the dataset of an arm."""
    known = study.root.names("vignettes")
    if arm.dataset not in known:
        searched = study.root.searched("vignettes")
        raise unknown(*arm.stated_in("dataset").named, arm.dataset, known, "dataset", searched)


def _check_prompts(study: Study, name: str, arm: Arm) -> None:
    """Look up the prompt set of an arm, and check that it, the dataset and the templates fit together."""
    known = study.root.names("prompts")
    if not arm.prompts:
        raise ConfigError(
            f"{study.settings.stated_in('arms', name)}: key 'prompts' is missing; required: dataset, prompts"
        )
    if arm.prompts not in known:
        searched = study.root.searched("prompts")
        raise unknown(*arm.stated_in("prompts").named, arm.prompts, known, "prompt set", searched)
    prompt_set = study.prompt_set(arm.prompts)
    _check_scale(study, name, arm, prompt_set)
    stated: dict[tuple[str, ...], int] = {
        ("templates_for", model): count for model, count in arm.templates_for.items()
    }
    if arm.templates != "all":
        stated = {("templates",): arm.templates, **stated}
    for path, count in stated.items():
        if count > prompt_set.n_templates:
            raise ConfigError(
                f"{arm.stated_in(*path)}: {count} is more than prompt set {arm.prompts!r} has; "
                f"allowed: at most {prompt_set.n_templates}"
            )


def _check_scale(study: Study, name: str, arm: Arm, prompt_set: PromptSet) -> None:
    """Look up the scale of an arm, and check that it measures what the templates ask for."""
    dataset, known = study.dataset(arm.dataset), study.root.names("scales")
    files = study.root.names("vignettes")[arm.dataset], study.root.names("prompts")[arm.prompts]
    places = [(study.root.shown(file), "scale") for file in files]
    stated = [(dataset.scale, *places[0]), (prompt_set.scale, *places[1])]
    if arm.scale is not None:
        stated.append((arm.scale, *arm.stated_in("scale").named))
    for given, file, key in stated:
        if given not in known:
            raise unknown(file, key, given, known, "scale", study.root.searched("scales"))
    scale, asked = study.scale(name), study.named_scale(prompt_set.scale).measure
    if scale.measure != asked:
        place = arm.stated_in("scale") if arm.scale else study.settings.stated_in("arms", name)
        fitting = [each for each in known if study.named_scale(each).measure == asked]
        raise ConfigError(
            f"{place}: scale {scale.name!r} measures {scale.measure}, but prompt set {arm.prompts!r} asks for {asked}; "
            f"{listing(scale.name, fitting)} (or choose other prompts)"
        )
    if scale.line and arm.orders.count > 1 and arm.temperature == 0:
        raise ConfigError(
            f"{arm.stated_in('orders', 'count')}: {arm.orders.count} sends every prompt {arm.orders.count} identical "
            f"times, because the number line {scale.name!r} has one order only; set it to 1"
        )
    if scale.line and arm.readout == "options":
        raise ConfigError(
            f"{arm.stated_in('readout')}: 'options' needs answer options, and {scale.name!r} is a number line; "
            "set it to text"
        )


def _check_source(study: Study, name: str, arm: Arm) -> None:
    """Check where the answers of an arm come from, and that its models are in there."""
    needed = _NEEDED.get(arm.source, ())
    stated = {setting: getattr(arm, setting) for setting in _OF_SOURCES}
    for setting, given in stated.items():
        if setting in needed and not given:
            raise ConfigError(
                f"{arm.stated_in('source')}: '{arm.source}' also needs the key '{setting}'; add it to arms.{name}"
            )
        if setting not in _ALLOWED.get(arm.source, needed) and given:
            raise ConfigError(
                f"{arm.stated_in(setting)}: {given!r} does not fit source '{arm.source}'; remove it or change "
                "'source'"
            )
    if needed and arm.source != "human" and study.settings.engine == "planted":
        raise ConfigError(
            f"{study.settings.stated_in('engine')}: 'planted' cannot replace the existing answers of arm '{name}' "
            f"(source: {arm.source}); set it to null"
        )
    if arm.source == "published" and arm.frame is not None:
        _check_frame(study, arm, arm.frame)
    if arm.source == "responses":
        _check_responses(study, name, arm)


def _check_responses(study: Study, name: str, arm: Arm) -> None:
    """Look up the format of an arm's files of responses, and check that each model has its own."""
    if arm.response_format not in format_modules():
        raise unknown(
            *arm.stated_in("response_format").named, arm.response_format, format_modules(), "format"
        )
    files: dict[str, str] = {}
    for model in study.models(name):
        if model in study.registry:
            other = files.setdefault(study.response_files(name, model), model)
            if other != model:
                raise ConfigError(
                    f"{arm.stated_in('response_files')}: {arm.response_files!r} names the same files for {other!r} and "
                    f"{model!r}; put {{model}} into the path"
                )


def _check_frame(study: Study, arm: Arm, frame: str) -> None:
    """Look up a frame of a release, and the models that are asked in it."""
    frames = {f"{r}{SEPARATOR}{f}" for r in study.root.names("published") for f in study.release(r).frames}
    if frame not in frames:
        raise unknown(*arm.stated_in("frame").named, frame, frames, "frame", study.root.searched("published"))
    release = study.release(frame.split(SEPARATOR)[0])
    for model in study.published_models():
        if model not in release.models:
            place = _place_of_models(study, arm)
            raise unknown(*place.named, model, release.models, "model of this release")


def _check_templates_for(study: Study, arm: Arm, models: Sequence[str]) -> None:
    """Look up the models that have their own number of templates."""
    place = arm.stated_in("templates_for")
    # A setting in arm_defaults is for several arms, which need not all ask the same models.
    named = models if place.key.startswith("arms.") else [m for arm in study.arms for m in study.models(arm)]
    for model in arm.templates_for:
        if model not in named:
            raise unknown(*place.named, model, set(named), "model of this arm")


def _place_of_models(study: Study, arm: Arm) -> Place:
    return arm.stated_in("models") if arm.models else study.settings.stated_in("models")
