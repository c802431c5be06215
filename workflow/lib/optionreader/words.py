"""The words of a text, and which of them are words of the scale: spelt, split, glued or misspelt; and its options."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rapidfuzz.distance import OSA

from optionreader.patterns import NEVER, WORD, lazy, word_set
from optionreader.scale import Scale
from optionreader.scale_words import per_scale, vocabulary

#: What may stand inside one word: "un-acceptable", "some what", "**un**acceptable".
_JOINT = lazy(r"[ \-*_]{1,4}|-?\n")
#: A word as near to one option word as to another.
UNCLEAR = "?"
_EITHER = "eitherpolarity"
#: English words within a slip of the pen of an option's word.
_OTHER_WORDS = word_set("neural strangely lively newer offer offend supports supported opposes")


#: A word with its first place and the place after its last.
_Piece = tuple[str, int, int]


class Token(NamedTuple):
    """A word of the text; ``scale_word`` is the option word it stands for, UNCLEAR, or None."""

    text: str
    start: int
    end: int
    scale_word: str | None


#: The option of a number that the scale does not have, and of words that leave open which option they mean.
OFF, OPEN = -1, -2


class Mention(NamedTuple):
    """One place where an option is named; ``option`` is its index in the scale, or OFF or OPEN."""

    option: int
    start: int
    end: int
    cut: bool = False  # the text breaks off inside the option
    listed: bool = False  # one of several options in a row
    ruled_out: bool = False  # negated, compared, asked
    elsewhere: str = ""  # said of something else ("aside"), or in a "question"
    counts: bool = True  # False: an everyday word such as "neutral" in running text
    one_word: bool = False  # an everyday word or number can be this option
    standing: bool = False  # a sentence or line of its own
    cue: str = ""  # final, strong (the answer is ..), weak (it is ..), maybe (it would be ..) or none
    sentence: int = 0
    opens: bool = False  # the first words of its sentence
    topic: bool = False  # what a statement is about, and nothing calls it the answer

    @property
    def set_aside(self) -> bool:
        """Whether the text names the option without giving it."""
        return self.listed or self.ruled_out or bool(self.elsewhere)

    @property
    def candidate(self) -> bool:
        """Whether this can be the answer."""
        return self.counts and not self.set_aside and not self.topic

    @property
    def firm(self) -> bool:
        """Whether this can be the answer, and is called the answer or a sentence of its own."""
        return (self.cue in ("final", "strong") or self.standing) and self.candidate


@per_scale
def speller(scale: Scale) -> Callable[[str], str | None]:
    """Return the function that says which option word of ``scale`` a word is or misspells.

    It returns UNCLEAR for a word between two of them and None for one that is neither. A slip is one edit
    in a word of five to nine letters and two in a longer one, the first letter kept; the next nearest
    option word must be at least two edits further. "uacceptable" is as near to "acceptable" as to
    "unacceptable" and stays unclear.
    """
    words = vocabulary(scale)
    slips = {v: 0 if len(v) < 5 else 1 if len(v) < 10 else 2 for v in words}
    letters = {v: frozenset(v) for v in words}
    respelt = {plain: v for v in words for plain in _without_accents(v) if plain not in words}

    def may_be(word: str) -> bool:
        """Tell whether a distance need be computed: each letter that an option word lacks is an edit."""
        own = set(word)
        return any(abs(len(word) - len(v)) <= n and len(own - letters[v]) <= n for v, n in slips.items())

    @lru_cache(maxsize=65_536)
    def spell(word: str) -> str | None:
        if word in words:
            return word
        if word == _EITHER:
            return UNCLEAR
        if word in respelt:
            return respelt[word]
        if not words or len(word) < 4 or len(word) > 16 or word in _OTHER_WORDS or not may_be(word):
            return None
        found = sorted((OSA.distance(word, v, score_cutoff=4), v) for v in words)
        (best, near), (second, _) = found[0], found[1] if len(found) > 1 else (99, "")
        if best > slips[near]:
            return None
        if second - best < 2:
            return UNCLEAR
        return near if word[0] == near[0] else None

    return spell


#: How letters are written where a keyboard lacks them.
_RESPELT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "å": "aa", "æ": "ae", "ø": "oe", "œ": "oe"}
)


def _without_accents(word: str) -> set[str]:
    """Return how ``word`` is written in plain letters: "völlig" as "voellig" and "vollig"."""
    if word.isascii():
        return set()
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    return {word.translate(_RESPELT), bare}


@per_scale
def _both_polarities(scale: Scale) -> re.Pattern[str]:
    """Return a pattern for both polarities written at once: "(un)acceptable", "dis/agree"."""
    words = vocabulary(scale)
    prefixes = {(b[: -len(a)], a) for a in words for b in words if a != b and b.endswith(a)}
    both = "|".join(rf"[(\[]?\b{re.escape(p)}(?:[)\]/]|\s/)+\s*{re.escape(a)}" for p, a in sorted(prefixes))
    return re.compile(both) if both else NEVER


def mark_unclear(text: str, scale: Scale) -> str:
    """Return ``text`` with a word of both polarities replaced by one that is UNCLEAR."""
    if not any(sign in text for sign in ")]/"):
        return text
    return _both_polarities(scale).sub(f" {_EITHER} ", text)


@per_scale
def _glued(scale: Scale) -> re.Pattern[str]:
    """Return a pattern for one option word with others glued to it."""
    words = "|".join(map(re.escape, sorted(vocabulary(scale), key=len, reverse=True)))
    return re.compile(rf"(?:{words})(?=(?:{words})+$)|(?:{words})$")


@per_scale
def _shortest(scale: Scale) -> int:
    """Return the length of the shortest word of the options; more than any word has where they have none."""
    return min(map(len, vocabulary(scale)), default=10_000)


def _unglued(found: list[_Piece], scale: Scale) -> list[_Piece]:
    """Return ``found`` with glued option words ("somewhatacceptable") apart."""
    shortest = 2 * _shortest(scale)
    if all(end - start < shortest for _, start, end in found):
        return found
    result = []
    for word, start, end in found:
        # The limit keeps a word of endless length from being searched from each of its letters.
        parts = [m.group() for m in _glued(scale).finditer(word)] if shortest <= len(word) < 4000 else []
        if sum(map(len, parts)) != len(word):
            parts = [word]
        for part in parts:
            result.append((part, start, start + len(part) if part != word else end))
            start += len(part)
    return result


def _rejoined(found: list[_Piece], text: str, scale: Scale) -> list[_Piece]:
    """Return ``found`` with option words that were split ("un-acceptable", "some what") joined again."""
    starts, words = _parts(scale), vocabulary(scale)
    if starts.isdisjoint(word for word, _, _ in found):
        return found
    result = []
    i = 0
    while i < len(found):
        span = 1
        if found[i][0] in starts:
            for n in (3, 2):
                pieces = found[i : i + n]
                gaps = (text[a[2] : b[1]] for a, b in pairwise(pieces))
                if "".join(p[0] for p in pieces) in words and all(map(_JOINT.fullmatch, gaps)):
                    span = len(pieces)
                    break
        pieces = found[i : i + span]
        result.append(("".join(p[0] for p in pieces), pieces[0][1], pieces[-1][2]))
        i += span
    return result


def tokens(text: str, scale: Scale) -> list[Token]:
    """Return the words of ``text``, option words that were glued or split put right."""
    found = [(m[0], *m.span()) for m in WORD.finditer(text)]
    spell = speller(scale)
    put_right = _rejoined(_unglued(found, scale), text, scale)
    return [Token(word, start, end, spell(word)) for word, start, end in put_right]


@per_scale
def _parts(scale: Scale) -> frozenset[str]:
    """Return every proper beginning of an option word, of two letters or more: "u n" is not "un"."""
    return frozenset(word[:n] for word in vocabulary(scale) for n in range(2, len(word)))
