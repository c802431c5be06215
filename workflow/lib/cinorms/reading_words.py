"""The words of a text, and which of them are words of the scale: spelt, split, glued or misspelt."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from cinorms.scales import Scale

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
#: What may stand inside one word: "un-acceptable", "some what", "**un**acceptable".
_JOINT = re.compile(r"[ \-*_]{1,4}|-?\n")
#: A word as near to one option word as to another.
UNCLEAR = "?"
_EITHER = "eitherpolarity"
#: English words within a slip of the pen of an option's word.
_OTHER_WORDS = frozenset({"neural", "strangely"})


@dataclass(frozen=True)
class Token:
    """A word of the text; ``scale_word`` is the option word it stands for, UNCLEAR, or None."""

    text: str
    start: int
    end: int
    scale_word: str | None


@lru_cache(maxsize=16)
def option_words(scale: Scale) -> tuple[tuple[str, ...], ...]:
    """Return each option of ``scale`` as its words, lowest first."""
    return tuple(tuple(option.split()) for option in scale.options)


@lru_cache(maxsize=16)
def vocabulary(scale: Scale) -> frozenset[str]:
    """Return the words that the options of ``scale`` are made of."""
    return frozenset(word for words in option_words(scale) for word in words)


def edit_distance(a: str, b: str, limit: int) -> int:
    """Return the optimal string alignment distance of ``a`` and ``b``, or ``limit + 1`` where it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, last[j - 2] + 1)
            row.append(best)
    return min(row[-1], limit + 1)


@lru_cache(maxsize=100_000)
def scale_word(word: str, scale: Scale) -> str | None:
    """Return the option word that ``word`` is or misspells, UNCLEAR between two of them, None if neither.

    A slip is one edit in a word of five to nine letters and two in a longer one, the first letter kept; the next
    nearest option word must be at least two edits further. "uacceptable" is as near to "acceptable" as to
    "unacceptable" and stays unclear.
    """
    if word in vocabulary(scale):
        return word
    if word == _EITHER:
        return UNCLEAR
    if len(word) < 4 or len(word) > 16 or word in _OTHER_WORDS:
        return None
    found = sorted((edit_distance(word, v, 4), v) for v in vocabulary(scale))
    (best, near), (second, _) = found[0], found[1]
    allowed = 0 if len(near) < 5 else 1 if len(near) < 10 else 2
    if best > allowed:
        return None
    if second - best < 2:
        return UNCLEAR
    return near if word[0] == near[0] else None


@lru_cache(maxsize=16)
def _respacing(scale: Scale) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for option words run together, and for both polarities written at once."""
    words = sorted(vocabulary(scale), key=len, reverse=True)
    glued = re.compile(f"({'|'.join(words)})(?={'|'.join(words)})")
    prefixes = {(b[: -len(a)], a) for a in words for b in words if a != b and b.endswith(a)}
    both = "|".join(rf"[(\[]?\b{p}(?:[)\]/]|\s/)+\s*{a}" for p, a in sorted(prefixes)) or r"(?!)"
    return glued, re.compile(both)


def respace(text: str, scale: Scale) -> str:
    """Return ``text`` with run-together option words apart and "(un)acceptable" marked as unclear."""
    glued, both = _respacing(scale)
    return both.sub(f" {_EITHER} ", glued.sub(r"\1 ", text))


def tokens(text: str, scale: Scale) -> list[Token]:
    """Return the words of ``text``, with option words that were split ("un-acceptable") joined again."""
    found = [(m.group(), m.start(), m.end()) for m in WORD.finditer(text)]
    result: list[Token] = []
    i = 0
    starts = _parts(scale)
    while i < len(found):
        word, start, end = found[i]
        span = 1
        if word in starts:
            for n in (3, 2):
                pieces = found[i : i + n]
                joined = "".join(p[0] for p in pieces)
                gaps = (text[a[2] : b[1]] for a, b in pairwise(pieces))
                whole = len(pieces) == n and all(len(p[0]) > 1 for p in pieces)
                if whole and joined in vocabulary(scale) and all(map(_JOINT.fullmatch, gaps)):
                    word, end, span = joined, pieces[-1][2], n
                    break
        result.append(Token(word, start, end, scale_word(word, scale)))
        i += span
    return result


@lru_cache(maxsize=16)
def _parts(scale: Scale) -> frozenset[str]:
    """Return every proper beginning of an option word."""
    return frozenset(word[:n] for word in vocabulary(scale) for n in range(1, len(word)))


