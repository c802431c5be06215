r"""A printed table as CSV, as HTML (``templates/table.html``) and as LaTeX with booktabs (``templates/table.tex``).

The table of an analysis becomes one whose columns are side by side, with numbers as a paper prints them. In HTML and
LaTeX every text is escaped. A LaTeX file is one ``tabular`` (``longtable`` if it is long) to ``\input``.
"""

import math
import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pandas as pd

from cinorms.core.csv_files import csv_text
from cinorms.core.filling import environment
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
        texts=[column for column, name in enumerate(shown) if not _is_number(part[name])],
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


def _is_number(column: pd.Series) -> bool:
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


#: More rows than this need a table that breaks over pages.
LONG = 45

#: Marks of the template, which do not clash with LaTeX's.
_MARKS: dict[str, Any] = {
    "block_start_string": "<%",
    "block_end_string": "%>",
    "variable_start_string": "<<",
    "variable_end_string": ">>",
    "comment_start_string": "<#",
    "comment_end_string": "#>",
}
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "—": "---",
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))
_NEGATIVE = re.compile(r"-(\d+(\.\d+)?|inf)")


def to_csv(table: Printed) -> str:
    """Return the cells as CSV: one line of headings, and the group of each row in a column of its own."""
    grouped = [table.grouped] if any(group.heading for group in table.groups) else []
    spread = [[cell.text for cell in line for _ in range(cell.span)] for line in table.header]
    names = [" ".join(part for part in parts if part) for parts in zip(*spread, strict=True)]
    rows = [
        [group.heading, *map(str, row)] if grouped else [*map(str, row)]
        for group in table.groups
        for row in group.rows
    ]
    return csv_text(pd.DataFrame(rows, columns=[*grouped, *names], dtype=object))


def to_html(table: Printed) -> str:
    """Return a page with the table; everything in it is escaped."""
    made = environment("printed", keep_trailing_newline=True)
    return str(made.get_template("table.html").render(table=table))


def to_latex(table: Printed) -> str:
    r"""Return a ``tabular`` (``longtable`` if it is long) to ``\input`` where booktabs is loaded."""
    long = sum(len(group.rows) + bool(group.heading) for group in table.groups) > LONG
    made = environment("printed", keep_trailing_newline=True, autoescape=False, **_MARKS)
    made.filters.update(tex=escape, cell=_cell)
    return str(
        made.get_template("table.tex").render(
            table=table,
            long=long,
            environment="longtable" if long else "tabular",
            alignment="".join("l" if column in table.texts else "r" for column in range(table.width)),
            rules=[_rules(line) for line in table.header],
        )
    )


def escape(text: object) -> str:
    """Return ``text`` so that LaTeX prints it as it is; line breaks become spaces."""
    flat = " ".join(str(text).split())
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], flat)


def _cell(cell: Cell) -> str:
    if cell.again:
        return ""
    text = escape(cell.text)
    if cell.times is not None:
        text = rf"${text}\times 10^{{{cell.times}}}$"
    elif _NEGATIVE.fullmatch(text):
        text = f"${text}$"
    if text.startswith(("[", "*")):
        text = "{}" + text  # or the end of the line above would take it for its own
    text += f"$^{{{cell.stars}}}$" if cell.stars else ""
    return text if cell.span == 1 else rf"\multicolumn{{{cell.span}}}{{c}}{{{text}}}"


def _rules(line: tuple[Cell, ...]) -> str:
    r"""Return the ``\cmidrule`` under every heading that spans columns."""
    ends = accumulate(cell.span for cell in line)
    spans = [(end - cell.span + 1, end) for cell, end in zip(line, ends, strict=True) if cell.span > 1]
    return "".join(rf"\cmidrule(lr){{{first}-{last}}}" for first, last in spans)
