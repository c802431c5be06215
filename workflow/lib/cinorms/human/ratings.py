"""People's ratings as the answers of an arm.

What names a person is replaced before anything is kept. A rater takes the place of a template: rater 7 is the variant
``7_0``, and ``7_1`` where the person rated the same flow again. Numbers follow the order in which people first appear
in the file. No table has a value of the column that tells people apart, nor anything computed from one; and messages
name the row of a wrong cell, never what is in it, because a survey can name the wrong column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.csv_files import check_header
from cinorms.core.errors import DataError, nearest
from cinorms.human.survey import Question, Survey
from cinorms.prompts.variants import select_flows

#: The rule that read an answer, in the table of answers.
RULE = "rating"


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
) -> Ratings:
    """Return the answers (`tables.ANSWERS`) of the people in the file at ``path`` to one of the survey's questions.

    ``vignettes`` are the dataset's flows, ``levels`` those of the answer scale, lowest first. Ratings of flows without
    the levels that ``select`` names are left out.

    Raises ``DataError`` where the file is not as the survey declares it; no message repeats who rated.
    """
    asked = survey.question(question)
    rows = _rows(survey, asked, path)
    rater = _numbers(survey, path, rows)
    flow = _flows(survey, path, rows, vignettes)
    level, status = _levels(asked, path, rows, levels)
    _check_counts(survey, path, rows, rater)
    if not survey.repeated:
        _check_once(survey, path, rows.assign(**{survey.rater: rater}), flow)
    keep, notes = np.isin(flow, select_flows(vignettes, select)["flow"]), []
    for check in survey.checks:
        hit = _is_any(rows[check.column], check.values)
        if check.then == "no_answer":
            status = np.where(hit, "nonsense", status)
        elif check.then == "leave_out":
            keep &= ~hit
        elif check.then == "leave_out_rater":
            hit = np.isin(rater, np.unique(rater[hit]))
            keep &= ~hit
        notes.append(
            f"{check.column} {' or '.join(map(str, check.values))}: {hit.sum():,} ratings, {check.then}"
        )
    if not keep.any():
        raise DataError(f"{survey.file}: checks: no rating is left; correct the values, or the arm's select")
    again = pd.Series(rater).groupby([flow, rater]).cumcount().to_numpy(np.int64)
    answers = _answers(flow[keep], rater[keep], again[keep], level[keep], status[keep])
    return Ratings(answers, [_counted(answers, rater[keep]), *notes])


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


def _rows(survey: Survey, question: Question, path: Path) -> pd.DataFrame:
    """Return the declared columns as text; no other column is ever read."""
    check_header(path)
    try:
        header = list(map(str, pd.read_csv(path, nrows=0, dtype=str, encoding="utf-8-sig")))
        wanted = survey.columns(question)
        for name in wanted:
            if name not in header:
                raise DataError(
                    f"{path}: has no column {name!r}, which {survey.file} names{nearest(name, header)}; "
                    "correct the name there"
                )
        rows = pd.read_csv(path, usecols=wanted, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (OSError, ValueError):  # its own words could repeat a line of the file
        raise DataError(f"{path}: cannot be read as a CSV file with a header, in UTF-8") from None
    for name in wanted:
        rows[name] = rows[name].str.strip()
    for column, value in survey.where.items():
        rows = rows[rows[column] == value]
        if rows.empty:
            raise DataError(
                f"{survey.file}: where.{column}: no row of {path} has {value!r}; correct the value"
            )
    return rows


def _numbers(survey: Survey, path: Path, rows: pd.DataFrame) -> npt.NDArray[np.intp]:
    """Return the running number of each row's rater, from 0, in the order of first appearance."""
    who: pd.Series[Any] = rows[survey.rater]
    if (who == "").any():
        raise DataError(f"{path}: row {_row(rows, who == '')}: the column {survey.rater!r} is empty")
    if survey.modulo is not None:
        digits = who.str.fullmatch(r"\d{1,15}")
        if not digits.all():
            raise DataError(
                f"{path}: row {_row(rows, ~digits)}: the column {survey.rater!r} is no whole number, "
                f"which rater.modulo in {survey.file} needs"
            )
        who = who.astype("int64") % survey.modulo
    return pd.factorize(who)[0].astype(np.intp)


def _flows(survey: Survey, path: Path, rows: pd.DataFrame, vignettes: pd.DataFrame) -> npt.NDArray[np.int32]:
    """Return the flow of each row."""
    if survey.flow is not None:
        number = pd.to_numeric(rows[survey.flow], errors="coerce")
        wrong = ~number.isin(vignettes["flow"])
        if wrong.any():
            raise DataError(
                f"{path}: row {_row(rows, wrong)}: the column {survey.flow!r} has no flow of dataset "
                f"{survey.dataset!r}; allowed: 0 to {vignettes['flow'].max()}"
            )
        return number.to_numpy(dtype=np.int32)
    known = vignettes[["flow", *survey.factors]].astype(dict.fromkeys(survey.factors, str))
    if known.duplicated(list(survey.factors)).any():
        others = [name for name in vignettes if name not in {"flow", "vignette", "expected", *survey.factors}]
        raise DataError(
            f"{survey.file}: factors: {', '.join(survey.factors)} do not tell all flows of dataset {survey.dataset!r} "
            f"apart; add {', '.join(map(str, others))}"
        )
    levels = pd.DataFrame({name: _labels(survey, path, rows, name, vignettes) for name in survey.factors})
    found = levels.merge(known, on=list(survey.factors), how="left", validate="many_to_one")["flow"]
    if found.isna().any():
        at = found.isna().to_numpy()
        raise DataError(
            f"{path}: row {_row(rows, at)}: no flow of dataset {survey.dataset!r} has these levels of "
            f"{', '.join(survey.factors)} together; correct the row, or leave it out with 'where'"
        )
    return found.to_numpy(dtype=np.int32)


def _labels(
    survey: Survey, path: Path, rows: pd.DataFrame, factor: str, vignettes: pd.DataFrame
) -> pd.Series[str]:
    """Return the dataset's level of ``factor`` for each row."""
    stated = survey.factors[factor]
    found = rows[stated.column].replace(dict(stated.levels))
    known = list(dict.fromkeys(vignettes[factor].astype(str)))
    wrong = ~found.isin(known)
    if wrong.any():
        raise DataError(
            f"{path}: row {_row(rows, wrong)}: the column {stated.column!r} has no level of {factor} "
            f"({', '.join(known)}); state other spellings under factors.{factor}.levels in {survey.file}"
        )
    return found


def _levels(
    question: Question, path: Path, rows: pd.DataFrame, levels: Sequence[int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any]]:
    """Return the level of each rating, NaN where there is none, and its status."""
    given = rows[question.column]
    values = question.values or tuple(levels)
    found = np.full(len(rows), np.nan)
    for value, level in zip(values, levels, strict=True):
        found[_is_any(given, (value,))] = level
    unanswered = (given == "").to_numpy()
    wrong = np.isnan(found) & ~unanswered
    if wrong.any():
        raise DataError(
            f"{path}: row {_row(rows, wrong)}: the column {question.column!r} has no rating; allowed: "
            + (", ".join(map(str, values)) if len(values) <= 11 else f"{values[0]} to {values[-1]}")
        )
    return found, np.where(unanswered, "empty", "ok")


def _is_any(column: pd.Series[str], values: Sequence[str | float]) -> npt.NDArray[np.bool_]:
    """Tell which cells are one of ``values``: the same text, or the same number."""
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    wanted = [float(value) for value in values if isinstance(value, int | float)]
    texts = [value for value in values if isinstance(value, str)]
    return np.asarray(np.isin(numbers, wanted) | column.isin(texts).to_numpy())


def _check_counts(survey: Survey, path: Path, rows: pd.DataFrame, rater: npt.NDArray[np.intp]) -> None:
    for key, stated, found in (
        ("raters", survey.raters, len(np.unique(rater))),
        ("ratings", survey.ratings, len(rows)),
    ):
        if stated is not None and stated != found:
            raise DataError(
                f"{survey.file}: {key}: {stated:,} is stated, but {path} has {found:,}; correct the number, or the "
                "columns"
            )


def _check_once(survey: Survey, path: Path, rows: pd.DataFrame, flow: npt.NDArray[np.int32]) -> None:
    """Refuse a rating that is there twice: a file pasted below itself would count every person double."""
    again = rows.drop(columns=survey.flow or []).assign(**{"": flow}).duplicated()
    if again.any():
        n = int(again.sum())
        raise DataError(
            f"{path}: row {_row(rows, again)} repeats an earlier one: the same person, flow and answer ({n:,} such "
            f"{'row' if n == 1 else 'rows'}); delete what is there twice,\nor state repeated: true in {survey.file} if "
            "people rated a flow more than once"
        )


def _answers(
    flow: npt.NDArray[np.int32],
    rater: npt.NDArray[np.intp],
    again: npt.NDArray[np.integer[Any]],
    level: npt.NDArray[np.float64],
    status: npt.NDArray[Any],
) -> pd.DataFrame:
    order = np.lexsort((again, rater, flow))
    pairs = pd.DataFrame({"rater": rater[order], "again": again[order]})
    known = pairs.drop_duplicates().sort_values(["rater", "again"])
    variant = pd.Categorical(_variants(pairs), categories=pd.Index(_variants(known)))
    without = status[order] != "ok"
    values = np.where(without, 0, np.nan_to_num(level[order])).astype(np.int8)
    return pd.DataFrame(
        {
            "flow": flow[order].astype(np.int32),
            "variant": variant,
            "order": pd.Categorical.from_codes(np.full(len(flow), -1), pd.Index([], dtype=str)),
            "level": pd.arrays.IntegerArray(values, without),
            "status": pd.Categorical(status[order]),
            "rule": pd.Categorical([RULE] * len(flow)),
            "p_options": None,
        }
    )


def _variants(pairs: pd.DataFrame) -> pd.Series[str]:
    return pairs["rater"].astype(str) + "_" + pairs["again"].astype(str)


def _counted(answers: pd.DataFrame, rater: npt.NDArray[np.intp]) -> str:
    per_flow = answers["flow"].value_counts()
    per_rater = np.unique(rater, return_counts=True)[1]
    return (
        f"{len(answers):,} ratings of {len(per_flow):,} flows by {len(per_rater):,} people; "
        f"per flow {_range(per_flow)}, per person {_range(per_rater)}"
    )


def _range(counts: Any) -> str:
    return f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"


def _row(rows: pd.DataFrame, wrong: Any) -> int:
    """Return the number of the first wrong row of the file, from 1 after the header."""
    return int(np.asarray(rows.index)[np.asarray(wrong)][0]) + 1
