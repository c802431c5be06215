"""Factors of a dataset as analyses name them: those of a linked group are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Joins the names and the levels of linked factors.
JOINT = " + "


@dataclass(frozen=True)
class Design:
    """What an analysis needs to know of a dataset: name, factors, which are linked, range of what is expected."""

    dataset: str
    factors: tuple[str, ...]
    linked: tuple[tuple[str, ...], ...] = ()
    expected_range: tuple[float, float] | None = None


def default_factors(design: Design) -> list[str]:
    """Return the factors of a dataset, those of a linked group as one ("place + inference")."""
    group_of = {name: group for group in design.linked for name in group}
    return list(dict.fromkeys(JOINT.join(group_of.get(name, (name,))) for name in design.factors))


def text(level: Any) -> str:
    """Return a level as text; a whole number has no decimals."""
    return f"{level:g}" if isinstance(level, (int, float)) and not isinstance(level, bool) else str(level)
