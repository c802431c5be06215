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
from cinorms.core.csv_files import check_header, csv_text, read_csv, read_header, write_csv
from cinorms.core.csv_tables import CSV_TABLES, write
from cinorms.core.errors import DataError

TRIGGERS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
HOSTILE = [f"{trigger}cmd|' /C calc'!A0" for trigger in TRIGGERS]
HOSTILE += ["=1+1", "-2|-1", "'=1", "''-1", "a\r=1", 'a",=1', "a\n=1", "x;=cmd|' /C calc'!A0;y"]
HOSTILE += ["x\t=1\ty;'=1;\"=1;\"'-a", "\t=1", ";\t\n@a", "plain", "'quoted'"]


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
    for texts in (["a", "a"], ["a", None], [None, None], []):
        few = pd.DataFrame({"text": pd.Series(texts, dtype=kind), "n": 1}).set_axis(range(3, 3 + len(texts)))
        assert csv_text(few) == "text,n\n" + "".join(f"{text or ''},1\n" for text in texts)


def test_numbers_true_false_and_missing_texts_stay_what_they_are_for_r_and_pandas(tmp_path):
    frame = pd.DataFrame(
        {
            "x": [-1.5, np.nan, 2],
            "level": pd.array([-2, pd.NA, 1], dtype="Int8"),
            "printed": ["-0.50", "--", None],
            "starred": ["-6.3e-7***", "+1", "=1"],
            "plain": [True, False, True],
            "missing": pd.array([True, None, False], dtype="boolean"),
            "objects": pd.Series([True, None, np.False_], dtype=object),
            "mixed": pd.Series([True, "True", 1], dtype=object),
        }
    )
    path = tmp_path / "x.csv"
    write_csv(frame, path)
    assert cells(path)[1:] == [
        ["-1.5", "-2", "-0.50", "-6.3e-7***", "TRUE", "TRUE", "TRUE", "True"],
        ["", "", "--", "+1", "FALSE", "", "", "True"],
        ["2.0", "1", "", "'=1", "TRUE", "FALSE", "FALSE", "1"],
    ]
    back = read_csv(path)
    assert (back["plain"].dtype, back["missing"].tolist()[::2]) == (bool, [True, False])
    assert back["printed"].fillna("missing").tolist() == ["-0.50", "--", "missing"]
    assert read_csv(path, as_text=True)["printed"].tolist() == ["-0.50", "--", ""]


@settings(max_examples=40)
@given(st.lists(st.text(alphabet="'=+-@\t\r\n a1,;\"＝", max_size=8), min_size=1, max_size=4))
def test_any_texts_come_back(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write_csv(pd.DataFrame({"text": texts, "n": 1}), path)
    assert read_csv(path, as_text=True)["text"].tolist() == texts
    assert all(harmless(row[0]) for row in cells(path))
    for separator in ";\t":
        assert not any(cell.startswith("=") for cell in with_separator(path, separator))


def test_a_csv_file_with_other_columns_is_refused(tmp_path):
    table, path = CSV_TABLES[0], tmp_path / "table.csv"
    fewest = [name for name in table.about if name not in table.only]
    for right in (fewest, list(table.about)):
        write(pd.DataFrame(columns=right), path, table)
        assert read_header(path) == right
    for wrong in ([*fewest, "new"], fewest[1:], fewest[::-1]):
        with pytest.raises(DataError, match="expected"):
            write(pd.DataFrame(columns=wrong), path, table)


def test_a_column_named_twice_is_refused(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("level,text,level\n1,a,2\n", encoding="utf-8-sig")
    wrong = r"mine\.csv: line 1: column 'level' appears 2 times; keep one of them"
    with pytest.raises(DataError, match=wrong):
        check_header(path)
    with pytest.raises(DataError, match=wrong):
        load_overrides(path, range(-2, 3))
    path.write_text("text,level\na,1\n", encoding="utf-8")
    check_header(path)
    check_header(tmp_path / "missing.csv")
