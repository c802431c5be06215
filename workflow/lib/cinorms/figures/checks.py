"""What the schemas cannot see in a figure: names of factors and tables, numbers of models. Reads no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import check_file, unknown
from cinorms.figures.cells import SHAPES
from cinorms.figures.layout import placed
from cinorms.vignettes.factors import JOINT, default_factors

if TYPE_CHECKING:
    from cinorms.study.study import Study

#: Kinds of analyses whose table has terms.
TABLES = ("ordinal_regression", "response_regression", "calibration_coefficients")
#: Kinds that put the flows of all their arms together.
_ONE_DATASET = ("norms", "agreement")


def check_figure(study: Study, name: str, entry: Mapping[str, Any], file: str, hint: str = "") -> None:
    """Raise ``ConfigError`` for a factor, table or number of models in an entry that cannot be drawn."""
    key = f"figures.{name}"
    datasets = list(dict.fromkeys(study.arms[arm].dataset for arm in entry["arms"]))
    if entry["kind"] in _ONE_DATASET and len(datasets) > 1:
        raise ConfigError(
            f"{file}: {key}.arms: arms of one dataset are needed, these have {', '.join(datasets)}"
        )
    if entry["kind"] == "norms":
        _check_parts(study, key, entry, file)
        _check_places(study, key, entry, file)
    if "expected" in entry:
        check_file(entry["expected"], file, f"{key}.expected")
    if entry["kind"] == "delta" and "by" in entry:
        for arm in entry["arms"]:
            _check_factor(study, arm, f"{key}.by", entry["by"], file)
    if entry["kind"] == "coefficients":
        _check_table(study, key, entry, file, hint)


def _check_parts(study: Study, key: str, entry: Mapping[str, Any], file: str) -> None:
    models = (entry.get("models") or study.all_models())[: entry.get("first")]
    parts = sum(model in study.models(arm) for arm in entry["arms"] for model in models)
    if parts not in SHAPES:
        raise ConfigError(
            f"{file}: {key}.models: a cell would have {parts} parts (models times arms); allowed: "
            f"{', '.join(map(str, SHAPES))}; name the models to show under 'models'"
        )


def _check_places(study: Study, key: str, entry: Mapping[str, Any], file: str) -> None:
    arm = entry["arms"][0]
    for side in ("rows", "columns", "pages"):
        named = entry.get(side, [])
        for factor in [named] if isinstance(named, str) else named:
            _check_factor(study, arm, f"{key}.{side}", factor, file)
    at = placed(entry, study.design(arm)["factors"])
    factors = [part for side in at.values() for factor in side for part in factor.split(JOINT)]
    twice = [factor for factor in factors if factors.count(factor) > 1]
    if twice:
        raise ConfigError(
            f"{file}: {key}: factor {twice[0]!r} has two places; give it one of rows, columns, pages"
        )
    for side in ("rows", "columns"):
        if not at[side]:
            raise ConfigError(
                f"{file}: {key}: key '{side}' is missing; factors: {', '.join(_factors(study, arm))}"
            )
    loose = _loose(study, arm, entry, factors)
    if loose:
        raise ConfigError(
            f"{file}: {key}: factors {', '.join(loose)} have several levels and no place; name them under "
            "rows, columns or pages, or choose one level of each under select"
        )


def _loose(study: Study, arm: str, entry: Mapping[str, Any], factors: Sequence[str]) -> list[str]:
    """Return the factors with several levels that have no place, nor any factor that they are linked with."""
    linked = [group for group in study.design(arm)["linked"] if set(group) & set(factors)]
    bound = {*factors, *(factor for group in linked for factor in group)}
    levels = study.dataset(study.arms[arm].dataset).factors
    chosen = {**levels, **study.arms[arm].select, **entry.get("select", {})}
    return [factor for factor in levels if factor not in bound and len(chosen[factor]) > 1]


def _factors(study: Study, arm: str) -> list[str]:
    design = study.design(arm)
    return list(dict.fromkeys([*design["factors"], *default_factors(design)]))


def _check_factor(study: Study, arm: str, key: str, factor: str, file: str) -> None:
    if factor not in _factors(study, arm):
        dataset = study.arms[arm].dataset
        raise unknown(file, key, factor, _factors(study, arm), f"factor of dataset {dataset!r}")


def _check_table(study: Study, key: str, entry: Mapping[str, Any], file: str, hint: str) -> None:
    analyses = study.settings.analyses
    fitting = [name for name, analysis in analyses.items() if analysis["kind"] in TABLES]
    if entry["table"] not in fitting:
        raise unknown(file, f"{key}.table", entry["table"], fitting, "analysis with terms", hint)
    analysis = analyses[entry["table"]]
    for arm in entry["arms"]:
        if arm not in analysis["arms"]:
            raise unknown(file, f"{key}.arms", arm, analysis["arms"], f"arm of analysis {entry['table']!r}")
    for model in entry.get("models", []):
        if model not in analysis.get("models", study.all_models()):
            known = analysis["models"]
            raise unknown(file, f"{key}.models", model, known, f"model of analysis {entry['table']!r}")
    known = analysis.get("factors") or [f for arm in analysis["arms"] for f in _factors(study, arm)]
    for factor in entry.get("factors", []):
        if factor not in known:
            raise unknown(file, f"{key}.factors", factor, known, f"factor of analysis {entry['table']!r}")
