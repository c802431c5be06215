"""Letters and numbers that a text itself gives the options."""

from __future__ import annotations

import re

from cinorms.answers.reading.asked_text import AskedText, Verdict
from cinorms.answers.reading.patterns import any_of
from cinorms.answers.reading.scale_words import is_numeric, option_words, per_scale
from cinorms.answers.reading.verdicts import level_verdict
from cinorms.core.scales import Scale


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
        return "ambiguous", None
    chosen = {option for symbol in chosen_symbol.findall(asked.body) for option in options.get(symbol, ())}
    stated = {m.option for m in asked.candidates}
    if stated and chosen and not chosen & stated:
        return "ambiguous", None
    # Reasons that follow could contradict the letter, so nothing may.
    last = list(chosen_symbol.finditer(asked.body))[-1:]
    whole = len(options) == len(asked.scale.options) and all(m.listed for m in asked.mentions)
    ends = bool(last) and not re.search(r"\w", asked.body[last[0].end() :])
    return level_verdict(asked, next(iter(chosen))) if whole and ends and len(chosen) == 1 else None
