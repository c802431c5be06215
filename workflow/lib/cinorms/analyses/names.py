"""The names that an analysis can use, and the check that it uses no others (no data is read for it)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, unknown
from cinorms.study.attributes import ARM_ATTRIBUTES, MODEL_ATTRIBUTES
from cinorms.vignettes.factors import JOINT, default_factors, text

if TYPE_CHECKING:
    from cinorms.study.study import Study

#: What else a factor of a regression can be; of a regression of responses, these too.
OTHER_FACTORS = ("model", "arm")
RESPONSE_FACTORS = ("template", "position")
#: These make one regression of several models, or of several arms.
POOLS_MODELS = frozenset({"model", *MODEL_ATTRIBUTES})
POOLS_ARMS = frozenset({"arm", *ARM_ATTRIBUTES})

_REGRESSIONS = ("ordinal_regression", "proportional_odds", "response_regression")


def check_analysis(study: Study, name: str, entry: Mapping[str, Any], file: str) -> None:
    """Raise ``ConfigError`` for a factor, level, attribute or model in an entry that does not exist."""
    key = f"analyses.{name}"
    for arm in entry["arms"]:
        for factor in entry.get("factors", ()):
            allowed = _factors(study, entry, arm)
            if factor not in allowed:
                raise unknown(file, f"{key}.factors", factor, allowed, f"factor for arm {arm!r}")
        for factor in entry.get("by", ()):
            if factor not in study.design(arm)["factors"]:
                raise unknown(
                    file, f"{key}.by", factor, study.design(arm)["factors"], f"factor of arm {arm!r}"
                )
    _check_attributes(study, entry, key, file)
    _check_baselines(study, entry, key, file)
    _check_factor(entry, key, file)
    _check_expected(entry, key, file)
    models = _models(study, entry)
    for label, members in entry.get("sets", {}).items():
        for model in members:
            if model not in models:
                raise unknown(file, f"{key}.sets.{label}", model, models, "model of this analysis")


def _models(study: Study, entry: Mapping[str, Any]) -> list[str]:
    asked = dict.fromkeys(model for arm in entry["arms"] for model in study.models(arm))
    return [model for model in entry.get("models") or asked if model in asked]


def _factors(study: Study, entry: Mapping[str, Any], arm: str) -> list[str]:
    """Return the factors that an entry can name for an arm."""
    design = study.design(arm)
    allowed = [*design["factors"], *default_factors(design)]
    if entry["kind"] in _REGRESSIONS:
        allowed += [*OTHER_FACTORS, *MODEL_ATTRIBUTES, *ARM_ATTRIBUTES]
    if entry["kind"] == "response_regression":
        allowed += RESPONSE_FACTORS
    return list(dict.fromkeys(allowed))


def _check_attributes(study: Study, entry: Mapping[str, Any], key: str, file: str) -> None:
    """Refuse a regression on an attribute that one of its models does not have."""
    for factor in entry.get("factors", ()):
        for model in _models(study, entry) if factor in MODEL_ATTRIBUTES else ():
            if study.attributes(model)[factor] is None:
                raise ConfigError(
                    f"{file}: {key}.factors: {factor!r} of model {model!r} is not known (models.yaml); "
                    f"name the models to compare under {key}.models, or leave {factor!r} out"
                )


def _check_baselines(study: Study, entry: Mapping[str, Any], key: str, file: str) -> None:
    for factor, level in entry.get("baselines", {}).items():
        known: set[str] = set()
        for arm in entry["arms"]:
            default = default_factors(study.design(arm))
            known |= set(entry.get("factors") or [*default, *study.design(arm)["factors"]])
            if entry["kind"] == "response_regression" and "factors" not in entry:
                known |= set(RESPONSE_FACTORS)
        if factor not in known:
            raise unknown(file, f"{key}.baselines", factor, known, "factor of this analysis")
        levels = _levels(study, entry, factor)
        if levels and text(level) not in levels:
            raise unknown(file, f"{key}.baselines.{factor}", text(level), levels, "level")


def _levels(study: Study, entry: Mapping[str, Any], factor: str) -> list[str]:
    """Return the levels of a factor in all arms of an entry; none where they are not known yet."""
    models = _models(study, entry)
    match factor:
        case "model":
            return models
        case "arm":
            return list(entry["arms"])
        case "template":
            return [str(i) for i in range(max(study.templates(arm) for arm in entry["arms"]))]
        case "position":
            return [str(i) for i in range(1, 6)]
    if factor in MODEL_ATTRIBUTES:
        return list(dict.fromkeys(text(study.attributes(model)[factor]) for model in models))
    if factor in ARM_ATTRIBUTES:
        return list(dict.fromkeys(text(study.arms[arm].conditions()[factor]) for arm in entry["arms"]))
    return list(
        dict.fromkeys(level for arm in entry["arms"] for level in _levels_of_dataset(study, arm, factor))
    )


def _levels_of_dataset(study: Study, arm: str, factor: str) -> Iterable[str]:
    dataset = study.dataset(study.arms[arm].dataset)
    parts = factor.split(JOINT)
    if not set(parts) <= set(dataset.factors):
        return
    if dataset.design is not None:
        columns = [[level.label for level in dataset.design.factors[part]] for part in parts]
        yield from (JOINT.join(row) for row in zip(*columns, strict=True))
    null = dataset.null_level
    if null is not None and null.factor == factor and study.null_principle(dataset.name):
        yield null.label


def _check_factor(entry: Mapping[str, Any], key: str, file: str) -> None:
    """Look up the attribute, or attributes joined by "+", in which models are compared."""
    for part in entry["factor"].split("+") if "factor" in entry else ():
        if part not in (*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES):
            raise unknown(file, f"{key}.factor", part, [*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES], "attribute")
        if part == "paraphraser" and entry["kind"] == "model_contrasts":
            raise ConfigError(
                f"{file}: {key}.factor: 'paraphraser' was given; model_contrasts compares within wordings, "
                "and two paraphrasers share none; use the kind model_pairs"
            )


def _check_expected(entry: Mapping[str, Any], key: str, file: str) -> None:
    """Look whether the file of expected values is there, and the numbers for the five levels rise."""
    if "expected" in entry:
        check_file(entry["expected"], file, f"{key}.expected")
    points = entry.get("embedding", [])
    if points != sorted(set(points)):
        raise ConfigError(f"{file}: {key}.embedding: {points} was given; each number must be above the last")
