"""What a printed table is made of, and how its numbers are written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from cinorms.core.rounding import rounded, scientific
from cinorms.entries.entry import Entry
from cinorms.stats.pvalues import stars

#: Printed where there is no number.
NONE = "--"
#: The note that explains the stars of p-values.
STARS_TEXT = "*** p < 0.001, ** p < 0.01, * p < 0.05."


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
class Group:
    """Rows under a heading of their own; without a heading, the table's only rows."""

    heading: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Printed:
    """A table as it is printed: lines of headings, groups of rows, notes below.

    ``texts`` are the places of columns that hold texts; the others hold numbers. ``grouped`` names what the
    groups are. LaTeX breaks long notes into lines unless ``wrap_notes`` is false.
    """

    title: str
    header: tuple[tuple[Cell, ...], ...]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    texts: Collection[int] = (0,)
    grouped: str = "group"
    wrap_notes: bool = True

    @property
    def width(self) -> int:
        """Number of columns."""
        return sum(cell.span for cell in self.header[-1])


def heading(*texts: str) -> tuple[Cell, ...]:
    """Return a line of headings, one column each."""
    return tuple(Cell(text) for text in texts)


def decimals(value: Any, places: int = 2) -> Cell:
    """Return a number with so many decimals, rounded as the papers' software does; a dash without one."""
    return Cell(NONE if pd.isna(value) else rounded(float(value), places))


def share(count: Any, total: Any) -> Cell:
    """Return "count/of (share)"; a share below 1% has two decimals."""
    if not total:
        return Cell(NONE)
    percent = 100 * int(count) / int(total)
    return Cell(
        f"{int(count)}/{int(total)} ({percent:.2f}%)" if 0 < percent < 1 else _whole(count, total, percent)
    )


def _whole(count: Any, total: Any, percent: float) -> str:
    return f"{int(count)}/{int(total)} ({rounded(percent, 0)}%)"


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
    return "plurality" if str(t_maj) == "plurality" else f"≥ {100 * float(t_maj):g}%"


def together(frames: Sequence[pd.DataFrame], models: Sequence[str] | None) -> pd.DataFrame:
    """Return the rows of all tables, of ``models`` in their order where there are some."""
    whole = pd.concat(frames, ignore_index=True)
    if not models or "model" not in whole:
        return whole
    order = {model: i for i, model in enumerate(models)}
    chosen = whole[whole["model"].isin(models)]
    return chosen.sort_values("model", key=lambda m: m.map(order), kind="stable").reset_index(drop=True)


def blank_again(rows: Iterable[Sequence[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows, the first cell of each marked where it repeats the one above."""
    found: list[tuple[Cell, ...]] = []
    for row in rows:
        first = row[0]
        again = bool(found) and found[-1][0].text == first.text
        found.append((Cell(first.text, again=again), *row[1:]))
    return tuple(found)


def marked(entry: Entry[Any]) -> tuple[str, ...]:
    """Return the note that states which respondents are planted, where any is."""
    return (entry.mark,) if entry.mark else ()
