"""LaTeX tables: everything escaped, numbers as printed, long tables and constants handled."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinorms.printed.latex import escape, number, p_value, to_latex

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


def rows_of(latex: str) -> list[list[str]]:
    """Return the cells between midrule and bottomrule."""
    body = latex.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [line.removesuffix(" \\\\").split(" & ") for line in body.strip().split("\n")]


def test_cells_are_escaped_and_numbers_are_short() -> None:
    latex = to_latex(TABLE, ["level", "n", "estimate", "p", "inside"])
    first, second = rows_of(latex)
    assert first == ["a\\_b \\& 50\\%", "3", "$-1.235$", "0.05", "yes"]
    assert second[0] == "\\{x\\} \\#1 \\$ \\textasciitilde{}\\textasciicircum{}\\textbackslash{}"
    assert second[1:] == ["4", "--", "$6.5\\times 10^{-1590}$", "--"]
    assert "\\begin{tabular}{lrrrr}" in latex
    assert "\\toprule" in latex


def test_a_text_that_is_always_the_same_becomes_a_note() -> None:
    latex = to_latex(TABLE, ["arm", "n"], notes=["Planted respondents: 100%"])
    assert rows_of(latex) == [["3"], ["4"]]
    assert "\\multicolumn{1}{@{}l@{}}{\\footnotesize Planted respondents: 100\\%}" in latex
    assert "{\\footnotesize arm: main}" in latex
    assert rows_of(to_latex(TABLE.head(1), ["arm", "n"])) == [["main", "3"]]


def test_a_long_table_breaks_over_pages_and_an_endless_one_says_what_is_left_out() -> None:
    many = pd.DataFrame({"level": [f"l{i}" for i in range(600)], "n": range(600)})
    latex = to_latex(many)
    assert "\\begin{longtable}" in latex
    assert "\\endhead" in latex
    assert len(re.findall(r"\nl\d", latex)) == 500
    assert "The first 500 of 600 rows" in latex


def test_a_table_without_rows_is_a_table() -> None:
    latex = to_latex(TABLE.head(0), ["level", "n"])
    assert "level & n" in latex
    assert "\\end{tabular}" in latex


@given(st.text())
def test_no_text_can_end_a_cell_or_start_a_command(text: str) -> None:
    escaped = escape(text)
    assert "\n" not in escaped
    left = re.sub(r"\\(text[a-z]+\{\}|[&%$#_{}])", "", escaped)
    assert not set(left) & set("\\&%$#_{}~^")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "--"),
        (pd.NA, "--"),
        (float("nan"), "--"),
        (True, "yes"),
        (-3, "$-3$"),
        (0.12345, "0.123"),
        ("x", "x"),
    ],
)
def test_numbers(value: object, shown: str) -> None:
    assert (number(value) if not isinstance(value, str) else escape(value)) == shown


def test_p_values_have_two_digits_at_any_size() -> None:
    assert p_value(np.log10(0.084)) == "0.084"
    assert p_value(-385.7) == "$2.0\\times 10^{-386}$"
    assert p_value(float("nan")) == "--"
