"""What the schemas cannot see in a printed table: names of analyses and models, thresholds. Reads no data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cinorms.core.errors import ConfigError
from cinorms.core.validation import unknown

if TYPE_CHECKING:
    from cinorms.study.study import Study

#: Kinds of analyses that each kind is made from.
SOURCES = {
    "discarded": ("discarded",),
    "lost": ("lost",),
    "coefficients": ("ordinal_regression", "response_regression"),
    "pairs": ("model_pairs",),
}


def check_printed(study: Study, name: str, entry: Mapping[str, Any], file: str, hint: str = "") -> None:
    """Raise ``ConfigError`` for an analysis, model or threshold in an entry that there is not."""
    key = f"printed.{name}"
    asked = study.all_models()
    if entry["kind"] in SOURCES:
        _check_sources(study, key, entry, file, hint)
        named = [study.entry("analyses", source)["selected"] for source in entry["from"]]
        asked = list(dict.fromkeys(model for pairs in named for _, model in pairs))
    for model in [*entry.get("models", []), *entry.get("t_val_for", {})]:
        if model not in asked:
            raise unknown(file, f"{key}.models", model, asked, "model of these analyses")
    if entry["kind"] in ("discarded", "lost"):
        _check_thresholds(study, key, entry, file)


def _check_sources(study: Study, key: str, entry: Mapping[str, Any], file: str, hint: str) -> None:
    kinds, analyses = SOURCES[entry["kind"]], study.settings.analyses
    fitting = [name for name, analysis in analyses.items() if analysis["kind"] in kinds]
    for source in entry["from"]:
        if source not in fitting:
            raise unknown(
                file, f"{key}.from", source, fitting, f"analysis of kind {' or '.join(kinds)}", hint
            )
    if entry["kind"] == "pairs" and any("factor" in analyses[source] for source in entry["from"]):
        raise ConfigError(
            f"{file}: {key}.from: {', '.join(entry['from'])} was given; a square needs the pairs of all "
            "models, allowed: analyses without the key 'factor'"
        )


def _check_thresholds(study: Study, key: str, entry: Mapping[str, Any], file: str) -> None:
    t_vals, t_majs = study.thresholds()
    for place, given in (("t_val", entry.get("t_val", [])), *_of_models(entry)):
        _check_each(file, f"{key}.{place}", given, t_vals, "T_val")
    _check_each(file, f"{key}.t_maj", entry.get("t_maj", []), t_majs, "T_maj")
    for step in entry.get("steps", []):
        _check_each(file, f"{key}.steps", step, t_majs, "T_maj")
        if t_majs.index(step[0]) > t_majs.index(step[1]):
            raise ConfigError(
                f"{file}: {key}.steps: {step} was given; the lower threshold comes first: {step[::-1]}"
            )


def _of_models(entry: Mapping[str, Any]) -> list[tuple[str, Sequence[int]]]:
    return [(f"t_val_for.{model}", given) for model, given in entry.get("t_val_for", {}).items()]


def _check_each(file: str, key: str, given: Sequence[Any], known: Sequence[Any], what: str) -> None:
    for value in given:
        if value not in known:
            allowed = ", ".join(map(str, known))
            raise ConfigError(
                f"{file}: {key}: {what} {value} was given; allowed: {allowed} (norms.grid of the study)"
            )
