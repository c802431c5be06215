"""Forms: a value for each option of the scale ("neutral: no"), and a row of a table under the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: An option, with where its name begins and ends.
Place = tuple[int, int, int]

_VALUE = re.compile(
    r"[ \t\"'*_)|:=>-]*(\w+|[✓✔✅☑🗹❌✗✘])?(?P<goes_on>[\W_]*\b(?:if|when|only|unless|provided|but|for|or|perhaps"
    r"|maybe|possibly)\b)?"
)
_MARK_BEFORE = re.compile(r"[\W_]*\bx\b[\W_]*")
_YES = frozenset({"yes", "true", "x", "y", "1", "selected", "chosen", *"✓✔✅☑🗹"})
_NO = frozenset({None, "no", "false", "n", "0", "not", "nope", *"❌✗✘"})
#: What a mark means where it chooses no option.
_REJECTS = re.compile(
    r"\b(?:reject|exclud|rul(?:e|ed|ing) out|eliminat|dismiss|avoid|wrong|unsuitable|possible|not )\w*"
)


def _chosen_column(body: str, named: Sequence[Place]) -> set[int]:
    """Return the options that head a column with a mark: "| X | Y |" over "| | x |"."""
    head, *rows = body[body.rfind("\n", 0, named[0][1]) + 1 :].split("\n")
    values = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in (head, *rows)]
    marks = [
        row
        for row in values[1:]
        if len(row) == len(named) and not all(re.fullmatch(r"[:-]+", c) for c in row)
    ]
    if (
        len(marks) != 1
        or len(values[0]) != len(named)
        or any((cell or None) not in _YES | _NO for cell in marks[0])
    ):
        return set()
    return {option for (option, _, _), cell in zip(named, marks[0], strict=True) if cell in _YES}


def chosen_by_value(body: str, named: Sequence[Place], n_options: int) -> set[int]:
    """Return the options that a form of the whole scale answers with yes; none where the text is no such form."""
    if len(named) != n_options or len({option for option, _, _ in named}) != n_options:
        return set()
    chosen: set[int] = set()
    if "|" in body and "\n" not in body[named[0][1] : named[-1][2]]:
        return _chosen_column(body, named)
    stops = [*(start for _, start, _ in named[1:]), len(body)]
    for (option, start, end), stop in zip(named, stops, strict=True):
        rest = body[end:stop]
        found = _VALUE.match(rest)
        value = found.group(1) if found else None
        marked = _MARK_BEFORE.fullmatch(body[:start].rpartition("\n")[2]) is not None
        if value not in _YES | _NO or (value is None and stop < len(body) and "\n" not in rest):
            return set()
        if value in _YES and found and found.group("goes_on"):
            return set()
        chosen |= {option} if marked or value in _YES else set()
    if chosen and _REJECTS.search(body[: named[0][1]]):
        return {option for option, _, _ in named}
    return chosen


_ANSWER_COLUMN = re.compile(
    r"[\W_]*(?:(?:my|final|your|the|overall|likert) )?"
    r"(?:answer|rating|response|verdict|choice|level|acceptability|judge?ment|classification|label|assessment|option)[\W_]*"
)
#: Parties that answer, and statistics.
_NOT_OURS = re.compile(
    r"[\W_]*(?:person|people|name|who|party|stakeholder|respondent|participant|user|group|role|speaker|count|number|share"
    r"|frequency|percent(?:age)?|votes|n|mean)s?[\W_]*"
)


def column_of(text: str, start: int) -> str:
    """Return ``answer`` where the text at ``start`` is the answer of a table of one row, else ``others``.

    "" where there is no such table. The first line names the columns, with commas, semicolons or tabs between.
    """
    if "\n" not in text:
        return ""
    lines = text.strip().split("\n")
    if len(lines) != 2 or start < len(lines[0]):
        return ""
    sign = next((s for s in ";\t," if s in lines[0]), None)
    if sign is None:
        return ""
    names = lines[0].split(sign)
    if not any(map(_ANSWER_COLUMN.fullmatch, names)):
        return ""
    at = text[:start].rpartition("\n")[2].count(sign)
    ours = (
        at < len(names) and _ANSWER_COLUMN.fullmatch(names[at]) and not any(map(_NOT_OURS.fullmatch, names))
    )
    return "answer" if ours else "others"
