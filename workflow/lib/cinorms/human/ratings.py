"""People's ratings as the answers of an arm.

What names a person is replaced before anything is kept. A rater takes the place of a template: rater 7 is the variant
``7_0``, and ``7_1`` where the person rated the same flow again. Numbers follow the order in which people first appear
in the file. No table has a value of the column that tells people apart, nor anything computed from one; and messages
name the row of a wrong cell, never what is in it, because a survey can name the wrong column.
"""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.csv_files import check_columns
from cinorms.core.errors import DataError, damage_named, nearest
from cinorms.human.survey import ANSWER, Question, QuestionsFile, Survey
from cinorms.prompts.variants import select_flows

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
        reader, begins, number = self._rows(), 1, -2
        for cells in reader:
            number += bool(cells)  # a blank line is no row
            if cells and number == row:
                break
            begins = reader.line_num + 1
        return begins


def read_rows(survey: Survey, question: Question, path: Path, questions: Path | None) -> "Rows":
    """Return the rows of the survey's file at ``path``; no column that it does not declare is ever read.

    ``questions`` is where the file is that says which column of a wide one is which question.
    """
    wanted, parts = survey.columns(question), _parts(path, survey.files)
    asked = _read_questions(survey, wanted, questions) if questions else None
    tables, left_out = [], 0
    for part in parts:
        if asked is None:
            _check_there(survey, wanted, part.header(), part.label)
            tables.append(part.read(wanted)[wanted])
        else:
            of_person = [name for name in wanted if name not in [*asked, ANSWER]]
            table, n_silent = _long(survey, of_person, part, asked)
            tables.append(table)
            left_out += n_silent
    cells = pd.concat(tables, keys=range(len(tables)))
    for column, value in survey.where.items():
        cells = cells[cells[column] == value]
        if cells.empty:
            raise DataError(
                f"{survey.path}: where.{column}: no row of {path} has {value!r}; correct the value"
            )
    return Rows(survey, path, cells, parts, left_out)


def read_people(survey: Survey, path: Path) -> pd.Series:
    """Return who is in the file at ``path`` of ``numbered_as``, in its order."""
    assert survey.numbered_as is not None
    column, part = survey.numbered_as.column, _parts(path, ())[0]
    _check_there(survey, [column], part.header(), part.label)
    who = part.read([column])[column]
    return who[who != ""].drop_duplicates()


#: The name of a column of a wide file, next to the answer that it holds.
_COLUMN = "\0column"


def _parts(path: Path, files: Sequence[str]) -> list[Part]:
    """Return the CSV file at ``path``, or those ``files`` of the archive there."""
    if not files:
        with damage_named(path, "correct 'file' in the survey's file"):
            return [Part(str(path), path.read_bytes())]
    # What zipfile raises for an archive with a password, of an unknown kind or damaged is of many classes.
    with (
        damage_named(path, "give a zip archive without a password, which 'files' in the survey's file needs"),
        zipfile.ZipFile(path) as archive,
    ):
        return [Part(f"{path}/{name}", _unpack(archive, name, path)) for name in files]


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


# --- The rows as answers

#: The rule that read an answer, in the table of answers; of a code that is no rating, what the code says is.
RULE = "rating"
#: Ratings that a person must have given for one answer throughout to be noted.
MANY = 10


class Ratings(NamedTuple):
    """The answers of an arm of people, and in words how many ratings there are and what was left out."""

    answers: pd.DataFrame
    notes: list[str]


def read_ratings(
    survey: Survey,
    question: str,
    path: Path,
    vignettes: pd.DataFrame,
    levels: Sequence[int],
    select: Mapping[str, Sequence[str]],
    questions: Path | None = None,
    people: Path | None = None,
) -> Ratings:
    """Return the answers (`tables.ANSWERS`) of the people in the file at ``path`` to one of the survey's questions.

    ``vignettes`` are the dataset's flows, ``levels`` those of the answer scale, lowest first. Ratings of flows without
    the levels that ``select`` names are left out. ``questions`` is where the ``questions_file`` of a wide survey is,
    ``people`` where the file of ``numbered_as`` is.

    Raises ``DataError`` where the file is not as the survey declares it; no message repeats who rated.
    """
    asked = survey.question(question)
    rows = read_rows(survey, asked, path, questions)
    numbered = read_people(survey, people) if people else pd.Series([], dtype=str)
    rater, flow = rows.raters(numbered), rows.flows(vignettes)
    level, said = rows.levels(asked, levels)
    rows.check_amounts(rater, asked)
    if not survey.repeated:
        rows.check_once(rater, flow)
    status = np.where(said != "", "not_a_rating", np.where(np.isnan(level), "empty", "ok"))
    keep = np.isin(flow, select_flows(vignettes, select)["flow"])
    status, keep, notes = _checked(survey, rows.cells, rater, status, keep)
    same = _one_answer(rater, level)
    if survey.one_answer == "leave_out":
        keep &= ~same
    if same.any():
        notes.append(f"one answer throughout: {len(np.unique(rater[same])):,} people, {survey.one_answer}")
    if survey.numbered_as:
        there, then = rater < len(numbered), survey.numbered_as.then
        keep &= ~there | (then == "keep")
        notes.append(f"in the file of numbered_as too: {len(np.unique(rater[there])):,} people, {then}")
    if not keep.any():
        raise DataError(f"{survey.path}: checks: no rating is left; correct the values, or the arm's select")
    ratings = pd.DataFrame({"flow": flow, "rater": rater, "level": level, "status": status, "said": said})
    ratings["again"] = ratings.groupby(["flow", "rater"]).cumcount()
    ratings = ratings[keep].sort_values(["flow", "rater", "again"])
    return Ratings(_as_answers(ratings), [*_counted(ratings, rows.left_out), *notes])


def _checked(
    survey: Survey,
    cells: pd.DataFrame,
    rater: npt.NDArray[np.intp],
    status: npt.NDArray[np.str_],
    keep: npt.NDArray[np.bool_],
) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.bool_], list[str]]:
    """Return the statuses, which rows are kept, and in words what each check did."""
    notes = []
    for check in survey.checks:
        hit = _is_any(cells[check.column], check.values)
        if check.then == "no_answer":
            status = np.where(hit, "nonsense", status)
        elif check.then == "leave_out":
            keep = keep & ~hit
        elif check.then == "leave_out_rater":
            hit = np.isin(rater, np.unique(rater[hit]))
            keep = keep & ~hit
        values = " or ".join(map(str, check.values))
        notes.append(f"{check.column} {values}: {hit.sum():,} ratings, {check.then}")
    return status, keep, notes


def _one_answer(rater: npt.NDArray[np.intp], level: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Tell which rows are of people who gave one rating throughout, to ``MANY`` flows or more."""
    by = pd.Series(level).groupby(rater)
    alike = (by.max() == by.min()) & (by.count() >= MANY)
    return np.isin(rater, alike.index[alike])


def _counted(ratings: pd.DataFrame, left_out: int) -> list[str]:
    """Return in words how many ratings there are, and how many answers are none."""
    per = [
        f"{n.min()}" if n.min() == n.max() else f"{n.min()} to {n.max()}"
        for n in (ratings["flow"].value_counts(), ratings["rater"].value_counts())
    ]
    notes = [
        f"{len(ratings):,} ratings of {ratings['flow'].nunique():,} flows by {ratings['rater'].nunique():,} people; "
        f"per flow {per[0]}, per person {per[1]}"
    ]
    codes = ratings.loc[ratings["said"] != "", "said"].value_counts(sort=False)
    notes += [f"no rating ({said}): {n:,}" for said, n in codes.items()]
    empty = int((ratings["status"] == "empty").sum())
    notes += [f"left unanswered: {empty:,}"] if empty else []
    return notes + ([f"people who answered nothing, left out: {left_out:,}"] if left_out else [])


def _as_answers(ratings: pd.DataFrame) -> pd.DataFrame:
    names = ratings["rater"].astype(str) + "_" + ratings["again"].astype(str)
    in_order = names[ratings.sort_values(["rater", "again"]).index].unique()
    status = ratings["status"].to_numpy()
    without = status != "ok"
    level = np.where(without, 0, np.nan_to_num(ratings["level"])).astype(np.int8)
    return pd.DataFrame(
        {
            "flow": ratings["flow"].to_numpy(np.int32),
            "variant": pd.Categorical(names, categories=pd.Index(in_order)),
            "order": pd.Categorical.from_codes(np.full(len(ratings), -1), pd.Index([], dtype=str)),
            "level": pd.arrays.IntegerArray(level, without),
            "status": pd.Categorical(status),
            "rule": pd.Categorical(ratings["said"].replace("", RULE)),
        }
    )


def list_raters(answers: pd.DataFrame, survey: str, question: str) -> pd.DataFrame:
    """Return the prompts (`tables.PROMPTS`) of an arm of people: the question is the same for all, the raters differ.

    ``template_no`` is the rater, ``order_no`` how often the person had rated the same flow before.
    """
    pairs = sorted(tuple(map(int, name.split("_"))) for name in answers["variant"].astype(str).unique())
    return pd.DataFrame(
        {
            "variant": [f"{rater}_{again}" for rater, again in pairs],
            "template": f"{{scenario}} {question}",
            "prompt_set": survey,
            "template_no": np.array([rater for rater, _ in pairs], dtype=np.int32),
            "order_no": np.array([again for _, again in pairs], dtype=np.int32),
        }
    )


@dataclass(frozen=True)
class Rows:
    """The cells that a survey declares, as text, a rating per row; the index has the part and the row in it."""

    survey: Survey
    path: Path
    cells: pd.DataFrame
    parts: list[Part]
    left_out: int  #: people of a wide file who answered nothing

    def refuse(self, wrong: Any, what: str) -> None:
        """Raise ``DataError`` with the line of the first row that is wrong."""
        rows = np.asarray(wrong)
        if rows.any():
            number, row = self.cells.index[rows][0]
            part = self.parts[number]
            raise DataError(f"{part.label}: line {part.line(row)}{what}")

    def raters(self, people: pd.Series) -> npt.NDArray[np.intp]:
        """Return the running number of each row's rater, from 0, in order of first appearance, ``people`` first."""
        who: pd.Series = self.cells[self.survey.rater.column]
        self.refuse(who == "", f": the column {self.survey.rater.column!r} is empty")
        everyone = pd.concat([people, who]) if len(people) else who
        return pd.factorize(everyone)[0].astype(np.intp)[len(people) :]

    def flows(self, vignettes: pd.DataFrame) -> npt.NDArray[np.int32]:
        """Return the flow of each row."""
        survey, factors = self.survey, list(self.survey.factors)
        if survey.flow is not None:
            number = pd.to_numeric(self.cells[survey.flow], errors="coerce")
            self.refuse(
                ~number.isin(vignettes["flow"]),
                f": the column {survey.flow!r} has no flow of dataset {survey.dataset!r}; allowed: 0 to "
                f"{vignettes['flow'].max()}",
            )
            return number.to_numpy(dtype=np.int32)
        flow_levels = vignettes[["flow", *factors]].astype(dict.fromkeys(factors, str))
        if flow_levels.duplicated(factors).any():
            others = [name for name in vignettes if name not in {"flow", "vignette", "expected", *factors}]
            raise DataError(
                f"{survey.path}: factors: {', '.join(factors)} do not tell all flows of dataset {survey.dataset!r} "
                f"apart; add {', '.join(map(str, others))}"
            )
        levels = {}
        for factor, stated in survey.factors.items():
            levels[factor] = self.cells[stated.column].replace(dict(stated.levels))
            allowed = flow_levels[factor].unique()
            self.refuse(
                ~levels[factor].isin(allowed),
                f": the column {stated.column!r} has no level of {factor} ({', '.join(allowed)}); state other "
                f"spellings under factors.{factor}.levels in {survey.path}",
            )
        flow = pd.DataFrame(levels).merge(flow_levels, on=factors, how="left", validate="many_to_one")["flow"]
        self.refuse(
            flow.isna(),
            f": no flow of dataset {survey.dataset!r} has these levels of {', '.join(factors)} together; correct the "
            "row, or leave it out with 'where'",
        )
        return flow.to_numpy(dtype=np.int32)

    def levels(
        self, question: Question, levels: Sequence[int]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.object_]]:
        """Return the level of each rating, NaN without one, and what a code says that is no rating, else nothing."""
        cells, values = self.cells[question.column], question.values or tuple(levels)
        level, said = np.full(len(cells), np.nan), np.full(len(cells), "", dtype=object)
        for value, its_level in zip(values, levels, strict=True):
            level[_is_any(cells, (value,))] = its_level
        for code, says in question.not_ratings.items():
            said[(cells == code).to_numpy()] = says
        level[said != ""] = np.nan
        allowed = ", ".join(map(str, values)) if len(values) <= 11 else f"{values[0]} to {values[-1]}"
        if question.not_ratings:
            allowed += f"; no rating, but known: {', '.join(question.not_ratings)}"
        self.refuse(
            np.isnan(level) & (said == "") & (cells != "").to_numpy(),
            f": the column {question.column!r} has no rating; allowed: {allowed}",
        )
        return level, said

    def check_amounts(self, rater: npt.NDArray[np.intp], question: Question) -> None:
        """Compare the numbers of people and of rows with those that the survey states."""
        survey, is_rated = self.survey, self.cells[question.column] != ""
        for key, stated, n in (
            ("raters", survey.raters, len(np.unique(rater))),
            ("ratings", survey.ratings, int(is_rated.sum()) if survey.layout == "wide" else len(is_rated)),
        ):
            if stated is not None and stated != n:
                raise DataError(
                    f"{survey.path}: {key}: {stated:,} is stated, but {self.path} has {n:,}; correct the number, or "
                    "the columns"
                )

    def check_once(self, rater: npt.NDArray[np.intp], flow: npt.NDArray[np.int32]) -> None:
        """Refuse a rating that is there twice: a file pasted below itself would count every person double."""
        cells = self.cells.assign(**{self.survey.rater.column: rater}).drop(columns=self.survey.flow or [])
        again = cells.assign(**{"": flow}).duplicated()
        n = int(again.sum())
        self.refuse(
            again,
            f" repeats an earlier one: the same person, flow and answer ({n:,} such {'row' if n == 1 else 'rows'}); "
            f"delete what is there twice,\nor state repeated: true in {self.survey.path} if people rated a flow more "
            "than once",
        )


def _is_any(column: "pd.Series[str]", values: Sequence[str | float]) -> npt.NDArray[np.bool_]:
    """Tell which cells are one of ``values``: the same text, or the same number."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wanted = [float(value) for value in values if isinstance(value, int | float)]
    texts = [value for value in values if isinstance(value, str)]
    return np.asarray(np.isin(numbers, wanted) | column.isin(texts).to_numpy())
