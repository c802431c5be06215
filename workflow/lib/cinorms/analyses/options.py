"""Options that several kinds of analyses share, with the checks that need the study."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from cinorms.core.schema import NotRequired, Number
from cinorms.entries.options import ARM_ATTRIBUTES, MODEL_ATTRIBUTES, Names, OfArms, OfFlows, OfNorms
from cinorms.entries.place import EntryLocation
from cinorms.vignettes.factors import JOINT, default_factors, nameable_factors, text

Level = Annotated[str | Number, Field(description="Level of this factor.")]


class Factors(OfArms):
    """The dataset's factors in an analysis."""

    factors: NotRequired[Names] = Field(None, description="Factors of the dataset; default: all.")

    def check_options(self, place: EntryLocation) -> None:
        """Look up the factors."""
        self.check_factors(place)
        super().check_options(place)

    def check_factors(self, place: EntryLocation) -> None:
        """Raise ``ConfigError`` for a factor that cannot be named."""
        for arm in self.arms:
            allowed = self.allowed_factors(place, arm)
            place.check_names("factors", self.factors or (), allowed, f"factor for arm {arm!r}")

    def allowed_factors(self, place: EntryLocation, arm: str) -> list[str]:
        """Return the factors that can be named for ``arm``."""
        return nameable_factors(place.study.factors_of(arm))


class Baselines(OfArms):
    """The levels that the others of their factor are compared with."""

    baselines: NotRequired[dict[str, Level]] = None
    """For each factor, the level that its other levels are compared with; default: its first level."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the factors and their levels."""
        super().check_options(place)
        known = {name for arm in self.arms for name in self.factors_used(place, arm)}
        for factor, level in (self.baselines or {}).items():
            if factor not in known:
                raise place.unknown("baselines", factor, known, "factor of this analysis")
            levels = self.levels(place, factor)
            if levels and text(level) not in levels:
                raise place.unknown(f"baselines.{factor}", text(level), levels, "level")

    def stated_baselines(self) -> dict[str, str]:
        """Return the level of each factor as text."""
        return {factor: text(level) for factor, level in (self.baselines or {}).items()}

    def factors_used(self, place: EntryLocation, arm: str) -> Iterable[str]:
        """Return the factors that the analysis names, or else all that it can use."""
        dataset = place.study.factors_of(arm)
        return getattr(self, "factors", None) or [*default_factors(dataset), *dataset.factors]

    def levels(self, place: EntryLocation, factor: str) -> list[str]:
        """Return the levels of a factor in all arms; none where they are not known before a file is fetched."""
        found: dict[str, None] = {}
        parts = factor.split(JOINT)
        for arm in self.arms:
            dataset = place.study.dataset(place.study.arms[arm].dataset)
            if not set(parts) <= set(dataset.levels):
                continue
            if dataset.design:
                columns = [[level.label for level in dataset.design[part]] for part in parts]
                found |= dict.fromkeys(JOINT.join(row) for row in zip(*columns, strict=True))
        return list(found)


class Compares(OfFlows):
    """What differs between the models or arms that are compared."""

    factor: NotRequired[str] = None
    """Compare models that differ only in this attribute (e.g. capacity, alignment, quantisation,
    alignment+quantisation), or arms that do (temperature, paraphraser, order). Default: compare all models of each
    arm."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the attribute, or attributes joined by "+"."""
        super().check_options(place)
        known = [*MODEL_ATTRIBUTES, *ARM_ATTRIBUTES]
        varied = self.factor.split("+") if self.factor else []
        place.check_names("factor", varied, known, "attribute")
        if "dataset" in varied:
            place.check_same_flows("arms", self.arms, self.arms)


class ComparesNorms(Compares, OfNorms):
    """What differs between the models or arms whose norms are compared."""


class Sliced(OfArms):
    """What the flows are divided into."""

    by: NotRequired[Names] = None
    """Factors of the dataset: one slice for each combination of their levels. Default: all flows together."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the factors of the slices."""
        for arm in self.arms:
            known = place.study.factors_of(arm).factors
            place.check_names("by", self.by or (), known, f"factor of arm {arm!r}")
        super().check_options(place)


class Expects(OfNorms):
    """What a model holds, and the expected values."""

    of: Literal["norms", "means"] = "norms"
    """What to compare: norms (under the thresholds), or means (of the valid answers)."""
    expected: NotRequired[str] = None
    """A CSV file of expected values. Columns: each factor that matters (an empty cell: any level), 'expected' and
    optionally 'note'. Default: the dataset's own values."""

    def check_options(self, place: EntryLocation) -> None:
        """Check that the file of expected values exists."""
        super().check_options(place)
        place.check_file("expected", self.expected)
