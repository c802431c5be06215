"""Tables of analyses in LaTeX: everything escaped, numbers as printed, long tables and constants handled."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.printed.cells import Cell
from cinorms.printed.write import analysis_table, escape, p_value, to_latex

TABLE = pd.DataFrame(
    {
        "arm": ["main", "main"],
        "level": ["a_b & 50%", "{x} #1 $ ~^\\"],
        "n": [3, 4],
        "estimate": [-1.23456, np.nan],
        "p": [0.0499, 0.0],
        "log10_p": [np.log10(0.0499), -1589.19],
        "inside": pd.array([True, None], dtype="boolean"),
    }
)


def latex_of(frame: pd.DataFrame, columns: Sequence[str] = (), notes: Sequence[str] = ()) -> str:
    return to_latex(analysis_table(frame, columns, notes))


def rows_of(latex: str) -> list[list[str]]:
    """Return the cells between midrule and bottomrule."""
    body = latex.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.strip().split("\n")]


def test_cells_are_escaped_and_numbers_are_short() -> None:
    latex = latex_of(TABLE, ["level", "n", "estimate", "p", "inside"])
    first, second = rows_of(latex)
    assert first == ["a\\_b \\& 50\\%", "3", "$-1.235$", "0.05", "yes"]
    assert second[0] == "\\{x\\} \\#1 \\$ \\textasciitilde{}\\textasciicircum{}\\textbackslash{}"
    assert second[1:] == ["4", "--", "$6.5\\times 10^{-1590}$", "--"]
    assert "\\begin{tabular}{lrrrr}" in latex
    assert "\\toprule" in latex


def test_a_text_that_is_always_the_same_becomes_a_note() -> None:
    latex = latex_of(TABLE, ["arm", "n"], notes=["Planted respondents: 100%"])
    assert rows_of(latex) == [["3"], ["4"]]
    assert "\\multicolumn{1}{@{}l@{}}{\\footnotesize Planted respondents: 100\\%}" in latex
    assert "{\\footnotesize arm: main}" in latex
    assert rows_of(latex_of(TABLE.head(1), ["arm", "n"])) == [["main", "3"]]
    assert rows_of(latex_of(TABLE, ["arm"])) == [["main"], ["main"]]  # one column at least stays


def test_a_long_table_breaks_over_pages_and_an_endless_one_says_what_is_left_out() -> None:
    many = pd.DataFrame({"level": [f"l{i}" for i in range(600)], "n": range(600)})
    latex = latex_of(many)
    assert "\\begin{longtable}" in latex
    assert "\\endhead" in latex
    assert len(re.findall(r"\nl\d", latex)) == 500
    assert "The first 500 of 600 rows" in latex


def test_a_table_without_rows_is_a_table() -> None:
    latex = latex_of(TABLE.head(0), ["level", "n"])
    assert "level & n" in latex
    assert "\\end{tabular}" in latex


@settings(max_examples=40)
@given(st.text())
def test_no_text_can_end_a_cell_or_start_a_command(text: str) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    left = re.sub(r"\\(text[a-z]+\{\}|[&%$#_{}])|\$\\(geq|rightarrow)\$", "", escaped)
    assert not set(left) & set("\\&%$#_{}~^")


def test_only_negative_numbers_are_set_as_formulas() -> None:
    latex = latex_of(pd.DataFrame({"a": ["-3", "-x", "--", "[b"], "n": [-3.0, -np.inf, 1.5, np.nan]}))
    assert rows_of(latex) == [["$-3$", "$-3.000$"], ["-x", "$-inf$"], ["--", "1.500"], ["{}[b", "--"]]


def test_p_values_have_two_digits_at_any_size() -> None:
    assert p_value(np.log10(0.084)) == Cell("0.084")
    assert p_value(-385.7) == Cell("2.0", times=-386)
    assert p_value(float("nan")) == Cell("--")
