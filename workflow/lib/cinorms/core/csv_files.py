"""CSV files for people: no spreadsheet treats a text in them as a formula, and every text reads back unchanged."""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from cinorms.core.errors import REMEDY, DataError, damage_named
from cinorms.core.files import replacing

#: How a spreadsheet recognises a formula, behind any apostrophes that already defuse one.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
#: The same inside a text: a spreadsheet whose separator is a semicolon or a tab begins a cell there, or a line.
_INSIDE = r"""([;\t\r\n]"*){}(?='*[=+\-@＝＋－＠])"""
_DEFUSE, _UNDO = (re.compile(_INSIDE.format(apostrophe)) for apostrophe in ("", "'"))
#: A number as it is printed, with its stars, the dash where there is none, and two levels as "-2|-1": no formula.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?\**|--|[+-]?[0-9]+\|[+-]?[0-9]+")

_LOGICAL = {True: "TRUE", False: "FALSE"}


def defuse(text: str) -> str:
    """Return ``text`` so that no spreadsheet treats it as a formula: an apostrophe before = + - @ tab CR LF.

    Also after a semicolon, a tab or a line break inside the text: with another separator a cell begins there.
    Apostrophes that are already before such a character get one more, so that ``undo_defusing`` can undo it.
    """
    text = _DEFUSE.sub(r"\1'", text)
    return "'" + text if _FORMULA.match(text) else text


def undo_defusing(text: str) -> str:
    """Return the text that ``defuse`` received."""
    text = text[1:] if text.startswith("'") and _FORMULA.match(text) else text
    return _UNDO.sub(r"\1", text)


def csv_text(frame: pd.DataFrame) -> str:
    """Return ``frame`` as CSV, its texts and headings defused; numbers stay numbers, true and false are TRUE and FALSE.

    R, pandas and spreadsheets read those two as logical values; R reads Python's True as a text.
    """
    safe = frame.set_axis(pd.Index([_defused(name) for name in frame.columns], dtype=object), axis="columns")
    texts = [*map(str, frame.columns)]
    logicals = [place for place in range(frame.shape[1]) if _is_logical(frame.iloc[:, place])]
    for place in logicals:
        safe.isetitem(place, frame.iloc[:, place].astype(object).map(_LOGICAL, na_action="ignore").array)
    for place in set(_texts_of(frame)).difference(logicals):
        column = frame.iloc[:, place]
        # A column of objects may hold 1, 1.0 and true, which are equal and written differently.
        codes, cells = (np.arange(len(column)), column) if column.dtype == object else pd.factorize(column)
        texts += map(str, cells)
        # The last one is what is missing: its place is -1.
        defused = pd.Series([*map(_defused, cells), None], dtype=object)
        safe.isetitem(place, defused.array.take(codes))
    # Python leaves a carriage return without quotes, and readers would end the row there.
    returns = any("\r" in text for text in texts)
    return str(safe.to_csv(index=False, quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL))


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write ``frame`` as `csv_text` returns it; the file appears whole or not at all."""
    text = csv_text(frame)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="")


def read_csv(path: str | Path, as_text: bool = False, remedy: str = REMEDY) -> pd.DataFrame:
    """Read what `write_csv` wrote, texts as they were; ``as_text``: every cell as the text in the file.

    Raises ``DataError`` for a damaged file, with the ``remedy``.
    """
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False} if as_text else {}
    with damage_named(path, remedy):
        frame: pd.DataFrame = pd.read_csv(path, **options)
    for place in _texts_of(frame):
        frame.isetitem(place, frame.iloc[:, place].map(_restored).array)
    return frame.rename(columns=_restored)


def read_header(path: str | Path) -> list[str]:
    """Return the names of the columns of what `write_csv` wrote."""
    with damage_named(path, REMEDY):
        return [undo_defusing(str(name)) for name in pd.read_csv(path, nrows=0, dtype=str).columns]


def check_header(path: str | Path) -> None:
    """Raise ``DataError`` for a column that appears twice; a file that cannot be read is left to its reader."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        return
    check_columns(path, header)


def check_columns(path: str | Path, header: Sequence[str]) -> None:
    """Raise ``DataError`` for a column of ``header``, the first line of ``path``, that appears twice."""
    for name, n in Counter(header).items():
        if n > 1:
            raise DataError(f"{path}: line 1: column {name!r} appears {n} times; keep one of them")


def _texts_of(frame: pd.DataFrame) -> list[int]:
    """Return the places of the columns that can hold texts."""
    kinds = [frame.iloc[:, place].dtype for place in range(frame.shape[1])]
    return [place for place, kind in enumerate(kinds) if not is_numeric_dtype(kind)]


def _is_logical(column: "pd.Series[Any]") -> bool:
    """Tell whether a column holds true and false, and nothing else that is not missing."""
    if is_bool_dtype(column.dtype):
        return True
    there = column.dropna() if column.dtype == object else ()
    return len(there) > 0 and all(isinstance(cell, bool | np.bool_) for cell in there)


def _defused(cell: Any) -> Any:
    return defuse(cell) if isinstance(cell, str) and not _NUMBER.fullmatch(cell) else cell


def _restored(cell: Any) -> Any:
    return undo_defusing(cell) if isinstance(cell, str) else cell
