"""What the schemas cannot see in an arm of people: its survey, and settings that only models have."""

from __future__ import annotations

from cinorms.core.errors import ConfigError
from cinorms.core.validation import unknown
from cinorms.human.ratings import split_name
from cinorms.study.settings import ArmDefaults
from cinorms.study.study import Study

#: The keys that an arm of people can state.
KEYS = ("source", "ratings", "dataset", "models", "select")


def check_people(study: Study, name: str) -> None:
    """Look up the survey of the arm ``name``, and check that it fits the dataset, the scale and who rated."""
    arm = study.arms[name]
    place = arm.stated_in("ratings")
    survey_name, question = split_name(str(arm.ratings))
    known = study.root.names("ratings")
    if survey_name not in known:
        raise unknown(*place.named, survey_name, known, "survey", study.root.searched("ratings"))
    survey = study.survey(name)
    if question and question not in survey.questions:
        raise unknown(*place.named, question, survey.questions, f"question of survey {survey_name!r}")
    for what, given, fits in (
        ("dataset", survey.dataset, arm.dataset),
        ("scale", survey.scale, study.scale_name(name)),
    ):
        if given != fits:
            raise ConfigError(
                f"{place}: survey {survey_name!r} is about {what} {given!r}, but arm '{name}' has {fits!r}; "
                "choose two that fit"
            )
    values, levels = study.question(name).values, study.scale(name).levels
    if values and len(values) != len(levels):
        raise ConfigError(
            f"{survey.file}: questions: {len(values)} values are stated, but scale {survey.scale!r} has {len(levels)} "
            "options; state one for each, lowest first"
        )
    _check_respondents(study, name)
    for key in ArmDefaults.model_fields:
        stated = arm.stated_in(key)
        own = bool(arm.prompts) if key == "prompts" else stated.key.startswith(f"arms.{name}.")
        if key not in KEYS and own:
            raise ConfigError(f"{stated}: has no effect on people (source: human); remove it")


def _check_respondents(study: Study, name: str) -> None:
    """Check that the arm has one entry of the registry, which stands for people."""
    models = study.models(name)
    place = (
        study.arms[name].stated_in("models")
        if study.arms[name].models
        else study.settings.stated_in("models")
    )
    for model in models:
        if model not in study.registry:
            raise unknown(*place.named, model, study.registry, "model", study.root.searched("models"))
        if not study.registry[model].kind.people:
            raise ConfigError(
                f"{place}: '{model}' is a model, but arm '{name}' has source: human; leave the key 'models' out, or "
                "name an entry with engine: human"
            )
    if len(models) != 1:
        raise ConfigError(
            f"{place}: arm '{name}' has ratings of one survey, but {len(models)} entries for its people; name one"
        )
