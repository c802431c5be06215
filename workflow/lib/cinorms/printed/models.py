"""Kind ``models``: the models of the study with family, capacity, optimisation, source (Table 1 of both)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from cinorms.core.schema import LeftOut
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import Names
from cinorms.printed.cells import Cell, Group, Printed, heading, marked
from cinorms.printed.options import PrintedOptions

_NOT_PUBLISHED, _NOT_STATED = "NA", "unknown"
NOTE = "Capacity: parameters in billions; NA: not published. unknown: config/models.yaml does not state it."


class ModelsOptions(PrintedOptions):
    """Options of the table of models."""

    models: LeftOut[Names] = Field(
        None, description="Models, in this order; default: all models of the study."
    )


def models(selected: Sequence[Selected], entry: Entry[ModelsOptions]) -> Printed:
    """Return a row per model of ``entry.registry``."""
    rows = tuple(
        (
            Cell(name),
            Cell(stated["family"] or _NOT_STATED),
            Cell(_NOT_PUBLISHED if stated["capacity"] is None else f"{stated['capacity']:g}B"),
            Cell(optimisation(stated["alignment"], stated["quantisation"])),
            Cell(stated["origin"]),
        )
        for name, stated in entry.registry.items()
    )
    return Printed(
        title=entry.options.title,
        header=(heading("Model", "Family", "Capacity", "Optimisation", "Source"),),
        groups=(Group("", rows),),
        notes=(NOTE, *marked(entry)),
        texts=range(5),
    )


def optimisation(alignment: str | None, quantisation: str | None) -> str:
    """Return what was done to a base model: "DPO", "AWQ", "DPO + AWQ"; "Base" only where both are stated as none."""
    stated = [part for part in (alignment, quantisation) if part is not None]
    done = [part.upper() for part in stated if part != "none"]
    if done:
        return " + ".join(done)
    return "Base" if len(stated) == 2 else _NOT_STATED


KINDS = (
    Kind(
        name="models",
        about="The models with their family, capacity, optimisation and source from config/models.yaml "
        "(Table 1 of both papers).",
        options=ModelsOptions,
        function=models,
        reads="registry",
    ),
)
