"""The table of an analysis as a printed table: its columns side by side, numbers as a paper prints them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from cinorms.printed.cells import NONE, Cell, Printed, RowGroup, heading
from cinorms.stats import pvalues

#: A printed table has at most this many rows; it then refers to the CSV file for the rest.
MOST = 500
#: Digits after the point.
DIGITS = 3


def analysis_table(frame: pd.DataFrame, columns: Sequence[str] = (), notes: Sequence[str] = ()) -> Printed:
    """Return ``frame`` as a printed table: its ``columns`` (those it has; all without any), ``notes`` below.

    Numbers have three digits after the point, p-values two significant ones (with ``log10_*`` columns also
    those below the float range), a missing value is a dash. A text that is the same in every row becomes a
    note.
    """
    shown = [name for name in columns if name in frame] or list(frame.columns)
    part = frame.head(MOST)
    # Texts that are the same in all of two or more rows; one column at least stays.
    texts = [name for name in shown if not _is_number(part[name])] if len(part) > 1 else []
    constant = {n: part[n].iloc[0] for n in texts if part[n].nunique(dropna=False) == 1}  # noqa: PD101
    if len(constant) == len(shown):
        constant = {}
    notes = [*notes, *(f"{name.replace('_', ' ')}: {value}" for name, value in constant.items())]
    if len(frame) > len(part):
        notes = [*notes, f"The first {len(part):,} of {len(frame):,} rows; the CSV file has all."]
    shown = [name for name in shown if name not in constant]
    cells = [_cells(part, name) for name in shown]
    return Printed(
        title="",
        header=(heading(*(name.replace("_", " ") for name in shown)),),
        groups=(RowGroup("", tuple(zip(*cells, strict=True))),),
        notes=tuple(notes),
        texts=[at for at, name in enumerate(shown) if not _is_number(part[name])],
        wrap_notes=False,
    )


def number(value: Any) -> Cell:
    """Return a number with three digits after the point, a whole number without; a dash if it is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return Cell(NONE)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    return Cell(str(value) if isinstance(value, int) else f"{value:.{DIGITS}f}")


def p_value(log10_p: float) -> Cell:
    """Return a p-value with two significant digits, as a power of ten where it is small."""
    mantissa, _, power = pvalues.show(log10_p).partition("e")
    return Cell(mantissa or NONE, times=int(power) if power else None)


def _is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _cells(frame: pd.DataFrame, name: str) -> list[Cell]:
    column = frame[name]
    if name == "p" or name.startswith("p_"):
        log = f"log10_{name}"
        if log in frame:
            return [p_value(float(value)) for value in frame[log]]
        if _is_number(column):
            return [p_value(math.log10(value)) if value > 0 else number(value) for value in column]
    if _is_number(column):
        return [number(value) for value in column.astype("object")]
    return [Cell(NONE if pd.isna(value) else str(value)) for value in column.astype("object")]
