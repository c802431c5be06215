"""A dataset of six flows and a survey of it by nine people, in the columns of ConfAIde's files."""

from __future__ import annotations

import csv
import io
from typing import Any

DATASET: dict[str, Any] = {
    "title": "Doors",
    "context": "tests",
    "scale": "agreement",
    "source": "design",
    "origin": {"citation": "made for these tests", "licence": "none"},
    "factors": {"sender": ["a door", "a window"], "recipient": ["its owner", "a passer-by", "the police"]},
    "template": "{{ sender }} tells {{ recipient }} who is at home",
}
SURVEY: dict[str, Any] = {
    "title": "A survey on doors",
    "people": "nine neighbours",
    "dataset": "doors",
    "scale": "agreement",
    "origin": {"citation": "nobody (2026), A survey made for these tests", "licence": "none"},
    "file": {"url": "doors.csv"},
    "rater": {"column": "WorkerId"},
    "flow": "Input.idx",
    "questions": {
        "people": {
            "text": "Would people agree?",
            "column": "Answer.people",
            "values": [-100, -50, 0, 50, 100],
        },
        "personal": {
            "text": "Would you agree?",
            "column": "Answer.personal",
            "values": [-100, -50, 0, 50, 100],
        },
    },
    "checks": [{"column": "Answer.coherency", "values": [1], "then": "keep"}],
    "raters": 9,
    "ratings": 54,
}
COLUMNS = (
    "HITId",
    "WorkerId",
    "Input.idx",
    "Answer.people",
    "Answer.personal",
    "Answer.coherency",
    "Answer.commentbox",
)
#: Recognisable, and none of them is part of another word.
IDS = tuple(f"AQXJZ{i}WORKERQZ{i * i}" for i in range(9))
#: In the column of comments, which is not read.
COMMENT = "My name is Qwertz Uiopson, 12 Nowhere Lane"


def rows() -> list[dict[str, object]]:
    """Return the ratings: of person 3 twice the same flow, of person 8 an answer to one question only."""
    found: list[dict[str, object]] = []
    for flow in range(6):
        for person in range(9):
            rating = 50 * ((flow + person) % 5 - 2)
            found.append(
                {
                    "HITId": f"HIT{flow}",
                    "WorkerId": IDS[person],
                    "Input.idx": flow if (flow, person) != (5, 3) else 4,
                    "Answer.people": rating,
                    "Answer.personal": "" if (flow, person) == (2, 8) else -rating,
                    "Answer.coherency": int((flow, person) in ((0, 0), (1, 1))),
                    "Answer.commentbox": COMMENT,
                }
            )
    return found


def as_csv(changed: list[dict[str, object]] | None = None) -> str:
    """Return the ratings as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows() if changed is None else changed)
    return text.getvalue()
