"""Forms: a value for each option of the scale ("neutral: no"), and a table of one row under the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from cinorms.answers.reading.words import any_of


class Named(Protocol):
    """An option where a text names it."""

    @property
    def option(self) -> int | None: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


_VALUE = re.compile(
    r"[ \t\"'*_)|:=>-]*(\w+|[✓✔✅☑🗹❌✗✘])?(?P<goes_on>[\W_]*\b(?:if|when|only|unless|provided|but|for|or)\b)?"
)
_MARK_BEFORE = re.compile(r"[\W_]*\bx\b[\W_]*")
_YES = frozenset({"yes", "true", "x", "y", "selected", "chosen", *"✓✔✅☑🗹"})
_NO = frozenset({None, "no", "false", "n", "not", "nope", *"❌✗✘"})
#: What a mark means where it chooses no option.
_REJECTS = re.compile(r"\b(?:reject|exclud|rul(?:e|ed|ing) out|eliminat|dismiss|avoid|wrong|unsuitable|not )\w*")


def chosen_by_value(body: str, named: Sequence[Named], n_options: int) -> set[int | None]:
    """Return the options that a form of the whole scale answers with yes; none where the text is no such form."""
    if len(named) != n_options or len({m.option for m in named}) != n_options:
        return set()
    chosen: set[int | None] = set()
    stops = [*(m.start for m in named[1:]), len(body)]
    for mention, stop in zip(named, stops, strict=True):
        rest = body[mention.end : stop]
        found = _VALUE.match(rest)
        value = found.group(1) if found else None
        marked = _MARK_BEFORE.fullmatch(body[: mention.start].rpartition("\n")[2]) is not None
        if value not in _YES | _NO or (value is None and stop < len(body) and "\n" not in rest):
            return set()
        if value in _YES and found and found.group("goes_on"):
            return set()
        chosen |= {mention.option} if marked or value in _YES else set()
    if chosen and _REJECTS.search(body[: named[0].start]):
        return {m.option for m in named}
    return chosen


_ANSWER_COLUMN = re.compile(
    r"[\W_]*(?:(?:my|final|your|the|overall|likert) )?"
    r"(?:answer|rating|response|verdict|choice|level|acceptability|judge?ment|classification|label|assessment)[\W_]*"
)
_PARTY_COLUMN = re.compile(
    any_of(r"[\W_]*(?:person|people|name|who|party|stakeholder|respondent|participant|user|group|role|speaker)s?[\W_]*")
)


def column_of(text: str, start: int) -> str:
    """Return ``answer`` where the text at ``start`` is the answer of a table of one row, ``others`` where parties answer.

    "" for anything else. The first line names the columns, with commas, semicolons or tabs between.
    """
    lines = text.strip().split("\n")
    if len(lines) != 2 or start < len(lines[0]):
        return ""
    sign = next((s for s in ";\t," if s in lines[0]), None)
    if sign is None:
        return ""
    names = lines[0].split(sign)
    at = text[: start].rpartition("\n")[2].count(sign)
    if at >= len(names) or _ANSWER_COLUMN.fullmatch(names[at]) is None:
        return ""
    return "others" if any(map(_PARTY_COLUMN.fullmatch, names)) else "answer"
