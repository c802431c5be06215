r"""LaTeX tables of analyses: booktabs, every text escaped, numbers as a paper prints them.

A file is one ``tabular`` (``longtable`` if it is long) to ``\input`` into a document that uses booktabs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from cinorms.stats import pvalues

if TYPE_CHECKING:
    from jinja2 import Environment

#: More rows than this need a table that breaks over pages.
LONG = 45
#: More rows than this are not for print; the rest is left to the CSV file, and the table says so.
MOST = 500
#: Digits after the point.
DIGITS = 3

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
}
_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))

_TEMPLATE = r"""% Needs \usepackage{booktabs}<% if long %>, \usepackage{longtable}<% endif %>; [T1]{fontenc}.
\begin{<< environment >>}{<< alignment >>}
\toprule
<< header >> \\
\midrule
<% if long %>\endhead
<% endif %><% for row in rows %><< row >> \\
<% endfor %>\bottomrule
<% for note in notes %>\multicolumn{<< width >>}{@{}l@{}}{\footnotesize << note >>} \\
<% endfor %>\end{<< environment >>}
"""


def escape(text: object) -> str:
    """Return ``text`` so that LaTeX prints it as it is; line breaks become spaces."""
    flat = " ".join(str(text).split())
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], flat)


def to_latex(frame: pd.DataFrame, columns: Sequence[str] = (), notes: Sequence[str] = ()) -> str:
    """Return ``frame`` as LaTeX: its ``columns`` (those it has; all without any), ``notes`` below.

    Numbers have three digits after the point, p-values two significant ones (with ``log10_*`` columns also
    those below the float range), a missing value is a dash. A text that is the same in every row becomes a
    note.
    """
    shown = [name for name in columns if name in frame] or list(frame.columns)
    part = frame.head(MOST)
    constant = _constants(part, shown)
    notes = [*notes, *(f"{name.replace('_', ' ')}: {value}" for name, value in constant.items())]
    if len(frame) > len(part):
        notes = [*notes, f"The first {len(part):,} of {len(frame):,} rows; the CSV file has all."]
    shown = [name for name in shown if name not in constant]
    cells = [_cells(part, name) for name in shown]
    return (
        template_environment()
        .from_string(_TEMPLATE)
        .render(
            long=len(part) > LONG,
            environment="longtable" if len(part) > LONG else "tabular",
            alignment="".join("r" if _is_number(part[name]) else "l" for name in shown),
            header=" & ".join(escape(name.replace("_", " ")) for name in shown),
            rows=[" & ".join(row) for row in zip(*cells, strict=True)],
            width=max(len(shown), 1),
            notes=[escape(note) for note in notes],
        )
    )


def template_environment(**options: Any) -> Environment:
    """Return a Jinja2 environment whose marks do not clash with LaTeX's; its users escape every text."""
    from jinja2 import Environment, StrictUndefined

    return Environment(
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
        **options,
    )


def number(value: Any) -> str:
    """Return a number with three digits after the point, a whole number without; a dash if it is missing."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return "--"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _signed(str(value))
    return _signed(f"{value:.{DIGITS}f}")


def p_value(log10_p: float) -> str:
    """Return a p-value with two significant digits, as a power of ten where it is small."""
    shown = pvalues.show(log10_p)
    if not shown:
        return "--"
    mantissa, _, power = shown.partition("e")
    return rf"${mantissa}\times 10^{{{int(power)}}}$" if power else mantissa


def _signed(text: str) -> str:
    return f"${text}$" if text.startswith("-") else text


def _is_number(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)


def _constants(frame: pd.DataFrame, shown: Sequence[str]) -> dict[str, str]:
    """Return the texts that are the same in all of two or more rows; one column at least stays."""
    if len(frame) < 2:
        return {}
    texts = [name for name in shown if not _is_number(frame[name])]
    same = {name: str(frame[name].iloc[0]) for name in texts if _is_constant(frame[name])}
    return same if len(same) < len(shown) else {}


def _is_constant(column: pd.Series[Any]) -> bool:
    codes, _ = pd.factorize(column, use_na_sentinel=False)
    return bool((codes == codes[0]).all())


def _cells(frame: pd.DataFrame, name: str) -> list[str]:
    column = frame[name]
    if name == "p" or name.startswith("p_"):
        log = f"log10_{name}"
        if log in frame:
            return [p_value(float(value)) for value in frame[log]]
        if _is_number(column):
            return [p_value(math.log10(value)) if value > 0 else number(value) for value in column]
    if _is_number(column):
        return [number(value) for value in column.astype("object")]
    return ["--" if pd.isna(value) else escape(value) for value in column.astype("object")]
