"""Options that several printed tables share, each with the check of what only the study can tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from cinorms.core.schema import LeftOut
from cinorms.entries.options import Names, Options, TMaj

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace


class PrintedOptions(Options):
    """Options of every printed table."""

    title: str = Field("", description="Title above the table.")
    models: LeftOut[Names] = Field(
        None, description="Models, in this order; default: those of the analyses, in their order."
    )

    def check(self, place: EntryPlace) -> None:
        """Look up the models."""
        super().check(place)
        place.check_names("models", self.models or (), self.known_models(place), "model of these analyses")

    def known_models(self, place: EntryPlace) -> list[str]:
        """Return the models that the table can have."""
        return place.study.all_models()


class FromAnalyses(PrintedOptions):
    """Options of a table that is made from those of analyses."""

    #: Kinds of analyses that it can be made from.
    made_from: ClassVar[tuple[str, ...]] = ()

    sources: Names = Field(alias="from", description="Analyses whose rows the table combines.")

    def check(self, place: EntryPlace) -> None:
        """Look up the analyses, then the models."""
        analyses = place.study.settings.analyses
        fitting = [name for name, stated in analyses.items() if stated["kind"] in self.made_from]
        what = f"analysis of kind {' or '.join(self.made_from)}"
        for source in self.sources:
            if source not in fitting:
                raise place.unknown("from", source, fitting, what, hint=True)
        super().check(place)

    def known_models(self, place: EntryPlace) -> list[str]:
        """Return the models that the analyses are made from."""
        entries = [place.analysis(source) for source in self.sources]
        return list(dict.fromkeys(model for entry in entries for _, model in entry.selected))


def check_thresholds(place: EntryPlace, part: str, given: Iterable[int | TMaj], t_maj: bool) -> None:
    """Raise ``ConfigError`` for a threshold that is not among those of the study."""
    known = list(place.study.thresholds()[1 if t_maj else 0])
    for value in given:
        if value not in known:
            allowed = ", ".join(map(str, known))
            what = "T_maj" if t_maj else "T_val"
            raise place.error(part, f"{what} {value} was given; allowed: {allowed} (norms.grid of the study)")
