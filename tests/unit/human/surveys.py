"""A dataset of six flows and a survey of it by nine people, in the columns of ConfAIde's files."""

import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

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
        name: {"text": text, "column": f"Answer.{name}", "values": [*range(-100, 101, 50)]}
        for name, text in (("people", "Would people agree?"), ("personal", "Would you agree?"))
    },
    "checks": [{"column": "Answer.coherency", "values": [1], "then": "keep"}],
    "raters": 9,
    "ratings": 54,
}
#: Recognisable, and none of them is part of another word.
IDS = tuple(f"AQXJZ{i}WORKERQZ{i * i}" for i in range(9))
#: In the column of comments, which is not read.
COMMENT = "My name is Qwertz Uiopson, 12 Nowhere Lane"


def rows() -> list[dict[str, object]]:
    """Return the ratings: of person 3 twice the same flow, of person 8 an answer to one question only."""
    return [
        {
            "HITId": f"HIT{flow}",
            "WorkerId": IDS[person],
            "Input.idx": flow if (flow, person) != (5, 3) else 4,
            "Answer.people": 50 * ((flow + person) % 5 - 2),
            "Answer.personal": "" if (flow, person) == (2, 8) else -50 * ((flow + person) % 5 - 2),
            "Answer.coherency": int((flow, person) in ((0, 0), (1, 1))),
            "Answer.commentbox": COMMENT,
        }
        for flow in range(6)
        for person in range(9)
    ]


def as_csv(changed: list[dict[str, object]] | None = None) -> str:
    return pd.DataFrame(rows() if changed is None else changed).to_csv(index=False, lineterminator="\r\n")


#: The survey of the same doors with a row per person, in two files of an archive, next to one with the questions.
WIDE: dict[str, Any] = {
    **{key: SURVEY[key] for key in ("dataset", "scale", "origin")},
    "rater": {"column": "V1"},
    "title": "A wide survey on doors",
    "people": "nine neighbours",
    "file": {"url": "wide.zip"},
    "layout": "wide",
    "files": ["a.csv", "b.csv"],
    "questions_file": {"url": "asked.csv", "column": "Num", "prefix": "X"},
    "skip_rows": 1,
    "factors": {
        "sender": {"column": "Sender", "levels": {"D": "a door", "W": "a window"}},
        "recipient": {"column": "Recipient"},
    },
    "questions": {
        "people": {
            "text": "Would people agree?",
            "column": "answer",
            "values": [1, 2, 3, 4, 5],
            "not_ratings": {"8": "the window is not there", "9": "don't know"},
        }
    },
    "raters": 8,
}
ASKED = "Num,Sender,Recipient\n" + "".join(
    f"{flow},{'DW'[flow // 3]},{('its owner', 'a passer-by', 'the police')[flow % 3]}\n" for flow in range(6)
)


def wide_csv(flows: range, people: range) -> str:
    """Return one file of the wide survey: person ``p`` gives flow ``f`` the level (f + p) modulo 5.

    Persons 3 and 7 say that they do not know where that would be 4; 1 leaves the first flow unanswered, and the last
    person everything.
    """
    lines = [["V1", *(f"X{flow}" for flow in flows)], ['"the id"', *['"two\nlines"'] * len(flows)]]
    for person in people:
        cells = [str((flow + person) % 5 + 1) for flow in flows]
        if person in (3, 7):
            cells = [cell.replace("5", "9") for cell in cells]
        if person == 1:
            cells[0] = ""
        lines.append([IDS[person], *(cells if person != people[-1] else [""] * len(cells))])
    return "\n".join(map(",".join, lines)) + "\n"


def write_wide(folder: Path, **changed: str) -> None:
    """Write the archive and the file of the questions; ``changed`` is the text of a file, by its name without csv."""
    texts = {"a": wide_csv(range(3), range(5)), "b": wide_csv(range(2, 6), range(4, 9)), **changed}
    with zipfile.ZipFile(folder / "wide.zip", "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"{name}.csv", text)
    (folder / "asked.csv").write_text(ASKED, encoding="utf-8")
