"""A survey's files as rows of text: one CSV file or several in a zip archive, with a row per rating or per person."""

import csv
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.core.csv_files import check_columns
from cinorms.core.errors import DataError, nearest
from cinorms.human.survey import ANSWER, QuestionsFile, Survey

#: What is unpacked of one file of an archive, at most.
MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Part:
    """One CSV file: what messages call it, and its content."""

    label: str
    content: bytes

    def _rows(self) -> Any:
        return csv.reader(io.StringIO(self.content.decode("utf-8-sig"), newline=""))

    def header(self) -> list[str]:
        """Return the names of the columns; raise ``DataError`` for one that is there twice, and for no CSV file."""
        try:
            names: list[str] = next(self._rows(), [])
        except (ValueError, csv.Error):
            raise self.unreadable() from None
        check_columns(self.label, names)
        return names

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """Return the cells of ``columns``, and of no other, as text without spaces around it."""
        options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
        try:
            cells: pd.DataFrame = pd.read_csv(io.BytesIO(self.content), usecols=list(columns), **options)
        except ValueError:
            raise self.unreadable() from None
        for name in cells:
            cells[name] = cells[name].fillna("").str.strip()
        return cells

    def unreadable(self) -> DataError:
        """Return the message for what is no CSV file; the reader's own words could repeat a line of it."""
        return DataError(f"{self.label}: cannot be read as a CSV file with a header, in UTF-8")

    def line(self, row: int) -> int:
        """Return the line at which a row of data begins (row 0: the first after the header), as an editor counts."""
        reader, begins, at = self._rows(), 1, -2
        for cells in reader:
            at += bool(cells)  # a blank line is no row
            if cells and at == row:
                break
            begins = reader.line_num + 1
        return begins


class Rows(NamedTuple):
    """The cells that a survey declares, a rating per row, and in which part and row of it each of them is."""

    cells: pd.DataFrame
    places: pd.DataFrame
    parts: list[Part]
    left_out: int = 0  #: people of a wide file who answered nothing

    def line(self, at: int) -> str:
        """Return where a row is, in words."""
        part, row = np.asarray(self.places.loc[at], dtype=np.int64).tolist()
        return f"{self.parts[part].label}: line {self.parts[part].line(row)}"


def read_rows(survey: Survey, wanted: Sequence[str], path: Path, questions: Path | None) -> Rows:
    """Return the rows of the survey's file at ``path``, with the columns ``wanted`` and no other.

    ``questions`` is where the file is that says which column of a wide one is which question.
    """
    parts = _parts(path, survey.files)
    asked = _read_questions(survey, wanted, questions) if questions else None
    tables, left_out = [], 0
    for number, part in enumerate(parts):
        if asked is None:
            _check_there(survey, wanted, part.header(), part.label)
            table = part.read(wanted)[list(wanted)]
        else:
            table, n = _long(survey, [name for name in wanted if name not in [*asked, ANSWER]], part, asked)
            left_out += n
        table[_PART], table[_ROW] = number, table.index
        tables.append(table)
    cells = pd.concat(tables, ignore_index=True)
    return Rows(cells.drop(columns=[_PART, _ROW]), cells[[_PART, _ROW]], parts, left_out)


def read_people(survey: Survey, path: Path) -> pd.Series:
    """Return who is in the file at ``path`` of ``numbered_as``, in its order."""
    assert survey.numbered_as is not None
    column, part = survey.numbered_as.column, _parts(path, ())[0]
    _check_there(survey, [column], part.header(), part.label)
    who = part.read([column])[column]
    return who[who != ""].drop_duplicates()


_PART, _ROW, _COLUMN = "\0part", "\0row", "\0column"


def _parts(path: Path, files: Sequence[str]) -> list[Part]:
    """Return the CSV file at ``path``, or those ``files`` of the archive there."""
    try:
        if not files:
            return [Part(str(path), path.read_bytes())]
        with zipfile.ZipFile(path) as archive:
            return [Part(f"{path}/{name}", _unpack(archive, name, path)) for name in files]
    except (OSError, zipfile.BadZipFile):
        what = "a zip archive, which 'files' in the survey's file needs" if files else "a file"
        raise DataError(f"{path}: cannot be read as {what}") from None


def _unpack(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if name not in archive.namelist():
        raise DataError(
            f"{path}: has no file {name!r}, which the survey names under 'files'"
            f"{nearest(name, archive.namelist())}; correct the name there"
        )
    with archive.open(name) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{path}/{name}: is larger than {MOST_BYTES >> 20} MB; split it")
    return content


def _check_there(survey: Survey, wanted: Sequence[str], header: Sequence[str], label: str) -> None:
    for name in wanted:
        if name not in header:
            raise DataError(
                f"{label}: has no column {name!r}, which {survey.path} names{nearest(name, header)}; "
                "correct the name there"
            )


def _read_questions(survey: Survey, wanted: Sequence[str], path: Path) -> pd.DataFrame:
    """Return what the file at ``path`` has of ``wanted``, by the name of the column that a question has."""
    stated: QuestionsFile = survey.asked_in
    part = Part(str(path), _parts(path, ())[0].content)
    header = part.header()
    _check_there(survey, [stated.column], header, part.label)
    table = part.read([name for name in header if name == stated.column or name in wanted])
    keys = pd.Index(stated.prefix + table[stated.column], name=_COLUMN)
    if keys.has_duplicates:
        first = int(keys.duplicated().argmax())
        raise DataError(
            f"{part.label}: line {part.line(first)}: the question {table[stated.column].iloc[first]!r} is there twice; "
            "keep one of them"
        )
    if stated.column not in wanted:
        table = table.drop(columns=stated.column)
    return table.set_index(keys)


def _long(
    survey: Survey, of_person: Sequence[str], part: Part, asked: pd.DataFrame
) -> tuple[pd.DataFrame, int]:
    """Return the answers of a wide file, one per row in the order of people, and how many people gave none."""
    header = part.header()
    _check_there(survey, of_person, header, part.label)
    columns = [name for name in header if name in asked.index]
    if not columns:
        raise DataError(
            f"{part.label}: none of its columns is a question of {survey.asked_in.url}; correct "
            f"questions_file.column or prefix in {survey.path}"
        )
    people = part.read([*of_person, *columns]).iloc[survey.skip_rows :]
    answered = (people[columns] != "").any(axis=1)
    kept = people[answered].melt(
        list(of_person), columns, var_name=_COLUMN, value_name=ANSWER, ignore_index=False
    )
    table = kept.join(asked, on=_COLUMN).drop(columns=_COLUMN)
    return table.sort_index(kind="stable"), int((~answered).sum())
