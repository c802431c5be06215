"""Layers of settings: each is one file, or the command line; the last wins."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: Sections whose keys are settings, so that a study file changes single ones. Everything else is replaced as
#: a whole: a study has its own arms and figures, not the demo's and some more.
MIXED = frozenset({"plan", "arm_defaults", "orders", "norms", "grid", "datasets"})


@dataclass(frozen=True)
class Layer:
    """One source of settings, with the name that messages give it."""

    file: str
    document: dict[str, Any]


def merge(layers: Iterable[Layer]) -> dict[str, Any]:
    """Merge layers, the last wins: ``MIXED`` sections key by key, others as a whole; fill in the arms."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = _overlay(merged, layer.document)
    if "arms" in merged:
        defaults = merged.get("arm_defaults", {})
        merged["arms"] = {name: _overlay(defaults, arm) for name, arm in merged["arms"].items()}
    return merged


def _overlay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(below))
    for key, value in above.items():
        merged[key] = _overlay(merged[key], value) if key in MIXED and key in merged else copy.deepcopy(value)
    return merged
