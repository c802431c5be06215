"""A column named twice is refused wherever a user's CSV file is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from cinorms.answers.overrides import load_overrides
from cinorms.core.csv_header import check_header
from cinorms.core.errors import DataError


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
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
