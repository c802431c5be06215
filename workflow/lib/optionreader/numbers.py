"""Numbers as answers: on a number line, and on a scale whose options are numbers or begin with them.

A number is found with what belongs to it ("73/100", "75%", "60 points"). Whether it is the answer is decided as for
options in words.
"""

import itertools
import re

from optionreader.cleaning import normalise
from optionreader.patterns import any_of, lazy
from optionreader.refusals import MACHINE, edges
from optionreader.scale import Scale
from optionreader.scale_words import option_words, per_scale
from optionreader.words import OFF, OPEN, Mention

_UNITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_UNITS += ["eleven", "twelve"]
_UNITS += ["thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_VALUES = {word: n for n, word in enumerate(_UNITS)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_IN_WORDS = (
    rf"(?<![\w-])(?:(?P<hundreds>{any_of(*_UNITS[1:10])}|an?) )?(?P<hundred>hundred)(?![\w-])"
    rf"|(?<![\w-])(?P<tens>{any_of(*_TENS)})(?:[ -](?P<ones>{any_of(*_UNITS[1:10])}))?(?![\w-])"
    rf"|(?<![\w-])(?P<small>{any_of(*_UNITS)})(?![\w-])"
)
_IN_DIGITS = r"(?P<sign>(?<![\w.,%)])-)?(?<![\w.,:/])(?P<digits>\d+(?:[.,]\d+)*)(?![\w:]|[.,]\d)"
_OUT_OF = (
    r"\s?(?:/|\bout of\b|\bof\b|\bon\b)\s?(?P<most>\d+|a hundred|one hundred)(?![\w]|[.,]\d)(?:\s?points?\b)?"
)
_ABOUT = (
    r"(?:(?:\b(?:about|(?:somewhere )?around|roughly|approximately|approx\.?|circa|maybe|perhaps|probably"
    r"|something like)\s+)"
    r"|~\s?)?"
)
_NUMBER = lazy(
    rf"{_ABOUT}(?:{_IN_DIGITS}|{_IN_WORDS})(?:{_OUT_OF}|(?P<percent>\s?(?:%|percent\b|per cent\b))|\s?points?\b)?"
)
#: Numbers at the beginning of the items of a list.
_ITEM = lazy(r"(?<![\w.,-])(?P<n>\d{1,2})[.)](?=\s+[^\W\d])")
#: What stands before the first of them.
_LIST_BEGINS = lazy(r":[*_]*\s*\n\W*$")
#: What stands before a number that is only a limit: "over 50", "up to 30", ">70".
_LIMIT = lazy(
    r"(?:\b(?:over|under|up to|exceed\w*|minimum(?: of)?|maximum(?: of)?|max|min|upwards? of|north of|south of|until"
    r"|before|after|since|within|towards?|starting (?:at|from))|[<>≤≥])\s*$"
)
_LIMIT_AFTER = lazy(
    r"\s*(?:\+|or (?:so )?(?:more|less|above|below|higher|lower|over|under|fewer)\b|and (?:above|below|up)\b)"
)
#: Number words below this are everyday words, and answers only where little else is said.
_EVERYDAY = 11


def option_of(number: float, scale: Scale) -> int:
    """Return the option that ``number`` stands for, ``OFF`` for none."""
    # A share such as 0.7 is no number of a line, and may mean another.
    level = None if 0 < abs(number) < 1 else scale.level_of_number(number)
    return OFF if level is None else scale.levels.index(level)


@per_scale
def _ends(scale: Scale) -> tuple[int, int]:
    """Return the lowest and the highest number of the scale."""
    if scale.line is not None:
        return scale.line.lowest, scale.line.highest
    return min(scale.numbers), max(scale.numbers)


def _value(match: re.Match[str]) -> float | None:
    """Return the number of a match; ``None`` for digits that make no number."""
    if match["digits"] is not None:
        digits = match["digits"]
        if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits):
            digits = digits.replace(",", "")
        try:
            number = float(digits.replace(",", ".")[:20])
        except ValueError:
            return None
        return -number if match["sign"] else number
    if match["hundred"] is not None:
        return 100 * _VALUES.get(match["hundreds"], 1)
    if match["tens"] is not None:
        return _VALUES[match["tens"]] + _VALUES.get(match["ones"], 0)
    return _VALUES[match["small"]]


def _fits(match: re.Match[str], scale: Scale) -> bool:
    """Whether what follows a number is of this scale: "/100", "out of 100", "%" on a line from 0 to 100."""
    if match["most"] is not None:
        most = 100 if "hundred" in match["most"] else int(match["most"][:9])
        return most == _ends(scale)[1]
    return match["percent"] is None or _ends(scale) == (0, 100)


def find_numbers(text: str, scale: Scale, cut_short: bool) -> list[Mention]:
    """Return the numbers of ``text`` that can be answers, in order."""
    if not scale.is_numeric:
        return []
    items = _items(text)
    begins = _ITEM.match(text)
    if begins and any(option_words(scale)) and MACHINE.search(edges(text)):
        items |= {begins.start("n")}  # "1. I am an AI and cannot answer"
    brief = len(text.split()) <= 6
    result = []
    for match in _NUMBER.finditer(text):
        value = _value(match)
        if match.start() in items or value is None:
            continue
        everyday = match["digits"] is None and abs(value) < _EVERYDAY and not brief
        if everyday or (match["digits"] is None and value == 1 and len(text.split()) > 2):
            continue
        option = option_of(value, scale) if _fits(match, scale) else OFF
        if cut_short and not text[match.end() :].strip() and _can_go_on(match, value, scale):
            option = OPEN
        limit = _LIMIT.search(text[max(0, match.start() - 20) : match.start()]) is not None
        limit = limit or _LIMIT_AFTER.match(text, match.end()) is not None
        result.append(Mention(option, *match.span(), cut=option == OPEN, ruled_out=limit, one_word=True))
    return result


def _can_go_on(match: re.Match[str], value: float, scale: Scale) -> bool:
    """Whether the length limit may have cut digits off: "7" of 73."""
    digits = match["digits"] is not None and match.end() == match.end("digits")
    return digits and 0 < abs(value) * 10 <= max(map(abs, _ends(scale)))


def _items(text: str) -> frozenset[int]:
    """Return where the numbers of a list of two items or more begin, or of one that only begins, after a colon."""
    numbers = list(_ITEM.finditer(text))
    begun = [m.start() for m in numbers if m["n"] == "1"]
    listed = {start for start in begun if _LIST_BEGINS.search(text, max(0, start - 20), start)}
    for a, b in itertools.pairwise(numbers):
        if int(b["n"]) == int(a["n"]) + 1:
            listed |= {a.start("n"), b.start("n")}
    return frozenset(listed)


@per_scale
def _the_scale_itself(scale: Scale) -> re.Pattern[str]:
    """Return a pattern for the scale as prompts name it: "from 0 to 100", "0 is not at all .. and 100 is ..".

    Numbers that only repeat it are no answer.
    """
    lowest, highest = (re.escape(str(end)) for end in _ends(scale))
    low, high = rf"(?<![\w.,-]){lowest}(?!\w|[.,]\d)", rf"(?<![\w.,]){highest}(?!\w|[.,]\d|\s?%)"
    patterns = [
        rf"(?:\b(?:from|between)\s+)?{low}(?:\s*\([^()\n]*\))?\s*(?:-+|to|and|through|\.{{2,}}|…|bis)\s*{high}(?:\s*\([^()\n]*\))?"
    ]
    if scale.line is not None:
        means = (
            r"\s*(?:=|:|\(|is|being|means?|meaning|represents?|representing|indicates?|indicating|stands? for|denotes?"
            r"|for|as)\s*[^\d.;\n]{0,12}?"
        )
        ends = [re.escape(normalise(end)) for end in scale.line.ends]
        rest = r"[\"')\]]*"
        patterns.append(
            rf"{low}{means}{ends[0]}{rest}[^\d.;\n]{{0,20}}{high}{means}{ends[1]}{rest}"
            rf"|{ends[0]}{rest}\s*\(?{low}\)?[^\d.;\n]{{0,20}}{ends[1]}{rest}\s*\(?{high}\)?"
        )
    return re.compile("|".join(patterns))


def without_scale(text: str, scale: Scale) -> str:
    """Return ``text`` without what only repeats which numbers the scale has."""
    if not scale.is_numeric or not re.search(r"\d", text):
        return text
    return _the_scale_itself(scale).sub(" ", text).strip()


_ALONE = lazy(r"[^\w%+-]*(?P<number>-?\d+)[^\w%]*")


def lone_number(text: str, scale: Scale) -> int | None:
    """Return the option of a text that is one whole number and signs; ``None`` for any other text."""
    found = _ALONE.fullmatch(text) if scale.is_numeric else None
    return None if found is None else option_of(int(found["number"][:9]), scale)
