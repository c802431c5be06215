"""What printed tables share: their options, what they are made of, and how their numbers are written."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, ClassVar

import pandas as pd
from pydantic import Field

from cinorms.core.schema import NotRequired
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.options import Models, Names, Options, TMaj
from cinorms.entries.place import EntryLocation
from cinorms.norms.thresholds import majority
from cinorms.stats.pvalues import stars

#: Decimals that a number is written with before it is rounded to fewer.
# ASSUME: the authors rounded numbers that their software showed with four decimals, as statsmodels'
# `summary2` does: 0.17497 then reads 0.1750 and is printed 0.18. Of all numbers compared this one alone tells
# the rule from rounding once; rounding by way of three decimals contradicts three numbers of Table 4.
FIRST_DECIMALS = 4


def rounded(value: float, decimals: int) -> str:
    """Return ``value`` with so many decimals, half up (away from 0) of what four decimals show of it."""
    return rounded_once(float(rounded_once(value, max(decimals, FIRST_DECIMALS))), decimals)


def rounded_once(value: float, decimals: int) -> str:
    """Return ``value`` with so many decimals, half up (away from 0)."""
    number = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return format(abs(number) if number == 0 else number, "f")


def scientific(log10: float, decimals: int) -> tuple[str, int]:
    """Return mantissa, with so many decimals, and exponent of the number with this decimal logarithm."""
    exponent = math.floor(log10)
    mantissa = rounded_once(10 ** (log10 - exponent), decimals)
    return (rounded_once(1.0, decimals), exponent + 1) if Decimal(mantissa) >= 10 else (mantissa, exponent)


#: Printed where there is no number.
NONE = "--"
#: The note that explains the stars of p-values.
STARS_TEXT = "*** p < 0.001, ** p < 0.01, * p < 0.05."


class PrintedOptions(Options):
    """Options of every printed table."""

    title: str = Field("", description="Title above the table.")
    models: NotRequired[Models] = None
    """Models, in this order; default: those of the analyses, or of the study, in their order."""

    def check_options(self, place: EntryLocation) -> None:
        """Look up the models."""
        super().check_options(place)
        place.check_names("models", self.models or (), self.known_models(place), "model of these analyses")

    def known_models(self, place: EntryLocation) -> list[str]:
        """Return the models that the table can have."""
        return list(place.study.all_models())


class FromAnalyses(PrintedOptions):
    """Options of a table that is made from those of analyses."""

    #: Kinds of analyses that it can be made from.
    made_from: ClassVar[tuple[str, ...]] = ()

    sources: Names = Field(alias="from", description="Analyses whose rows the table combines.")

    def check_options(self, place: EntryLocation) -> None:
        """Look up the analyses, then the models."""
        analyses = place.study.entries["analyses"]
        fitting = [name for name, options in analyses.items() if options.kind in self.made_from]
        what = f"analysis of kind {' or '.join(self.made_from)}"
        for source in self.sources:
            if source not in fitting:
                raise place.unknown("from", source, fitting, what)
        super().check_options(place)

    def known_models(self, place: EntryLocation) -> list[str]:
        """Return the models that the analyses are made from."""
        analyses = place.study.entries["analyses"]
        return list(dict.fromkeys(model for name in self.sources for model in place.models(analyses[name])))


def check_thresholds(place: EntryLocation, part: str, stated: Iterable[int | TMaj], t_maj: bool) -> None:
    """Raise ``ConfigError`` for a threshold that is not among those of the study."""
    tried = list(place.study.thresholds()[1 if t_maj else 0])
    for value in stated:
        if value not in tried:
            allowed = ", ".join(map(str, tried))
            what = "T_maj" if t_maj else "T_val"
            raise place.error(part, f"{what} {value} is not in the study's norms.grid; allowed: {allowed}")


@dataclass(frozen=True)
class Cell:
    """A text, ``times`` a power of ten where it has one, with its stars.

    ``span``: columns that it takes. ``again``: it repeats the cell above, and print leaves it blank.
    """

    text: str = ""
    times: int | None = None
    stars: str = ""
    span: int = 1
    again: bool = False

    def __str__(self) -> str:
        """Return the cell as plain text."""
        return self.text + (f"e{self.times}" if self.times is not None else "") + self.stars


@dataclass(frozen=True)
class RowGroup:
    """Rows under a heading of their own; without a heading, the table's only rows."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Printed:
    """A table as it is printed: lines of headings, groups of rows, notes below.

    ``texts`` are the places of columns that hold texts; the others hold numbers. ``grouped`` names what the
    groups are.
    """

    title: str
    header: tuple[tuple[Cell, ...], ...]
    groups: tuple[RowGroup, ...]
    notes: tuple[str, ...] = ()
    texts: Collection[int] = (0,)
    grouped: str = "group"

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(cell.span for cell in self.header[-1])


def heading(*texts: str) -> tuple[Cell, ...]:
    """Return a line of headings, one column each."""
    return tuple(Cell(text) for text in texts)


def decimals(value: Any) -> Cell:
    """Return a number with two decimals, rounded as the papers' software does; a dash without one."""
    return Cell(NONE if pd.isna(value) else rounded(float(value), 2))


def share(count: Any, total: Any) -> Cell:
    """Return "count/of (share)"; a share below 1% has two decimals."""
    if not total:
        return Cell(NONE)
    percent = 100 * int(count) / int(total)
    shown = f"{percent:.2f}" if 0 < percent < 1 else rounded(percent, 0)
    return Cell(f"{int(count)}/{int(total)} ({shown}%)")


def p_starred(log10_p: Any) -> Cell:
    """Return a p-value as "1.5e-3" with its stars."""
    if pd.isna(log10_p):
        return Cell(NONE)
    mantissa, power = scientific(float(log10_p), 1)
    return Cell(f"{mantissa}e{power}", stars=stars(log10_p))


def p_times(log10_p: Any) -> Cell:
    """Return a p-value as 1.65 times a power of ten."""
    if pd.isna(log10_p):
        return Cell(NONE)
    mantissa, power = scientific(float(log10_p), 2)
    return Cell(mantissa, times=power or None)


def threshold(t_maj: Any) -> str:
    """Return a majority threshold as the papers write it."""
    return t_maj if t_maj == "plurality" else f"≥ {majority(t_maj)}"


def together(selected: Sequence[Selected], entry: Entry[FromAnalyses]) -> pd.DataFrame:
    """Return the rows of all tables, of the entry's models in their order where it names some."""
    whole, models = pd.concat([table.frame for table in selected], ignore_index=True), entry.options.models
    if not models:
        return whole
    order = {model: i for i, model in enumerate(models)}
    chosen = whole[whole["model"].isin(models)]
    return chosen.sort_values("model", key=lambda m: m.map(order), kind="stable").reset_index(drop=True)


def blank_again(rows: Sequence[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows, the first cell of each marked where it repeats the one above."""
    texts = [row[0].text for row in rows]
    again = [number > 0 and text == texts[number - 1] for number, text in enumerate(texts)]
    parts = zip(texts, again, rows, strict=True)
    return tuple((Cell(text, again=same), *row[1:]) for text, same, row in parts)


def marked(entry: Entry[Any]) -> tuple[str, ...]:
    """Return the note that states which respondents are planted, where any is."""
    return (entry.mark,) if entry.mark else ()
