"""A printed table as CSV, LaTeX (booktabs) and HTML; the two latter from ``templates/printed``."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from cinorms.printed.cells import Cell, Printed
from cinorms.printed.latex import LONG, escape, template_environment

if TYPE_CHECKING:
    from jinja2 import PackageLoader

#: What stands in the headings of these tables and needs a name in LaTeX.
_SYMBOLS = {"≥": r"$\geq$", "→": r"$\rightarrow$", "—": "---"}


def to_csv(table: Printed) -> str:
    """Return the cells as CSV: one line of headings, and the group of each row in a column of its own."""
    grouped = [table.grouped] if any(group.heading for group in table.groups) else []
    spread = [[cell.text for cell in line for _ in range(cell.span)] for line in table.header]
    names = [" ".join(part for part in parts if part) for parts in zip(*spread, strict=True)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*grouped, *names])
    for group in table.groups:
        for row in group.rows:
            writer.writerow([*([group.heading] if grouped else []), *map(str, row)])
    return text.getvalue()


def to_latex(table: Printed) -> str:
    r"""Return a ``tabular`` (``longtable`` if it is long) to ``\input`` where booktabs is loaded."""
    long = sum(len(group.rows) + bool(group.heading) for group in table.groups) > LONG
    environment = template_environment(loader=_loader(), trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(tex=_latex, cell=_latex_cell)
    return str(
        environment.get_template("printed/table.tex").render(
            table=table,
            long=long,
            environment="longtable" if long else "tabular",
            alignment="l" * table.n_texts + "r" * (table.width - table.n_texts),
            rules=[_rules(line) for line in table.header],
        )
    )


def to_html(table: Printed) -> str:
    """Return a page with the table; everything in it is escaped."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        loader=_loader(),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return str(environment.get_template("printed/table.html").render(table=table))


def _loader() -> PackageLoader:
    from jinja2 import PackageLoader

    return PackageLoader("cinorms", "templates")


def _latex(text: str) -> str:
    escaped = escape(text)
    for symbol, command in _SYMBOLS.items():
        escaped = escaped.replace(symbol, command)
    return escaped


def _latex_cell(cell: Cell) -> str:
    if cell.again:
        return ""
    text = _latex(cell.text)
    if cell.times is not None:
        text = rf"${text}\times 10^{{{cell.times}}}$"
    elif text.startswith("-") and text != "--":
        text = f"${text}$"
    if text.startswith(("[", "*")):
        text = "{}" + text  # or the end of the line above would take it for its own
    text += f"$^{{{cell.stars}}}$" if cell.stars else ""
    return text if cell.span == 1 else rf"\multicolumn{{{cell.span}}}{{c}}{{{text}}}"


def _rules(line: tuple[Cell, ...]) -> str:
    r"""Return the ``\cmidrule`` under every heading that spans columns."""
    found, at = [], 1
    for cell in line:
        if cell.span > 1:
            found.append(rf"\cmidrule(lr){{{at}-{at + cell.span - 1}}}")
        at += cell.span
    return "".join(found)
