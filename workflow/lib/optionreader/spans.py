"""Where in a reply, as it was received, is what a rule went by: for people who check a reading."""

import re
from collections.abc import Iterator

from optionreader.cleaning import normalise
from optionreader.languages import own_words
from optionreader.refusals import DECLINES, MACHINE, NEEDS_CONTEXT, PROMPT_SPEECH, SORRY
from optionreader.reply import Reply
from optionreader.rules import IN_ORDER

#: Start and end of a passage.
Span = tuple[int, int]
#: What the rules look for in replies that decline or ask.
_STATED = {"declines": (DECLINES,), "asks_for_context": (NEEDS_CONTEXT,), "disclaims": (MACHINE, SORRY)}
#: Rules that go by words of the reply. The others found nothing to go by.
_BY_WORDS = {rule.__name__ for rule in IN_ORDER} - {
    *("engine_error", "empty", "no_words", "no_option", "cut_off", "unfinished_thinking", "cut_option")
}
#: Most marks of a reply, and letters of the context by which a passage is found again.
_MOST, _CONTEXT = 40, 40
#: How often a passage is looked for: a reply of one letter repeated has it everywhere.
_TRIES = 1000


def find_spans(reply: Reply, rule: str, level: int | None) -> list[Span]:
    """Return the passages of ``reply.raw`` that ``rule`` went by: every place that names the option it took.

    Without a level: the options between which it did not choose, or the words that decline or ask.
    """
    if rule not in _BY_WORDS:
        return []
    passages = list(dict.fromkeys(_in_body(reply, rule, level)))[-_MOST:]
    letters = _letters(reply.raw) if passages else ("", [])
    found = {_found_again(reply, passage, *letters) for passage in passages}
    return sorted(span for span in found if span is not None)


def _in_body(reply: Reply, rule: str, level: int | None) -> list[Span]:
    if rule in _STATED:
        own = own_words(reply.scale)
        patterns = (*_STATED[rule], own.refusals if rule == "declines" else own.hedges)
        text = PROMPT_SPEECH.sub(lambda said: " " * len(said[0]), reply.body.replace("\n", " "))
        return [match.span() for pattern in patterns if (match := pattern.search(text)) and match[0]]
    if level is None:
        named = reply.candidates or reply.mentions
        return [(part.start, part.end) for part in named or (w for w in reply.words if w.scale_word)]
    mentions = [m for m in reply.mentions if m.option == reply.scale.levels.index(level)]
    chosen = [m for m in mentions if m.candidate] or mentions
    # Without a mention the whole answer is a number, or an option as the scale has it.
    return [(m.start, m.end) for m in chosen] or [(0, len(reply.body))]


def _letters(raw: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text in plain form, each with its place in the text."""
    pairs = [(c, at) for at, sign in enumerate(raw) for c in normalise(sign) if c.isalnum()]
    return "".join(c for c, _ in pairs), [at for _, at in pairs]


def _found_again(reply: Reply, passage: Span, letters: str, places: list[int]) -> Span | None:
    """Return where a passage of the body is in the raw text: of equal ones where the same text is around it.

    The body is the raw text in plain letters without some of its parts, so letters and digits are compared.
    """
    start, end = passage
    parts = (reply.body[:start], reply.body[start:end], reply.body[end:])
    before, wanted, after = (re.sub(r"[\W_]+", "", part) for part in parts)
    best, score = None, -1
    for at in _occurrences(letters, wanted) if wanted else ():
        beyond = at + len(wanted)
        alike = _common(letters[max(0, at - _CONTEXT) : at][::-1], before[-_CONTEXT:][::-1])
        alike += _common(letters[beyond : beyond + _CONTEXT], after[:_CONTEXT])
        if alike >= score:  # of equal ones the last: what is left out is mostly before the answer
            best, score = at, alike
    if best is None:
        return None
    first = places[best]
    # The sign of a number is no letter.
    signed = reply.body[start] == "-" and first > 0 and normalise(reply.raw[first - 1]) == "-"
    return first - signed, places[best + len(wanted) - 1] + 1


def _occurrences(text: str, part: str) -> Iterator[int]:
    at = -1
    for _ in range(_TRIES):
        at = text.find(part, at + 1)
        if at < 0:
            return
        yield at


def _common(one: str, other: str) -> int:
    """Return how many letters two texts begin with alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
