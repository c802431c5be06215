"""The review list: texts that a person should look at, in a file that a spreadsheet opens safely."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from cinorms.answers.distinct import NO_LEVEL, categories, text_hash
from cinorms.answers.reading.reader import EXACT_RULES
from cinorms.core.csv_files import defuse
from cinorms.core.csv_tables import REVIEW
from cinorms.core.errors import DataError
from cinorms.core.files import replacing

REVIEW_COLUMNS = list(REVIEW.about)


def review_table(responses: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return every distinct text that was not read by an exact rule, most frequent first.

    One row per text and reading (a text can read differently where it was cut, or under another order);
    columns sha256, text, count, level, status, rule. ``answers`` must be those of ``responses``, row for
    row; else DataError.
    """
    same = len(responses) == len(answers) and all(
        (responses[c].to_numpy() == answers[c].to_numpy()).all() for c in ("flow", "variant")
    )
    if not same:
        raise DataError(
            "these are not the answers of these responses: their rows differ; read the responses again"
        )
    text = categories(responses["text"])
    level = answers["level"].fillna(NO_LEVEL).to_numpy(dtype=np.int64)
    rule, status = categories(answers["rule"]), categories(answers["status"])
    loose = ~np.isin(np.asarray(rule.categories), list(EXACT_RULES))
    rows = np.flatnonzero((text.codes >= 0) & loose[rule.codes])
    keys = pd.DataFrame(
        {
            "text": text.codes[rows],
            "level": level[rows],
            "status": status.codes[rows],
            "rule": rule.codes[rows],
        }
    )
    found = keys.value_counts(sort=False).rename("count").reset_index()
    found["text"] = np.asarray(text.categories, dtype=object)[found["text"]]
    found["level"] = found["level"].astype("Int8").mask(found["level"] == NO_LEVEL)
    found["status"] = np.asarray(status.categories, dtype=object)[found["status"]]
    found["rule"] = np.asarray(rule.categories, dtype=object)[found["rule"]]
    found["sha256"] = [text_hash(t) for t in found["text"]]
    found = found.sort_values(["count", "text", "rule", "level"], ascending=[False, True, True, True])
    return found[REVIEW_COLUMNS].reset_index(drop=True)


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
