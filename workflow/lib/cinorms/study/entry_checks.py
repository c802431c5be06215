"""What the schemas cannot see in an analysis, a figure or a printed table of a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinorms.analyses.names import check_analysis
from cinorms.core.validation import check, unknown
from cinorms.figures.checks import check_figure
from cinorms.printed.checks import check_printed
from cinorms.study.arm_checks import check_select
from cinorms.study.study import Study


def check_entries(study: Study) -> None:
    """Check every analysis, figure and printed table of a study."""
    for section in ("analyses", "figures"):
        for name, entry in study.settings.entries(section).items():
            _check_entry(study, section, name, entry)
    for name, entry in study.settings.printed.items():
        _check_printed(study, name, entry)


def _check_entry(study: Study, section: str, name: str, entry: Mapping[str, Any]) -> None:
    file, key = study.settings.stated_in(section, name).named
    hint = _hint_of_layers(study, "arms", section)
    _check_kind(study, section, name, entry, file)
    for arm in entry["arms"]:
        if arm not in study.arms:
            raise unknown(file, f"{key}.arms", arm, study.arms, "arm", hint)
    asked = {m for arm in entry["arms"] for m in study.models(arm)}
    for model in entry.get("models", []):
        if model not in asked:
            raise unknown(file, f"{key}.models", model, asked, "model of these arms")
    for arm in entry["arms"]:
        select = study.settings.stated_in(section, name, "select")
        check_select(study, study.arms[arm].dataset, entry.get("select", {}), select)
    if section == "analyses":
        check_analysis(study, name, entry, file)
    else:
        check_figure(study, name, entry, file, _hint_of_layers(study, "analyses", section))


def _check_printed(study: Study, name: str, entry: Mapping[str, Any]) -> None:
    file = study.settings.stated_in("printed").file
    _check_kind(study, "printed", name, entry, file)
    check_printed(study, name, entry, file, _hint_of_layers(study, "analyses", "printed"))


def _check_kind(study: Study, section: str, name: str, entry: Mapping[str, Any], file: str) -> None:
    kinds = study.root.kinds(section)
    if entry["kind"] not in kinds:
        raise unknown(file, f"{section}.{name}.kind", entry["kind"], kinds, "kind")
    check(dict(entry), kinds[entry["kind"]], file, prefix=f"{section}.{name}")


def _hint_of_layers(study: Study, used: str, section: str) -> str:
    """Return what to do where a file has ``used`` of its own, but not the ``section`` that is made of them."""
    above, below = study.settings.stated_in(used), study.settings.stated_in(section)
    if above.layer <= below.layer:
        return ""
    return f"; {above.file} has {used} of its own and needs {section} of its own"
