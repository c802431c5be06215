"""Forms: ticks, a value for each option of the scale ("neutral: no"), and letters or numbers that a text gives them."""

from __future__ import annotations

import re

from cinorms.answers.reading.asked_text import AskedText, Verdict
from cinorms.answers.reading.patterns import any_of
from cinorms.answers.reading.scale_words import is_numeric, option_words, per_scale
from cinorms.answers.reading.words import Mention
from cinorms.core.scales import Scale

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


def _chosen_column(body: str, mentions: list[Mention]) -> set[int]:
    """Return the options that head a column with a mark: "| X | Y |" over "| | x |"."""
    head, *rows = body[body.rfind("\n", 0, mentions[0].start) + 1 :].split("\n")
    values = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in (head, *rows)]
    marks = [
        row
        for row in values[1:]
        if len(row) == len(mentions) and not all(re.fullmatch(r"[:-]+", c) for c in row)
    ]
    if (
        len(marks) != 1
        or len(values[0]) != len(mentions)
        or any((cell or None) not in _YES | _NO for cell in marks[0])
    ):
        return set()
    return {m.option for m, cell in zip(mentions, marks[0], strict=True) if cell in _YES}


def chosen_by_value(asked: AskedText) -> set[int]:
    """Return the options that a form of the whole scale answers with yes; none where the text is no such form."""
    body, mentions, n_options = asked.body, asked.mentions, len(asked.scale.options)
    if len(mentions) != n_options or len({m.option for m in mentions}) != n_options:
        return set()
    chosen: set[int] = set()
    if "|" in body and "\n" not in body[mentions[0].start : mentions[-1].end]:
        return _chosen_column(body, mentions)
    stops = [*(m.start for m in mentions[1:]), len(body)]
    for mention, stop in zip(mentions, stops, strict=True):
        rest = body[mention.end : stop]
        found = _VALUE.match(rest)
        value = found.group(1) if found else None
        marked = _MARK_BEFORE.fullmatch(body[: mention.start].rpartition("\n")[2]) is not None
        if value not in _YES | _NO or (value is None and stop < len(body) and "\n" not in rest):
            return set()
        if value in _YES and found and found.group("goes_on"):
            return set()
        chosen |= {mention.option} if marked or value in _YES else set()
    if chosen and _REJECTS.search(body[: mentions[0].start]):
        return {m.option for m in mentions}
    return chosen


_TICK_BEFORE = re.compile(r"(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅☒🗹🔘◉])[^\w\n\[(☐]*$")
_TICK_AFTER = re.compile(r"[^\w\n]*?(?:[\[(]\s*[x✓✔]\s*[\])]|[☑✅✓✔🗹]|<-+(?=\W*$|\n))")


def ticked_options(asked: AskedText) -> set[int]:
    """Return the options with a tick before or after them."""
    body = asked.body
    return {
        m.option
        for m in asked.mentions
        if not m.cut
        and not m.elsewhere
        and (
            _TICK_BEFORE.search(body[max(0, m.start - 12) : m.start])
            or _TICK_AFTER.match(body[m.end : m.end + 12])
        )
    }


@per_scale
def _symbols(scale: Scale) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return a pattern of a letter or number before an option, and one of a letter or number that is chosen."""
    one = rf"([a-{chr(ord('a') + len(scale.options) - 1)}]|{any_of(*map(str, range(len(scale.options), 0, -1)))})"
    begins = any_of(*sorted({re.escape(words[0]) for words in option_words(scale) if words}))
    return (
        re.compile(rf"(?<![\w']){one}(?:[)\].:,]{{1,2}}|\s*[=-]|\s+means|(?<=[:,] \w) )[\s\"'*_]*$"),
        re.compile(
            rf"\b(?:answer|option|choice|letter|rating|choose|picked?|select)(?: is)?\W{{1,4}}{one}(?![\w'])"
            rf"(?!\W{{1,3}}{begins})"
        ),
    )


def own_symbols(asked: AskedText) -> Verdict | None:
    """Read letters and numbers that the text itself gives the options: "(1) .. (5) .. My answer: (4)".

    Ambiguous where one stands before two options, or is chosen against the words.
    """
    if len(asked.mentions) < 2 or is_numeric(asked.scale):
        return None
    its_symbol, chosen_symbol = _symbols(asked.scale)
    options: dict[str, set[int]] = {}
    for mention in asked.mentions:
        found = its_symbol.search(asked.body[max(0, mention.start - 12) : mention.start])
        if found:
            options.setdefault(found.group(1), set()).add(mention.option)
    if any(len(of) > 1 for of in options.values()):
        return "ambiguous"
    chosen = {option for symbol in chosen_symbol.findall(asked.body) for option in options.get(symbol, ())}
    stated = {m.option for m in asked.candidates}
    if stated and chosen and not chosen & stated:
        return "ambiguous"
    # Reasons that follow could contradict the letter, so nothing may.
    last = list(chosen_symbol.finditer(asked.body))[-1:]
    whole = len(options) == len(asked.scale.options) and all(m.listed for m in asked.mentions)
    ends = bool(last) and not re.search(r"\w", asked.body[last[0].end() :])
    return asked.verdict(next(iter(chosen))) if whole and ends and len(chosen) == 1 else None
