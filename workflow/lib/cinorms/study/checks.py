"""What the schemas cannot see in a study: every name is looked up, what does not fit together is refused."""

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from cinorms.core.errors import ConfigError, listing
from cinorms.core.scales import DISCLOSURE
from cinorms.core.validation import check_file, unknown
from cinorms.exchange.registry import format_modules
from cinorms.human.survey import split_name
from cinorms.published.releases import SEPARATOR, compared_with
from cinorms.study.layers import Place
from cinorms.study.requests import reasoning_of
from cinorms.study.settings import Arm, ArmDefaults
from cinorms.study.study import Study
from cinorms.vignettes.designs import Dataset

#: The settings that a source of answers needs, and those that it may have; no other source may have them.
_NEEDED = {
    "published": ("frame",),
    "raw_csv": ("raw_files",),
    "human": ("ratings",),
    "responses": ("response_files", "response_format"),
}
_ALLOWED = {"responses": (*_NEEDED["responses"], "response_origin")}
_OF_SOURCES = ("frame", "raw_files", "ratings", "response_files", "response_format", "response_origin")
#: The keys that an arm of people can state.
_OF_PEOPLE = ("source", "ratings", "dataset", "models", "select")
#: Longest system prompt, in bytes: Linux allows 131,072 for one argument, which also holds the other requests.
MOST_SYSTEM = 100_000


def look_up(study: Study, place: tuple[str, str], names: Iterable[str], kind: str, what: str) -> None:
    """Raise ``ConfigError`` for the first of ``names``, stated in ``place``, that is no resource of a ``kind``.

    ``models`` are those of the registry.
    """
    allowed = study.registry if kind == "models" else study.root.names(kind)
    for name in names:
        if name not in allowed:
            raise unknown(*place, name, allowed, what, study.root.searched(kind))


def check_arm(study: Study, name: str) -> None:
    """Look up every name in the arm ``name``, and check that its settings fit together."""
    stated_in = partial(study.stated_in, "arms", name)
    arm = study.arms[name]
    look_up(study, stated_in("dataset"), [arm.dataset], "vignettes", "dataset")
    _check_source(study, name, arm)
    if arm.rated:
        _check_people(study, name, arm)
    else:
        _check_prompts(study, name, arm)
        _check_models(study, name, arm)
        _check_settings(study, name, arm)
        _check_reasoning(study, name, arm)
    check_select(study, arm.dataset, arm.select, stated_in("select"))


def check_select(study: Study, dataset: str, select: Mapping[str, Sequence[str]], place: Place) -> None:
    """Look up the factors and levels of ``select``, stated in ``place``, in a dataset."""
    factors, (file, key) = study.dataset(dataset).levels, place
    for factor, levels in select.items():
        if factor not in factors:
            raise unknown(file, key, factor, factors, f"factor of dataset {dataset!r}")
        known_levels = factors[factor]  # none of a dataset in a file, until it is fetched
        for level in levels:
            if known_levels and level not in known_levels:
                raise unknown(file, f"{key}.{factor}", level, known_levels, "level")


def _check_models(study: Study, name: str, arm: Arm) -> None:
    """Look up the models of an arm, and those that have their own number of templates."""
    stated_in = partial(study.stated_in, "arms", name)
    models, place = study.models(name), _place_of_models(study, name)
    look_up(study, place, models, "models", "model")
    if not models:
        raise ConfigError(
            f"{study.stated_in('models')}: arm '{name}' has no models; name some from config/models.yaml"
        )
    for model in models:
        if study.registry[model].people:
            raise ConfigError(
                f"{place}: '{model}' is the entry for people, who cannot be asked in arm '{name}'; "
                "name a model, or set source: human"
            )
    place = stated_in("templates_for")
    # A setting in arm_defaults is for several arms, which need not all ask the same models.
    named = (
        models
        if place.key.startswith("arms.")
        else [model for other in study.arms for model in study.models(other)]
    )
    for model in arm.templates_for:
        if model not in named:
            raise unknown(*place, model, set(named), "model of this arm")


def _place_of_models(study: Study, name: str) -> Place:
    return study.stated_in("arms", name, "models") if study.arms[name].models else study.stated_in("models")


def _check_settings(study: Study, name: str, arm: Arm) -> None:
    """Refuse settings that do not fit each other, and a system prompt that is too long for a command line."""
    stated_in = partial(study.stated_in, "arms", name)
    if arm.readout == "options" and arm.temperature != 0:
        raise ConfigError(
            f"{stated_in('readout')}: 'options' reads probabilities, not samples; temperature is "
            f"{arm.temperature}, set it to 0"
        )
    if arm.orders.method == "fixed" and arm.orders.count > 1 and arm.temperature == 0:
        raise ConfigError(
            f"{stated_in('orders', 'count')}: {arm.orders.count} sends every prompt {arm.orders.count} identical "
            "times (method: fixed, temperature: 0); set it to 1"
        )
    length = len(shlex.quote(json.dumps(arm.system)))
    if length > MOST_SYSTEM:
        raise ConfigError(
            f"{stated_in('system')}: the text has {len(arm.system or ''):,} characters, {length:,} bytes "
            f"as a job receives it; allowed: at most {MOST_SYSTEM:,}; shorten it"
        )


def _check_reasoning(study: Study, name: str, arm: Arm) -> None:
    """Check that the effort and the budget fit together, and that each model can be switched."""
    stated_in = partial(study.stated_in, "arms", name)
    if arm.reasoning is None:
        return
    level, place = arm.reasoning.level, stated_in("reasoning")
    if arm.source != "model":
        raise ConfigError(f"{place}: does not fit source '{arm.source}', which asks no model; remove it")
    if level.off and level.budget:
        raise ConfigError(f"{place}: effort 'none' writes no trace; remove budget ({level.budget})")
    if not level.off and not level.budget:
        raise ConfigError(
            f"{place}: effort '{level.effort}' needs the key 'budget', the most tokens of a trace; allowed: 1 to "
            "1000000"
        )
    if arm.readout == "options" and not level.off:
        raise ConfigError(
            f"{stated_in('readout')}: 'options' reads probabilities right after the prompt, before any trace; set "
            "it to text, or the effort of reasoning to none"
        )
    for model in study.models(name):
        if reasoning_of(study.registry_entry(model), level) is None:
            raise ConfigError(
                f"{place}: it is not known how to make {model!r} reason; state `reasoning` in its entry in "
                "config/models.yaml (docs/method/inference/asking.md), or name other models in the arm"
            )


def _check_task(study: Study, name: str, arm: Arm) -> None:
    """Check that an arm in which models act has trajectories and prompts for that, and no other arm has the prompts."""
    stated_in = partial(study.stated_in, "arms", name)
    asked = study.prompt_set(arm.prompts).task
    if asked != arm.task:
        sets = study.root.names("prompts")
        fitting = [other for other in sets if study.prompt_set(other).task == arm.task]
        raise ConfigError(
            f"{stated_in('prompts')}: prompt set {arm.prompts!r} asks models to {asked}, but the task of arm "
            f"'{name}' is {arm.task}; {listing(arm.prompts, fitting)} (or set task: {asked})"
        )
    if arm.task == "rate":
        return
    place = stated_in("task")
    if not study.dataset(arm.dataset).has_items:
        fitting = [other for other in study.root.names("vignettes") if study.dataset(other).has_items]
        raise ConfigError(
            f"{place}: models can act on trajectories only, and dataset {arm.dataset!r} has none; "
            f"{listing(arm.dataset, fitting)}"
        )
    if study.scale_name(name) != DISCLOSURE:
        raise ConfigError(f"{stated_in('scale')}: 'act' has a scale of its own; remove {arm.scale!r}")
    if arm.readout != "text":
        raise ConfigError(
            f"{place}: 'act' does not fit readout '{arm.readout}' of arm '{name}'; set it to text"
        )


def _check_prompts(study: Study, name: str, arm: Arm) -> None:
    """Look up the prompt set of an arm, and check that it, the dataset and the templates fit together."""
    stated_in = partial(study.stated_in, "arms", name)
    if not arm.prompts:
        raise ConfigError(f"{stated_in()}: key 'prompts' is missing; required: dataset, prompts")
    look_up(study, stated_in("prompts"), [arm.prompts], "prompts", "prompt set")
    _check_task(study, name, arm)
    _check_scale(study, name, arm)
    available = study.prompt_set(arm.prompts).n_templates
    stated: dict[tuple[str, ...], int] = {} if arm.templates == "all" else {("templates",): arm.templates}
    stated |= {("templates_for", model): count for model, count in arm.templates_for.items()}
    for path, count in stated.items():
        if count > available:
            raise ConfigError(
                f"{stated_in(*path)}: {count} is more than prompt set {arm.prompts!r} has; "
                f"allowed: at most {available}"
            )


def _check_scale(study: Study, name: str, arm: Arm) -> None:
    """Look up the scale of an arm, and check that it measures what the templates ask for."""
    stated_in = partial(study.stated_in, "arms", name)
    words = study.prompt_set(arm.prompts)
    for kind, file, scale_name in (
        ("vignettes", arm.dataset, study.dataset(arm.dataset).scale),
        ("prompts", arm.prompts, words.scale),
    ):
        place = study.root.shown(study.root.names(kind)[file]), "scale"
        look_up(study, place, [scale_name], "scales", "scale")
    if arm.scale is not None:
        look_up(study, stated_in("scale"), [arm.scale], "scales", "scale")
    scale, asked = study.scale(name), study.named_scale(words.scale).measure
    if scale.measure != asked:
        where = stated_in("scale") if arm.scale else stated_in()
        fitting = [other for other in study.root.names("scales") if study.named_scale(other).measure == asked]
        raise ConfigError(
            f"{where}: scale {scale.name!r} measures {scale.measure}, but prompt set {arm.prompts!r} asks for {asked}; "
            f"{listing(scale.name, fitting)} (or choose other prompts)"
        )
    if scale.line and arm.orders.count > 1 and arm.temperature == 0:
        raise ConfigError(
            f"{stated_in('orders', 'count')}: {arm.orders.count} sends every prompt {arm.orders.count} identical "
            f"times, because the number line {scale.name!r} has one order only; set it to 1"
        )
    if scale.line and arm.readout == "options":
        raise ConfigError(
            f"{stated_in('readout')}: 'options' needs answer options, and {scale.name!r} is a number line; "
            "set it to text"
        )


def _check_source(study: Study, name: str, arm: Arm) -> None:
    """Check where the answers of an arm come from, and that its models are in there."""
    stated_in = partial(study.stated_in, "arms", name)
    if arm.sample > 1 and arm.source != "model":
        raise ConfigError(
            f"{stated_in('sample')}: {arm.sample} does not fit source '{arm.source}' of arm '{name}': nothing is "
            "asked there; set it to 1"
        )
    needed = _NEEDED.get(arm.source, ())
    for setting in _OF_SOURCES:
        value = getattr(arm, setting)
        if setting in needed and not value:
            raise ConfigError(
                f"{stated_in('source')}: '{arm.source}' also needs the key '{setting}'; add it to arms.{name}"
            )
        if setting not in _ALLOWED.get(arm.source, needed) and value:
            raise ConfigError(
                f"{stated_in(setting)}: {value!r} does not fit source '{arm.source}'; remove it or change "
                "'source'"
            )
    if needed and not arm.rated and study.settings.engine == "planted":
        raise ConfigError(
            f"{study.stated_in('engine')}: 'planted' cannot replace the existing answers of arm '{name}' "
            f"(source: {arm.source}); set it to null"
        )
    if arm.source == "published" and arm.frame is not None:
        releases = study.root.names("published")
        frames = {
            f"{release}{SEPARATOR}{frame}" for release in releases for frame in study.release(release).frames
        }
        if arm.frame not in frames:
            searched = study.root.searched("published")
            raise unknown(*stated_in("frame"), arm.frame, frames, "frame", searched)
        release = study.release(arm.frame.split(SEPARATOR)[0])
        for model in study.published_models():
            if model not in release.models:
                place = _place_of_models(study, name)
                raise unknown(*place, model, release.models, "model of this release")
    if arm.source == "responses":
        place = stated_in("response_format")
        if arm.response_format not in format_modules():
            raise unknown(*place, arm.response_format, format_modules(), "format")
        files: dict[str, str] = {}
        for model in filter(study.registry.__contains__, study.models(name)):
            other = files.setdefault(study.collected_files(name, model), model)
            if other != model:
                raise ConfigError(
                    f"{stated_in('response_files')}: {arm.response_files!r} names the same files for {other!r} and "
                    f"{model!r}; put {{model}} into the path"
                )


def _check_people(study: Study, name: str, arm: Arm) -> None:
    """Look up the survey of an arm, and check that it fits the dataset, the scale and who rated."""
    stated_in = partial(study.stated_in, "arms", name)
    place = stated_in("ratings")
    survey_name, question = split_name(str(arm.ratings))
    look_up(study, place, [survey_name], "ratings", "survey")
    survey = study.survey(name)
    if question and question not in survey.questions:
        raise unknown(*place, question, survey.questions, f"question of survey {survey_name!r}")
    for what, surveyed, fits in (
        ("dataset", survey.dataset, arm.dataset),
        ("scale", survey.scale, study.scale_name(name)),
    ):
        if surveyed != fits:
            raise ConfigError(
                f"{place}: survey {survey_name!r} is about {what} {surveyed!r}, but arm '{name}' has {fits!r}; "
                "choose two that fit"
            )
    values, levels = study.question(name).values, study.scale(name).levels
    if values and len(values) != len(levels):
        raise ConfigError(
            f"{survey.path}: questions: {len(values)} values are stated, but scale {survey.scale!r} has {len(levels)} "
            "options; state one for each, lowest first"
        )
    models, place = study.models(name), _place_of_models(study, name)
    look_up(study, place, models, "models", "model")
    for model in models:
        if not study.registry[model].people:
            raise ConfigError(
                f"{place}: '{model}' is a model, but arm '{name}' has source: human; leave the key 'models' out, or "
                "name an entry with engine: human"
            )
    if len(models) != 1:
        raise ConfigError(
            f"{place}: arm '{name}' has ratings of one survey, but {len(models)} entries for its people; name one"
        )
    for key in ArmDefaults.model_fields:
        stated = stated_in(key)
        is_stated = bool(arm.prompts) if key == "prompts" else stated.key.startswith(f"arms.{name}.")
        if key not in _OF_PEOPLE and is_stated:
            raise ConfigError(f"{stated}: has no effect on people (source: human); remove it")


def check_names(study: Study) -> None:
    """Look up every name that the schemas cannot know."""
    settings = study.settings
    look_up(study, study.stated_in("models"), settings.models, "models", "model")
    for name in study.arms:
        check_arm(study, name)
    for name in study.datasets():
        _check_flows_of(study, study.dataset(name))
    _check_compared(study)
    if settings.overrides:
        check_file(settings.overrides, *study.stated_in("overrides"))
    for name, gate in settings.gates.items():
        check_file(gate.policy, *study.stated_in("gates", name, "policy"))
    _check_coder(study)
    _check_pilot(study)
    # An unknown paraphraser is refused here, and so are paraphrases that nobody finds again.
    for name in study.awaited():
        path = study.root.names("prompts")[name]
        if study.root.is_fetched and settings.engine != "planted" and not study.root.is_own(path):
            raise ConfigError(
                f"{study.root.shown(path)}: its paraphrases do not exist yet. This project was fetched from git, so "
                "they would be lost in a cache: copy the file into prompts/ of a folder of yours, and name that folder "
                "in the study (resources: [FOLDER])"
            )
    for model in study.all_models() if settings.engine == "planted" else ():
        entry, stand_in = study.registry[model], study.stand_in(model)
        if not (entry.planted or entry.people) and stand_in not in study.registry:
            raise ConfigError(
                f"{entry.file}: {model}: key 'stand_in' is missing, and its default {stand_in!r} does not exist; "
                "name a planted model"
            )
    for model in settings.norms.t_val_for:
        if model not in study.all_models():
            place = study.stated_in("norms", "t_val_for")
            raise unknown(*place, model, study.all_models(), "model of this study")


def _check_flows_of(study: Study, dataset: Dataset) -> None:
    """Look up the dataset whose flows ``dataset`` tells, if it is another's, and check that it has as many."""
    flows_of = dataset.flows_of
    if flows_of is None:
        return
    file = study.root.shown(dataset.path)
    look_up(study, (file, "flows_of"), [flows_of], "vignettes", "dataset")
    if flows_of == dataset.name:
        raise ConfigError(f"{file}: flows_of: it names the dataset itself; leave it out")
    other = study.dataset(flows_of)
    if other.flows_of is not None:
        raise ConfigError(
            f"{file}: flows_of: {flows_of!r} has the flows of {other.flows_of!r}; state {other.flows_of!r} here too"
        )
    # A file that numbers its records may tell some of the flows.
    sizes = dataset.n_flows() if dataset.numbers is None else None, other.n_flows()
    if None not in sizes and sizes[0] != sizes[1]:
        raise ConfigError(
            f"{file}: flows_of: {flows_of!r} has {sizes[1]:,} flows, this dataset has {sizes[0]:,}; both need the same "
            "flows under the same numbers"
        )


def _check_compared(study: Study) -> None:
    """Look up the release that is compared, and the analyses and figures that are compared with it."""
    name, place = study.settings.compare, study.stated_in("compare")
    look_up(study, place, [name] if name is not None else [], "published", "release")
    for needed in compared_with(study.compared()):
        if needed not in {**study.settings.analyses, **study.settings.figures}:
            raise ConfigError(
                f"{place}: the numbers of {name!r} need an analysis or figure '{needed}', which the study lacks; "
                "copy it from config/replication.yaml"
            )


def _check_coder(study: Study) -> None:
    """Look up the model that codes replies, and the sheet that a person filled in."""
    answers = study.settings.answers
    if answers.coded:
        check_file(answers.coded, *study.stated_in("answers", "coded"))
    if answers.coder is None:
        return
    place = study.stated_in("answers", "coder")
    look_up(study, place, [answers.coder], "models", "model")
    entry = study.registry[answers.coder]
    if entry.planted and entry.request["planted"].get("judge") is None:
        raise ConfigError(
            f"{place}: '{answers.coder}' is planted: it answers questions about flows and cannot read a reply; "
            "name a real model, or a planted respondent with 'judge', which reads actions of planted agents"
        )


def _check_pilot(study: Study) -> None:
    """Refuse a pilot without answers."""
    pilot, place = study.settings.plan.pilot, study.stated_in("plan", "pilot")
    answers = study.root.results / pilot / "answers" if pilot else None
    if answers and not os.path.isdir(answers):
        raise ConfigError(
            f"{place}: there is no {answers} in the folder that the study runs in; run the study {pilot!r} first"
        )
