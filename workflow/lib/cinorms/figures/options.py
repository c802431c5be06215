"""Options that several kinds of figures share, with the checks that need the study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from cinorms.core.schema import LeftOut, Number
from cinorms.entries.options import OfArms, Options
from cinorms.vignettes.factors import nameable_factors

if TYPE_CHECKING:
    from cinorms.study.entry_place import EntryPlace


class FigureOptions(Options):
    """Options of every figure."""

    title: str = Field("", description="Title above the figure.")
    width: LeftOut[Number] = Field(
        None, ge=2, le=40, description="Width in inches; default: as wide as needed."
    )
    height: LeftOut[Number] = Field(
        None, ge=2, le=60, description="Height in inches; default: as high as needed."
    )


class OfOneDataset(OfArms):
    """Options of a figure that pools the flows of all its arms."""

    def check(self, place: EntryPlace) -> None:
        """Refuse arms of several datasets."""
        super().check(place)
        datasets = list(dict.fromkeys(place.study.arms[arm].dataset for arm in self.arms))
        if len(datasets) > 1:
            raise place.error(
                "arms", f"these arms use datasets {', '.join(datasets)}; name arms of one dataset only"
            )


def check_factor(place: EntryPlace, part: str, arm: str, factor: str) -> None:
    """Raise ``ConfigError`` unless ``factor``, named in ``part`` of the entry, is one of the arm's dataset."""
    dataset = place.study.factors_of(arm)
    place.check_names(part, [factor], nameable_factors(dataset), f"factor of dataset {dataset.dataset!r}")
