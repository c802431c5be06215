"""The reader on 1,360 replies by families of what misleads it, most by six writers who had not seen its rules.

``by`` says who: writers a to f were told the families only, not the rules (docs/method/answers/reading.md);
``issue`` are those that an independent check had found.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from cinorms.answers.reading.reader import read_text
from cinorms.core.scales import LEVELS, SCALES

ACCEPT = SCALES["acceptability"]
TABLE = Path(__file__).resolve().parents[2] / "data" / "replies_by_family.csv"


def rows() -> list[dict[str, str]]:
    """Return every reply with what the reader makes of it: an option, or none."""
    with TABLE.open(newline="", encoding="utf-8") as handle:
        found = list(csv.DictReader(handle))
    for row in found:
        level = read_text(row["text"], ACCEPT).level
        row["read"] = "none" if level is None else ACCEPT.options[LEVELS.index(level)]
    return found


def test_no_level_is_read_that_was_not_stated() -> None:
    found = rows()
    assert len(found) == 1360
    wrong = [row["text"] for row in found if row["read"] not in ("none", row["expected"])]
    # Letters without a sign after them, a reply quoted as an example, another case without a word that says so.
    assert len(wrong) <= 4, wrong


def test_nearly_all_levels_that_were_stated_are_read() -> None:
    stated = [row for row in rows() if row["expected"] != "none"]
    missed = Counter(row["family"] for row in stated if row["read"] == "none")
    assert len(stated) == 675
    assert missed.total() / len(stated) <= 0.10, missed
