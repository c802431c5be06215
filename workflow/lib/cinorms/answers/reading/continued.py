"""Where a text goes on with other questions and their answers, as models do that continue a questionnaire."""

from __future__ import annotations

import re

from cinorms.answers.reading.patterns import any_of
from cinorms.answers.reading.scale_words import is_numeric, option_words, per_scale
from cinorms.core.scales import Scale

#: The first line of another question.
_NEXT = re.compile(
    r"\n[^\w\n]*"
    + any_of(
        r"(?:(?:next|another|follow-?up|second) )?(?:question|q)\b[^\n:]{0,8}[:.\n]",
        r"(?:scenario|vignette|situation|item|flow|example|case) \d+\b",
        r"(?:interviewer|researcher|moderator|experimenter)\W{0,3}:",
        r"[^\n]*\bhow (?:un)?acceptable\b[^\n]*\?",
        r"\d{1,2}[.)] [^\n]+\n[^\w\n]*(?:answer|response|rating|a)\W{0,3}:",
    )
)
_WORDS_BEFORE = (
    r"(?:(?:my|the|your|final|answer|rating|response|verdict|a|is|it|i|i'd|would|say|choose|\d)[\W_]+)"
)


@per_scale
def _opens_with_answer(scale: Scale) -> re.Pattern[str]:
    """Return a pattern for the beginning of a text that answers at once."""
    named = [r"[\W_]+".join(map(re.escape, words)) for words in option_words(scale) if words]
    options = any_of(*named, *([r"-?\d+"] if is_numeric(scale) else []))
    return re.compile(
        rf"[\W_]*(?:{_WORDS_BEFORE}{{0,5}}{options}\b(?![\"'*_)\]]*,? ?(?:i|was|is|were|would|might|could)\b)"
        rf"|(?:answer|response|rating|a)\W{{0,3}}:)"
    )


def first_answer(text: str, scale: Scale) -> str:
    """Return ``text`` up to the next question, where it answers at once and then goes on to ask others."""
    if "\n" not in text or _opens_with_answer(scale).match(text) is None:
        return text
    following = _NEXT.search(text)
    return text[: following.start()] if following else text
