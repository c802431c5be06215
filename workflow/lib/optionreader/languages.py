"""The words of a scale in another language, from its file: what calls an option the answer, denies it, sets it aside.

Texts are in lower case, and a space parts the Latin letters of an option from the letters of other scripts.
"""

import re
from dataclasses import dataclass

from optionreader.cleaning import normalise
from optionreader.patterns import NEVER, any_of
from optionreader.scale import Scale
from optionreader.scale_words import per_scale


@dataclass(frozen=True)
class OwnWords:
    """A pattern for each kind of words in the scale's file; those without any never match."""

    leads: re.Pattern[str]  # before an option that is the answer
    negations: re.Pattern[str]
    denied_after: re.Pattern[str]
    aside: re.Pattern[str]  # before an option that others hold, another case, a first thought
    turns: re.Pattern[str]  # where the reach of these ends
    hedges: re.Pattern[str]
    refusals: re.Pattern[str]
    degrees: frozenset[str]
    joins: frozenset[str]

    def denies(self, before: str, after: str) -> bool:
        """Whether an option is negated by what stands before it, or by what follows it."""
        before = self.turns.split(before)[-1]
        return self.negations.search(before) is not None or self.denied_after.match(after) is not None

    def sets_aside(self, before: str) -> bool:
        """Whether an option is what others say, holds under another condition, or was a first thought."""
        return self.aside.search(self.turns.split(before)[-1]) is not None


@per_scale
def own_words(scale: Scale) -> OwnWords:
    """Return the words of the scale's file."""
    words = {kind: tuple(map(normalise, of_kind)) for kind, of_kind in scale.words}

    def anywhere(kind: str, before: str = "", after: str = "") -> re.Pattern[str]:
        """Return a pattern for any words of a kind: whole words, in scripts that part words with spaces."""
        found = words.get(kind, ())
        return re.compile(before + any_of(*map(_whole, found)) + after) if found else NEVER

    turns = re.compile(any_of(r"[.!?;:\n]", *map(_whole, words.get("turns", ()))))
    return OwnWords(
        leads=anywhere("leads", after=r"[^.;!?\n]{0,30}$"),
        negations=anywhere("negations"),
        denied_after=anywhere("negations", before=r"[^.;:,!?\n]{0,40}?"),  # "somewhat acceptable is this not"
        aside=anywhere("others"),
        turns=turns,
        hedges=anywhere("hedges"),
        refusals=anywhere("refusals"),
        degrees=frozenset(words.get("degrees", ())),
        joins=frozenset(words.get("joins", ())),
    )


def _whole(phrase: str) -> str:
    """Return a pattern for ``phrase`` that does not begin or end inside a word, where spaces part words."""
    pattern = r"\s+".join(map(re.escape, phrase.split()))
    edges = [r"\b" if ord(c) < 0x3040 and c.isalnum() else "" for c in (phrase[0], phrase[-1])]
    return edges[0] + pattern + edges[1]
