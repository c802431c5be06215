r"""A printed table as CSV, as HTML (``templates/table.html``) and as LaTeX with booktabs (``templates/table.tex``).

In HTML and LaTeX every text is escaped. A LaTeX file is one ``tabular`` (``longtable`` if it is long) to ``\input``.
"""

import re
from itertools import accumulate
from typing import Any

import pandas as pd

from cinorms.core.csv_files import csv_text
from cinorms.core.filling import environment
from cinorms.printed.cells import Cell, Printed

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
