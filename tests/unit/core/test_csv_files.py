"""CSV files for people: no cell is a formula, numbers stay numbers, and what was written is read."""

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.answers.overrides import load_overrides
from cinorms.core.csv_files import check_header, csv_text, read_csv, write_csv
from cinorms.core.errors import DataError

TRIGGERS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
HOSTILE = [
    *(f"{trigger}cmd|' /C calc'!A0" for trigger in TRIGGERS),
    "=1+1",
    "-2|-1",
    "'=1",
    "''-1",
    "a\r=1",
    'a",=1',
    "a\n=1",
    "x;=cmd|' /C calc'!A0;y",
    "x\t=1\ty;'=1;\"=1;\"'-a",
    "\t=1",
    ";\t\n@a",
    "plain",
    "'quoted'",
]


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.reader(handle, strict=True))


def harmless(cell: str) -> bool:
    try:
        float(cell.rstrip("*"))
    except ValueError:
        levels = re.fullmatch(r"-?[0-9]\|-?[0-9]", cell)  # a threshold between two levels
        return cell == "--" or levels is not None or not cell.startswith(TRIGGERS)
    return "\n" not in cell or not cell.startswith(TRIGGERS)


def with_separator(path: Path, separator: str) -> list[str]:
    """Return the cells as a spreadsheet with another separator finds them."""
    with path.open(newline="", encoding="utf-8-sig") as handle:
        return [cell for row in csv.reader(handle, delimiter=separator) for cell in row]


@pytest.mark.parametrize("kind", [object, "str", "string", "category"])
def test_no_cell_and_no_heading_is_a_formula_and_every_text_comes_back(kind, tmp_path):
    frame = pd.DataFrame({"text": pd.Series(HOSTILE, dtype=kind), "n": range(len(HOSTILE))})
    for place, text in enumerate(HOSTILE):
        frame[text] = place
    path = tmp_path / "deep" / "x.csv"
    write_csv(frame, path)
    assert all(harmless(cell) for row in cells(path) for cell in row)
    found = [cell for separator in ";\t" for cell in with_separator(path, separator)]
    assert not [cell for cell in found if cell.startswith(FORMULAS) and not cell.startswith("-2|-1,")]
    for back in (read_csv(path), read_csv(path, as_text=True)):
        assert list(back.columns) == list(frame.columns)
        assert back["text"].tolist() == HOSTILE


def test_true_and_false_are_logical_values_for_r_and_pandas(tmp_path):
    frame = pd.DataFrame(
        {
            "plain": [True, False, True],
            "missing": pd.array([True, None, False], dtype="boolean"),
            "objects": pd.Series([True, None, np.False_], dtype=object),
            "text": ["True", "no", "x"],
        }
    )
    path = tmp_path / "x.csv"
    write_csv(frame, path)
    assert cells(path)[1:] == [
        ["TRUE", "TRUE", "TRUE", "True"],
        ["FALSE", "", "", "no"],
        ["TRUE", "FALSE", "FALSE", "x"],
    ]
    back = read_csv(path)
    assert back["plain"].dtype == bool
    assert back["missing"].tolist()[::2] == [True, False]
    assert back["text"].tolist() == ["True", "no", "x"]


def test_numbers_stay_numbers(tmp_path):
    frame = pd.DataFrame(
        {
            "x": [-1.5, np.nan],
            "level": pd.array([-2, pd.NA], dtype="Int8"),
            "share": pd.array([-0.5, pd.NA], dtype="Float64"),
            "flag": [True, False],
            "printed": ["-0.50", "--"],
            "starred": ["-6.3e-7***", "+1"],
        }
    )
    write_csv(frame, tmp_path / "x.csv")
    assert cells(tmp_path / "x.csv")[1:] == [
        ["-1.5", "-2", "-0.5", "TRUE", "-0.50", "-6.3e-7***"],
        ["", "", "", "FALSE", "--", "+1"],
    ]
    back = read_csv(tmp_path / "x.csv")
    assert back["level"].tolist()[0] == -2
    assert back["printed"].tolist() == ["-0.50", "--"]


def test_missing_texts_stay_missing(tmp_path):
    write_csv(pd.DataFrame({"a": ["=1", None, "b"], "n": 1}), tmp_path / "x.csv")
    assert read_csv(tmp_path / "x.csv")["a"].isna().tolist() == [False, True, False]
    assert read_csv(tmp_path / "x.csv", as_text=True)["a"].tolist() == ["=1", "", "b"]


@pytest.mark.parametrize("kind", [object, "str", "string", "category"])
def test_a_column_of_one_text_or_none_is_written(kind):
    for texts in (["a", "a"], ["a", None], [None, None], []):
        frame = pd.DataFrame(
            {"text": pd.Series(texts, dtype=kind), "n": range(len(texts))}, index=range(3, 3 + len(texts))
        )
        assert csv_text(frame).count("\n") == len(texts) + 1


@settings(max_examples=40)
@given(st.lists(st.text(alphabet="'=+-@\t\r\n a1,;\"＝", max_size=8), min_size=1, max_size=4))
def test_any_texts_come_back(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write_csv(pd.DataFrame({"text": texts, "n": 1}), path)
    assert read_csv(path, as_text=True)["text"].tolist() == texts
    assert all(harmless(row[0]) for row in cells(path))
    for separator in ";\t":
        assert not any(cell.startswith("=") for cell in with_separator(path, separator))


def test_a_column_named_twice_is_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("text,level,level\na,1,2\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"mine\.csv: line 1: column 'level' appears 2 times; keep one of them"
    ):
        check_header(path)
    with pytest.raises(DataError, match="appears 2 times"):
        load_overrides(path, range(-2, 3))
    path.write_text("text,level\na,1\n", encoding="utf-8")
    check_header(path)
    check_header(tmp_path / "missing.csv")
