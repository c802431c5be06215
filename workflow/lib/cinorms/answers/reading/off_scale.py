"""The rules for words that look like an option and are none: "strictly acceptable", "acceptable" alone."""

from __future__ import annotations

import re
from itertools import pairwise

from cinorms.answers.reading.asked_text import AskedText, Verdict, plain
from cinorms.answers.reading.languages import own_words
from cinorms.answers.reading.named import ADVERBS, FUNCTION_WORDS
from cinorms.answers.reading.normalise import normalise
from cinorms.answers.reading.patterns import WORD
from cinorms.answers.reading.scale_words import heads_and_tails, option_texts, per_scale, vocabulary
from cinorms.answers.reading.words import Token
from cinorms.core.scales import PAPERS, Scale, papers_scale


def wrong_scale_word(asked: AskedText) -> Verdict | None:
    """Call it nonsense where a word is not on the scale ("strictly acceptable") or from another scale."""
    _, tails = heads_and_tails(asked.scale)
    degrees = ADVERBS | own_words(asked.scale).degrees
    for before, word in pairwise(asked.words):
        adverb = before.text.endswith("ly") or before.text in degrees
        short = len(asked.words) <= 3 and before.text not in FUNCTION_WORDS
        if word.text in tails and before.scale_word is None and (adverb or short):
            return "nonsense", None
    text = plain(asked.body)
    return ("nonsense", None) if any(o in text for o in _other_options(asked.scale)) else None


@per_scale
def _other_options(scale: Scale) -> tuple[str, ...]:
    """Return the options of the papers' scales that ``scale`` lacks: models know them from other surveys."""
    known = option_texts(scale)
    return tuple(
        option
        for name in PAPERS
        for option in papers_scale(name).options
        if option not in known and (" " in option or scale.language == "English")
    )


def half_option(asked: AskedText) -> Verdict | None:
    """Call it ambiguous where strength or direction is missing: "acceptable", "somewhat"."""
    _, tails = heads_and_tails(asked.scale)
    if asked.scale.line is not None:
        ends = {
            word for end in asked.scale.line.ends for word in WORD.findall(normalise(end)) if len(word) > 3
        }
        return ("ambiguous", None) if any(w.text in ends for w in asked.words) else None
    if any(w.text in tails and not _asked(asked.body, w) for w in asked.words):
        return "ambiguous", None
    alone = len(asked.words) == 1 and asked.words[0].text in vocabulary(asked.scale)
    return ("ambiguous", None) if alone and not asked.cut else None


_QUESTION = re.compile(r"\b(?:how|extent|degree|level|what|whether)\b[^.!?\n]*$")


def _asked(body: str, word: Token) -> bool:
    """Whether the word belongs to the question: "how acceptable", "to what extent is this acceptable"."""
    return _QUESTION.search(body[max(0, word.start - 160) : word.start]) is not None
