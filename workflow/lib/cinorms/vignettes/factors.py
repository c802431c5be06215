"""Factors of a dataset as analyses name them: those of a linked group are one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Joins the names and the levels of linked factors.
JOINT = " + "


def default_factors(design: Mapping[str, Any]) -> list[str]:
    """Return the factors of a dataset, those of a linked group as one ("place + inference")."""
    group_of = {name: tuple(group) for group in design["linked"] for name in group}
    return list(dict.fromkeys(JOINT.join(group_of.get(name, (name,))) for name in design["factors"]))


def text(level: Any) -> str:
    """Return a level as text; a whole number has no decimals."""
    return f"{level:g}" if isinstance(level, (int, float)) and not isinstance(level, bool) else str(level)
