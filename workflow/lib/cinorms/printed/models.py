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

_NOT_KNOWN = "NA"


class ModelsOptions(PrintedOptions):
    """Options of the table of models."""

    models: LeftOut[Names] = Field(
        None, description="Models, in this order; all of the study's where left out."
    )


def models(selected: Sequence[Selected], entry: Entry[ModelsOptions]) -> Printed:
    """Return a row per model of ``entry.registry``."""
    rows = tuple(
        (
            Cell(name),
            Cell(str(of["family"])),
            Cell(_NOT_KNOWN if of["capacity"] is None else f"{of['capacity']:g}B"),
            Cell(optimisation(of["alignment"], of["quantisation"])),
            Cell(of["origin"]),
        )
        for name, of in entry.registry.items()
    )
    return Printed(
        title=entry.options.title,
        header=(heading("Model", "Family", "Capacity", "Optimisation", "Source"),),
        groups=(Group("", rows),),
        notes=("Capacity: parameters in billions; NA: not published.", *marked(entry)),
        texts=range(5),
    )


def optimisation(alignment: str | None, quantisation: str | None) -> str:
    """Return what was done to a base model: "DPO", "AWQ", "DPO + AWQ"; "Base" for nothing."""
    done = [part for part in (alignment, quantisation) if part not in (None, "none")]
    return " + ".join(str(part).upper() for part in done) or "Base"


KINDS = (
    Kind(
        name="models",
        about="The models with family, capacity, optimisation and source, as config/models.yaml has them "
        "(Table 1 of both papers).",
        options=ModelsOptions,
        function=models,
        reads="registry",
    ),
)
