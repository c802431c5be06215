"""The rules for words that look like an option and are none: "strictly acceptable", "acceptable" alone."""

from __future__ import annotations

import re
from itertools import pairwise

from cinorms.answers.reading.asked_text import AskedText, Verdict, plain
from cinorms.answers.reading.words import ADVERBS, FUNCTION_WORDS, Token, heads_and_tails, vocabulary
from cinorms.core.scales import SCALES


def wrong_scale_word(asked: AskedText) -> Verdict | None:
    """Call it nonsense where a word is not on the scale ("strictly acceptable") or from another scale."""
    _, tails = heads_and_tails(asked.scale)
    for before, word in pairwise(asked.words):
        adverb = before.text.endswith("ly") or before.text in ADVERBS
        short = len(asked.words) <= 3 and before.text not in FUNCTION_WORDS
        if word.text in tails and before.scale_word is None and (adverb or short):
            return "nonsense", None
    others = (o for s in SCALES.values() for o in s.options if o not in asked.scale.options)
    text = plain(asked.body)
    return ("nonsense", None) if any(o in text for o in others) else None


def half_option(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where strength or direction is missing: "acceptable", "somewhat"."""
    _, tails = heads_and_tails(asked.scale)
    if any(w.text in tails and not _asked(asked.body, w) for w in asked.words):
        return "ambiguous", None
    alone = len(asked.words) == 1 and asked.words[0].text in vocabulary(asked.scale)
    return ("ambiguous", None) if alone and not asked.cut else None


_QUESTION = re.compile(r"\b(?:how|extent|degree|level|what|whether)\b[^.!?\n]*$")


def _asked(body: str, word: Token) -> bool:
    """Whether the word belongs to the question: "how acceptable", "to what extent is this acceptable"."""
    return _QUESTION.search(body[max(0, word.start - 160) : word.start]) is not None
