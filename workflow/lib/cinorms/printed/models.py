"""Kind ``models``: the models of the study with family, capacity, optimisation, source (Table 1 of both)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cinorms.entries.kinds import PLANTED_MARK, Selected
from cinorms.printed.cells import Cell, Group, Printed, heading

_NOT_KNOWN = "NA"


def models(selected: Sequence[Selected], entry: Mapping[str, Any]) -> Printed:
    """Return a row per model of ``entry["registry"]``."""
    rows = tuple(
        (
            Cell(name),
            Cell(str(of["family"])),
            Cell(_NOT_KNOWN if of["capacity"] is None else f"{of['capacity']:g}B"),
            Cell(optimisation(of["alignment"], of["quantisation"])),
            Cell(of["origin"]),
        )
        for name, of in entry["registry"].items()
    )
    return Printed(
        title=entry.get("title", ""),
        header=(heading("Model", "Family", "Capacity", "Optimisation", "Source"),),
        groups=(Group("", rows),),
        notes=("Capacity: parameters in billions; NA: not published.",)
        + ((PLANTED_MARK,) if any(of["planted"] for of in entry["registry"].values()) else ()),
        n_texts=5,
    )


def optimisation(alignment: str | None, quantisation: str | None) -> str:
    """Return what was done to a base model: "DPO", "AWQ", "DPO + AWQ"; "Base" for nothing."""
    done = [part for part in (alignment, quantisation) if part not in (None, "none")]
    return " + ".join(str(part).upper() for part in done) or "Base"
