"""What a person does: the list of texts to review, and overrides, codes of single texts that override every rule."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.answers.read import categories, text_hash
from cinorms.core.csv_files import check_header, defuse, undo_defusing
from cinorms.core.csv_tables import REVIEW
from cinorms.core.errors import DataError
from cinorms.core.files import replacing
from cinorms.core.scales import Scale
from cinorms.core.tables import OVERRIDE_STATUSES
from optionreader import EXACT_RULES

REVIEW_COLUMNS = list(REVIEW.about)
#: Rules whose readings need no look: of texts that are an option, of probabilities, and of calls.
_SURE = EXACT_RULES | {"options", "call"}
#: What names one answer; a line without them is about every reply with its text.
PLACE = ("arm", "model", "flow", "variant")
OVERRIDE_COLUMNS = ("text", "sha256", *PLACE, "level", "status", "note")


def load_overrides(path: str | Path, levels: Collection[int]) -> pd.DataFrame:
    """Read ``overrides.csv``: a person's codes, one text or one answer per line.

    Columns: ``text`` as the review list shows it, or ``sha256`` (which counts where both are given); ``arm``,
    ``model``, ``flow`` and ``variant`` of a single answer, which needs no text; exactly one of ``level`` (one of
    ``levels``, those of the study's scales) and ``status``; ``note`` is free.
    Returns line, sha256, text, arm, model, flow, variant, level, status, note; a line with a level has the status ok.
    DataError names the file, the line, what is given and what is allowed.
    """
    check_header(path)
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle, strict=True)
            header = list(reader.fieldnames or [])
            unknown = [c for c in header if c not in OVERRIDE_COLUMNS]
            names_answers = {"text", "sha256"} & set(header) or set(PLACE) <= set(header)
            if unknown or not names_answers or not {"level", "status"} & set(header):
                raise DataError(
                    f"{path}, line 1: columns {header}; allowed: {', '.join(OVERRIDE_COLUMNS)} (text, sha256, or arm, "
                    "model, flow and variant; level or status; note if you like)"
                )
            rows = [(reader.line_num, row) for row in reader]
    except OSError as problem:
        raise DataError(
            f"{path}: cannot be read ({problem.strerror}); give an overrides file or none"
        ) from problem
    except (UnicodeDecodeError, csv.Error) as problem:
        raise DataError(f"{path}: not a CSV file in UTF-8 ({problem}); save it as 'CSV UTF-8'") from problem
    lines = [_override(path, line, row, levels) for line, row in rows if any(v for v in row.values())]
    frame = pd.DataFrame(lines, columns=["line", "sha256", "text", *PLACE, "level", "status", "note"])
    named: dict[tuple[object, ...], object] = {}
    for override in lines:
        name = tuple(override[column] for column in (("sha256",) if override["flow"] is None else PLACE))
        if name in named:
            what = "text" if override["flow"] is None else "answer"
            raise DataError(
                f"{path}, line {override['line']}: the same {what} as line {named[name]}; keep one of the two"
            )
        named[name] = override["line"]
    return frame.astype({"line": "int64", "level": "Int8", "flow": "Int64"})


def overrides_of(
    files: Sequence[str], levels: Collection[int], arm: str | None = None, model: str | None = None
) -> pd.DataFrame | None:
    """Return the lines of the study's file, if it has one, that are about texts, or about answers of a model in an arm.

    Without an arm none about single answers: they are about what was said once, not about another asking.
    """
    if not files:
        return None
    overrides = load_overrides(files[0], levels)
    return overrides[overrides["flow"].isna() | (overrides["arm"] == arm) & (overrides["model"] == model)]


def _override(
    path: str | Path, line: int, row: dict[str, str | None], levels: Collection[int]
) -> dict[str, object]:
    """Return one checked line of an overrides file."""

    def wrong(stated: str, allowed: str) -> DataError:
        return DataError(f"{path}, line {line}: {stated}; {allowed}")

    if None in row:
        n_stated = sum(column in row for column in OVERRIDE_COLUMNS)
        raise wrong(
            f"{n_stated + len(row[None])} cells, but the header names {n_stated} columns",  # type: ignore[index, arg-type]
            f"begin the file with {','.join(OVERRIDE_COLUMNS)}, or put a text that holds commas in double quotes",
        )
    cell = {c: (row.get(c) or "") for c in OVERRIDE_COLUMNS}
    digest, level, status = (cell[c].strip().lower() for c in ("sha256", "level", "status"))
    if digest and not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise wrong(f"sha256 is '{cell['sha256']}'", "copy the 64 hexadecimal digits from the review list")
    place = {c: cell[c].strip() for c in PLACE}
    if any(place.values()) and not all(place.values()):
        lacking = ", ".join(c for c in PLACE if not place[c])
        raise wrong(f"{lacking} is empty", f"a line about one answer gives {', '.join(PLACE)}; others none")
    if place["flow"] and not re.fullmatch("[0-9]{1,9}", place["flow"]):
        raise wrong(f"flow is '{place['flow']}'", "give the flow's number, a whole number from 0")
    if not digest and cell["text"] == "" and not place["flow"]:
        raise wrong("neither text nor sha256", f"give one of them, or {', '.join(PLACE)} of one answer")
    if bool(level) == bool(status):
        stated = f"level '{level}' and status '{status}'" if level else "neither level nor status"
        raise wrong(stated, "give exactly one: a level for a valid answer, else a status")
    if level and level not in {str(v) for v in levels}:
        raise wrong(f"level is '{level}'", f"allowed: {_levels(levels)}")
    if status and status not in OVERRIDE_STATUSES:
        raise wrong(
            f"status is '{status}'",
            f"allowed: {', '.join(OVERRIDE_STATUSES)}; for a valid answer give its level",
        )
    text = undo_defusing(cell["text"])
    return {
        "line": line,
        "sha256": digest or (text_hash(text) if cell["text"] else ""),
        "text": text,
        **place,
        "flow": int(place["flow"]) if place["flow"] else None,
        "level": int(level) if level else None,
        "status": status or "ok",
        "note": cell["note"],
    }


def _levels(levels: Collection[int]) -> str:
    """Return the levels as a list, or from the lowest to the highest where there are many."""
    ordered = sorted(levels)
    many = len(ordered) > 11 and ordered == list(range(ordered[0], ordered[-1] + 1))
    return f"{ordered[0]} to {ordered[-1]}" if many else ", ".join(map(str, ordered))


def match_overrides(responses: pd.DataFrame, overrides: pd.DataFrame) -> pd.DataFrame:
    """Return ``overrides`` with ``n_responses``, the number of responses each settles, 0 for none.

    Responses of a failed engine are not counted: an override does not turn them into answers.
    """
    text = categories(responses["text"])
    counted = text.codes[(responses["finish_reason"] != "error").to_numpy()]
    counts = np.bincount(counted[counted >= 0], minlength=len(text.categories))
    by_hash = {text_hash(t): int(n) for t, n in zip(text.categories, counts, strict=True)}
    # With the type named: of no overrides numpy would make floating-point numbers.
    settled_by = np.array([by_hash.get(h, 0) for h in overrides["sha256"]], dtype=np.intp)
    for number, _, rows in _answers_named(responses, overrides):
        settled_by[number] = len(rows)
    return overrides.assign(n_responses=settled_by)


def _answers_named(
    responses: pd.DataFrame, overrides: pd.DataFrame
) -> Iterator[tuple[int, dict[str, Any], npt.NDArray[np.intp]]]:
    """Yield each override of a single answer with its place in the table and the rows of ``responses`` that it settles.

    A line that also gives the text settles the answer only while the model's reply is that text.
    """
    lines: list[dict[str, Any]] = overrides.to_dict("records")  # type: ignore[assignment]
    for number, line in enumerate(lines):
        if pd.isna(line["flow"]):
            continue
        of_flow = np.flatnonzero((responses["flow"] == line["flow"]).to_numpy(dtype=bool))
        replies = responses.iloc[of_flow]
        meant = (replies["variant"].astype("str") == line["variant"]) & (replies["finish_reason"] != "error")
        if line["sha256"]:
            same = [pd.notna(text) and text_hash(text) == line["sha256"] for text in replies["text"]]
            meant &= np.array(same, dtype=bool)
        yield number, line, of_flow[meant.to_numpy(dtype=bool)]


def settle_answers(
    answers: pd.DataFrame, responses: pd.DataFrame, overrides: pd.DataFrame, scale: Scale
) -> pd.DataFrame:
    """Return the answers in ``responses`` with the overrides of single answers.

    A level of another scale settles none.
    """
    for _, line, rows in _answers_named(responses, overrides):
        if len(rows) and (pd.isna(line["level"]) or line["level"] in scale.levels):
            if "override" not in answers["rule"].cat.categories:
                answers["rule"] = answers["rule"].cat.add_categories("override")
            for column, value in (("level", line["level"]), ("status", line["status"]), ("rule", "override")):
                answers.loc[answers.index[rows], column] = value
    return answers


def settled(
    responses: Iterable[tuple[str, str, pd.DataFrame]], overrides: pd.DataFrame, path: str | Path
) -> pd.DataFrame:
    """Return ``overrides`` with ``n_responses`` over all ``responses`` of a study, each with its arm and model.

    Raises ``DataError`` for lines of the file at ``path`` that match no response: a code without effect is a mistake
    in the file.
    """
    total = np.zeros(len(overrides), dtype=np.intp)
    for arm, model, frame in responses:
        elsewhere = overrides["flow"].notna() & ((overrides["arm"] != arm) | (overrides["model"] != model))
        here = match_overrides(frame, overrides[~elsewhere])["n_responses"]
        total += here.reindex(overrides.index, fill_value=0).to_numpy()
    table = overrides.assign(n_responses=total)
    idle = table[table["n_responses"] == 0]
    if len(idle):
        first = idle.iloc[0]
        text = repr(first["text"][:60]) if first["text"] else f"sha256 {first['sha256'][:12]}..."
        place = ", ".join(f"{name} {first[name]}" for name in PLACE)
        stated = (
            f"the text {text}" if pd.isna(first["flow"]) else f"this place (with this text, if any): {place}"
        )
        more = (
            f" (and {len(idle) - 1} further lines: {_lines(idle['line'].iloc[1:])})" if len(idle) > 1 else ""
        )
        copied = "sha256 or text" if pd.isna(first["flow"]) else "arm, model, flow and variant"
        raise DataError(
            f"{path}, line {first['line']}: no response of this study has {stated}{more}; copy {copied} "
            "from a list of texts to review (answers/*/*.review.csv in the results), or delete the line"
        )
    return table


def _lines(numbers: pd.Series[int]) -> str:
    shown = ", ".join(map(str, numbers.head(10)))
    return f"{shown}, ..." if len(numbers) > 10 else shown


def review_table(responses: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return every distinct text that was not read by an exact rule, most frequent first, with the first place.

    One row per text and reading (a text can read differently where it was cut, or under another order).
    ``answers`` must be those of ``responses``, row for row; else DataError.
    """
    same = len(responses) == len(answers) and all(
        (responses[c].to_numpy() == answers[c].to_numpy()).all() for c in ("flow", "variant")
    )
    if not same:
        raise DataError(
            "these are not the answers of these responses: their rows differ; read the responses again"
        )
    unsure = (responses["text"].notna() & ~answers["rule"].isin(_SURE)).to_numpy()
    rows = answers.loc[unsure, ["level", "flow"]].assign(count=1)
    rows["variant"] = answers["variant"][unsure].astype(object)
    for name, column in (
        ("text", responses["text"]),
        ("status", answers["status"]),
        ("rule", answers["rule"]),
    ):
        rows[name] = categories(column)[unsure]
    places = _first_places(rows).astype(dict.fromkeys(("text", "status", "rule", "variant"), "str"))
    places["sha256"] = places["text"].map(text_hash)
    by = ["count", "text", "rule", "level"]
    return places.sort_values(by, ascending=[False, True, True, True])[REVIEW_COLUMNS].reset_index(drop=True)


def _first_places(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per text and reading: how often it was given, and where first, in the order of the rows."""
    same = [name for name in REVIEW_COLUMNS if name in rows and name not in ("count", "flow", "variant")]
    places = {"count": "sum", "flow": "first", "variant": "first"}
    return rows.groupby(same, dropna=False, sort=False, observed=True).agg(places).reset_index()


def write_review(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a review list as CSV that a spreadsheet opens safely; the file appears whole or not at all."""
    # The mark at the beginning of the file tells spreadsheets that it is UTF-8.
    with (
        replacing(path) as part,
        part.open("w", newline="", encoding="utf-8-sig", errors="backslashreplace") as handle,
    ):
        writer = csv.writer(handle, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(REVIEW_COLUMNS)
        safe = frame.assign(text=frame["text"].map(defuse), level=frame["level"].astype("string").fillna(""))
        writer.writerows(safe[REVIEW_COLUMNS].itertuples(index=False))
