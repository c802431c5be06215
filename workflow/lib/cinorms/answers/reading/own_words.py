"""The words that a scale's file brings for a language, and what the rules make of them."""

from __future__ import annotations

import re
from typing import NamedTuple

from cinorms.answers.reading.normalise import normalise
from cinorms.answers.reading.scale_words import per_scale
from cinorms.answers.reading.words import any_of
from cinorms.core.scales import Scale

_NEVER = re.compile(r"(?!)")
#: How far after an option a negation denies it: "somewhat acceptable is this not".
_AFTER = r"[^.;:,!?\n]{0,40}?"


class OwnWords(NamedTuple):
    """A pattern for each kind of words of a scale's file."""

    negations: re.Pattern[str]
    denied_after: re.Pattern[str]
    hedges: re.Pattern[str]
    refusals: re.Pattern[str]
    leads: re.Pattern[str]
    others: re.Pattern[str]
    degrees: frozenset[str]
    joins: frozenset[str]
    turns: re.Pattern[str]


@per_scale
def own_words(scale: Scale) -> OwnWords | None:
    """Return the words of the scale's file; ``None`` for a scale without any."""
    if not scale.words:
        return None
    words = {kind: tuple(map(normalise, of_kind)) for kind, of_kind in scale.words}

    def anywhere(kind: str, before: str = "", after: str = "") -> re.Pattern[str]:
        """Return a pattern for any words of a kind: whole words, in scripts that part words with spaces."""
        found = words.get(kind, ())
        return re.compile(before + any_of(*map(_whole, found)) + after) if found else _NEVER

    return OwnWords(
        negations=anywhere("negations"),
        denied_after=anywhere("negations", before=_AFTER),
        hedges=anywhere("hedges"),
        refusals=anywhere("refusals"),
        leads=anywhere("leads", after=r"[^.;!?\n]{0,30}$"),
        others=anywhere("others"),
        degrees=frozenset(words.get("degrees", ())),
        joins=frozenset(words.get("joins", ())),
        turns=re.compile(any_of(r"[.!?;:\n]", *map(_whole, words.get("turns", ())))),
    )


def _whole(phrase: str) -> str:
    """Return a pattern for ``phrase`` that does not begin or end inside a word, where spaces part words."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    edges = [r"\b" if ord(c) < 0x3040 and c.isalnum() else "" for c in (phrase[0], phrase[-1])]
    return edges[0] + pattern + edges[1]


def denied(before: str, after: str, own: OwnWords) -> bool:
    """Whether one of the scale's negations denies an option: before it in its sentence, or after it in its clause."""
    return (
        own.negations.search(own.turns.split(before)[-1]) is not None
        or own.denied_after.match(after) is not None
    )


def said_of_something_else(before: str, own: OwnWords) -> bool:
    """Whether an option is what others say, or holds in another case; ``before`` stands before it in its sentence."""
    return own.others.search(own.turns.split(before)[-1]) is not None
