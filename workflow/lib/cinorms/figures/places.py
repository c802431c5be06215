"""Options of the heatmap of norms: which factors of a dataset go where, and how many models share a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from cinorms.core.schema import Distinct, LeftOut
from cinorms.entries.options import Names, OfNorms
from cinorms.figures.cells import SHAPES
from cinorms.figures.options import FigureOptions, OfOneDataset, check_factor
from cinorms.vignettes.factors import JOINT, nameable_factors

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace

#: Default places of the parameters of contextual integrity, outer factor first.
ROWS = ("sender", "transmission_principle")
COLUMNS = ("recipient", "information_type")

OneOrTwo = Annotated[Distinct[str], Field(min_length=1, max_length=2)]


class NormsOptions(FigureOptions, OfOneDataset, OfNorms):
    """Options of the heatmap of norms."""

    arms: Names = Field(description="Arms of one dataset; arms times models make 1, 2 or 4 parts of a cell.")
    models: LeftOut[Names] = Field(
        None,
        description="Models, in the order of a cell's parts: above and below the diagonal, or top, right, bottom, "
        "left.",
    )
    first: LeftOut[Literal[1, 2, 4]] = Field(
        None, description="Show at most this many models, the first ones."
    )
    rows: LeftOut[OneOrTwo] = Field(
        None,
        description="One or two factors of the dataset for the rows, outer one first; default: sender, "
        "transmission_principle.",
    )
    columns: LeftOut[OneOrTwo] = Field(
        None,
        description="One or two factors of the dataset for the columns, outer one first; default: recipient, "
        "information_type.",
    )
    pages: LeftOut[str] = Field(
        None,
        description="A factor of the dataset: one page for each of its levels (PDF; PNG and SVG show the first).",
    )

    def placed(self, factors: Sequence[str]) -> dict[str, list[str]]:
        """Return the factors in ``rows``, ``columns`` and ``pages``, as stated or by default."""
        pages = [self.pages] if self.pages else []
        taken = {*pages, *(self.rows or ()), *(self.columns or ())}

        def side(stated: Sequence[str] | None, usual: Sequence[str]) -> list[str]:
            return list(stated or [name for name in usual if name in factors and name not in taken])

        return {"rows": side(self.rows, ROWS), "columns": side(self.columns, COLUMNS), "pages": pages}

    def check(self, place: EntryPlace) -> None:
        """Count the parts of a cell, and look whether every factor has one place."""
        super().check(place)
        self._check_parts(place)
        self._check_places(place)

    def _check_parts(self, place: EntryPlace) -> None:
        parts = len(place.selected(self))
        if parts not in SHAPES:
            raise place.error(
                "models",
                f"a cell would have {parts} parts (models times arms); allowed: "
                f"{', '.join(map(str, SHAPES))}; name the models to show under 'models'",
            )

    def _check_places(self, place: EntryPlace) -> None:
        arm = self.arms[0]
        dataset = place.study.factors_of(arm)
        stated = {
            "rows": self.rows or (),
            "columns": self.columns or (),
            "pages": [self.pages] if self.pages else [],
        }
        for side, named in stated.items():
            for factor in named:
                check_factor(place, side, arm, factor)
        at = self.placed(dataset.factors)
        factors = [part for side in at.values() for factor in side for part in factor.split(JOINT)]
        twice = [factor for factor in factors if factors.count(factor) > 1]
        if twice:
            raise place.error("", f"factor {twice[0]!r} has two places; give it one of rows, columns, pages")
        for side in ("rows", "columns"):
            if not at[side]:
                raise place.error(
                    "", f"key '{side}' is missing; factors: {', '.join(nameable_factors(dataset))}"
                )
        loose = self._loose(place, arm, factors)
        if loose:
            raise place.error(
                "",
                f"factors {', '.join(loose)} have several levels and no place; name them under rows, columns or "
                "pages, or choose one level of each under select",
            )

    def _loose(self, place: EntryPlace, arm: str, factors: Sequence[str]) -> list[str]:
        """Return the factors with several levels that have no place, nor any factor that they are linked with."""
        study = place.study
        linked = [group for group in study.factors_of(arm).linked if set(group) & set(factors)]
        bound = {*factors, *(factor for group in linked for factor in group)}
        levels = study.dataset(study.arms[arm].dataset).factors
        chosen = {**levels, **study.arms[arm].select, **(self.select or {})}
        return [factor for factor in levels if factor not in bound and len(chosen[factor]) > 1]
