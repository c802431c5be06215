"""What the options of an analysis, a figure or a printed table cannot see alone: names that only the study knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.core.validation import check, unknown
from cinorms.entries.registry import SECTIONS, kinds
from cinorms.study.checks import check_select, file_of
from cinorms.study.layers import Layer
from cinorms.study.place import Place
from cinorms.study.study import Study


def check_entries(study: Study, layers: Sequence[Layer]) -> None:
    """Check every analysis, figure and printed table of a study."""
    for section in SECTIONS:
        for name, entry in study.settings[section].items():
            place = Place(
                study, section, name, str(file_of(layers, section)), _newer(layers, "analyses", section)
            )
            _check_entry(place, entry, layers)


def _check_entry(place: Place, stated: Mapping[str, Any], layers: Sequence[Layer]) -> None:
    known = kinds(place.section)
    if stated["kind"] not in known:
        raise place.unknown("kind", stated["kind"], known, "kind")
    kind = known[stated["kind"]]
    check(dict(stated), kind.schema, place.file, prefix=place.key())
    options: Any = kind.options(**{key: value for key, value in stated.items() if key != "kind"})
    if hasattr(options, "arms"):
        _check_arms(place, options, layers)
    options.check(place)


def _check_arms(place: Place, options: Any, layers: Sequence[Layer]) -> None:
    """Look up the arms, their models, and the levels of their flows."""
    study = place.study
    for arm in options.arms:
        if arm not in study.arms:
            hint = _newer(layers, "arms", place.section)
            raise unknown(place.file, place.key("arms"), arm, study.arms, "arm", hint)
    asked = {model for arm in options.arms for model in study.models(arm)}
    place.check_names("models", options.models or (), asked, "model of these arms")
    for arm in options.arms:
        select = getattr(options, "select", None) or {}
        check_select(study, study.arms[arm]["dataset"], select, place.key("select"), place.file)


def _newer(layers: Sequence[Layer], below: str, section: str) -> str:
    """Return what to do where a file has arms, or analyses, of its own, but not the entries that are made of them."""
    files = [layer.file for layer in layers]
    first, second = str(file_of(layers, below)), str(file_of(layers, section))
    if files.index(first) <= files.index(second):
        return ""
    return f"; {first} has {below} of its own and needs {section} of its own"
