"""What the schemas cannot see in an analysis, a figure or a printed table of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.analyses.names import check_analysis
from cinorms.core.validation import check, unknown
from cinorms.figures.checks import check_figure
from cinorms.printed.checks import check_printed
from cinorms.study.checks import check_select, file_of
from cinorms.study.layers import Layer
from cinorms.study.study import Study


def check_entries(study: Study, layers: Sequence[Layer]) -> None:
    """Check every analysis, figure and printed table of a study."""
    for section in ("analyses", "figures"):
        for name, entry in study.settings[section].items():
            _check_entry(study, section, name, entry, layers)
    for name, entry in study.settings["printed"].items():
        _check_printed(study, name, entry, layers)


def _check_entry(
    study: Study, section: str, name: str, entry: Mapping[str, Any], layers: Sequence[Layer]
) -> None:
    key, file, arms_file = f"{section}.{name}", str(file_of(layers, section)), str(file_of(layers, "arms"))
    files = [layer.file for layer in layers]
    replaced = files.index(arms_file) > files.index(file)
    hint = f"; {arms_file} has arms of its own and needs {section} of its own" if replaced else ""
    _check_kind(study, section, name, entry, file)
    for arm in entry["arms"]:
        if arm not in study.arms:
            raise unknown(file, f"{key}.arms", arm, study.arms, "arm", hint)
    asked = {m for arm in entry["arms"] for m in study.models(arm)}
    for model in entry.get("models", []):
        if model not in asked:
            raise unknown(file, f"{key}.models", model, asked, "model of these arms")
    for arm in entry["arms"]:
        check_select(study, study.arms[arm]["dataset"], entry.get("select", {}), f"{key}.select", file)
    if section == "analyses":
        check_analysis(study, name, entry, file)
    else:
        check_figure(study, name, entry, file, _hint_of_analyses(section, layers))


def _check_printed(study: Study, name: str, entry: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    file = str(file_of(layers, "printed"))
    _check_kind(study, "printed", name, entry, file)
    check_printed(study, name, entry, file, _hint_of_analyses("printed", layers))


def _check_kind(study: Study, section: str, name: str, entry: Mapping[str, Any], file: str) -> None:
    kinds = study.root.kinds(section)
    if entry["kind"] not in kinds:
        raise unknown(file, f"{section}.{name}.kind", entry["kind"], kinds, "kind")
    check(dict(entry), kinds[entry["kind"]], file, prefix=f"{section}.{name}")


def _hint_of_analyses(section: str, layers: Sequence[Layer]) -> str:
    """Return what to do where a file has analyses of its own, but not what is made of them."""
    files = [layer.file for layer in layers]
    analyses, made = str(file_of(layers, "analyses")), str(file_of(layers, section))
    if files.index(analyses) <= files.index(made):
        return ""
    return f"; {analyses} has analyses of its own and needs {section} of its own"
