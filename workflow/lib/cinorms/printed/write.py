"""A printed table as CSV, and as HTML from ``templates/table.html``."""

from __future__ import annotations

import pandas as pd

from cinorms.core.csv_files import csv_text
from cinorms.core.templates import environment
from cinorms.printed.cells import Printed


def to_csv(table: Printed) -> str:
    """Return the cells as CSV: one line of headings, and the group of each row in a column of its own."""
    grouped = [table.grouped] if any(group.heading for group in table.groups) else []
    spread = [[cell.text for cell in line for _ in range(cell.span)] for line in table.header]
    names = [" ".join(part for part in parts if part) for parts in zip(*spread, strict=True)]
    rows = [
        [*([group.heading] if grouped else []), *map(str, row)]
        for group in table.groups
        for row in group.rows
    ]
    return csv_text(pd.DataFrame(rows, columns=[*grouped, *names], dtype=object))


def to_html(table: Printed) -> str:
    """Return a page with the table; everything in it is escaped."""
    made = environment("printed", keep_trailing_newline=True)
    return str(made.get_template("table.html").render(table=table))
