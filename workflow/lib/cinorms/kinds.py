"""Kinds of analyses and figures: which stage each reads and which function makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import pandas as pd

from cinorms import tables


class Selected(NamedTuple):
    """One model's table in one arm."""

    arm: str
    model: str
    frame: pd.DataFrame


@dataclass(frozen=True)
class Kind:
    """``function`` of ``cinorms.{module}`` makes it from the tables of ``stage``; ``uses`` names further modules."""

    stage: str
    module: str
    function: str
    uses: tuple[str, ...] = ()

    @property
    def modules(self) -> tuple[str, ...]:
        """Modules whose change can change the result."""
        return ("kinds", "tables", self.module, *self.uses)

    def load(self) -> Callable[..., Any]:
        """Return the function, importing what it needs only now."""
        return getattr(import_module(f"cinorms.{self.module}"), self.function)  # type: ignore[no-any-return]


KINDS = {
    "analyses": {
        "answer_counts": Kind("answers", "counts", "answer_counts"),
        "norm_counts": Kind("norms", "counts", "norm_counts", ("norms",)),
    },
    "figures": {
        "distribution": Kind("answers", "figures.distribution", "draw", ("counts", "figures.theme")),
    },
}

_CONTRACTS = {"answers": tables.ANSWERS, "norms": tables.NORMS}


def read_selected(kind: Kind, entry: dict[str, Any], paths: list[str]) -> list[Selected]:
    """Read the tables that an entry is made from; ``entry["selected"]`` names them in the order of ``paths``."""
    contract = _CONTRACTS[kind.stage]
    return [
        Selected(arm, model, tables.read(path, contract))
        for (arm, model), path in zip(entry["selected"], paths, strict=True)
    ]
