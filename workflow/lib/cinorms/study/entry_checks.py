"""Checks of analyses, figures and printed tables that need the study: names that only the study knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cinorms.core.validation import check, unknown
from cinorms.entries.registry import SECTIONS, kinds
from cinorms.study.arm_checks import check_select
from cinorms.study.entry_place import EntryPlace
from cinorms.study.study import Study


def check_entries(study: Study) -> None:
    """Check every analysis, figure and printed table of a study."""
    for section in SECTIONS:
        for name, stated in study.settings.entries(section).items():
            file = study.settings.stated_in(section, name).file
            _check_entry(EntryPlace(study, section, name, file, _hint(study, "analyses", section)), stated)


def _check_entry(place: EntryPlace, stated: Mapping[str, Any]) -> None:
    known, name = kinds(place.section), stated.get("kind")
    if name is None:
        raise place.error("", "key 'kind' is missing; required: kind")
    if not isinstance(name, str) or name not in known:
        raise place.unknown("kind", name, known, "kind")
    check({k: v for k, v in stated.items() if k != "kind"}, known[name].options, place.file, place.key())
    options: Any = known[name].read(stated)
    if hasattr(options, "arms"):
        _check_arms(place, options)
    options.check(place)


def _check_arms(place: EntryPlace, options: Any) -> None:
    """Look up the arms, their models, and the levels of their flows."""
    study = place.study
    for arm in options.arms:
        if arm not in study.arms:
            hint = _hint(study, "arms", place.section)
            raise unknown(place.file, place.key("arms"), arm, study.arms, "arm", hint)
    asked = {model for arm in options.arms for model in study.models(arm)}
    place.check_names("models", options.models or (), asked, "model of these arms")
    select = study.settings.stated_in(place.section, place.name, "select")
    for arm in options.arms:
        check_select(study, study.arms[arm].dataset, getattr(options, "select", None) or {}, select)


def _hint(study: Study, used: str, section: str) -> str:
    """Return what to do if a file sets its own ``used``, but not the ``section`` that is made from them."""
    above, below = study.settings.stated_in(used), study.settings.stated_in(section)
    if above.layer <= below.layer:
        return ""
    return f"; {above.file} sets its own {used}, so it also needs its own {section}"
