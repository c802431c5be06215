"""Replies that give a verdict for each of several cases: which cases they name."""

import re

from optionreader.patterns import lazy
from optionreader.reply import Reply
from optionreader.words import Mention

#: The words that begin a condition, and what follows up to the verdict on it.
_CONDITION = lazy(
    r"\b(?:(?:otherwise|elsewhere|else|if (?:so|not|yes|no)|when not)\b"
    r"|(?:if|unless|when|whenever|where|once|provided|providing|assuming|suppos\w+|given|without|with|absent|lacking"
    r"|should|were|had|as (?:long|soon)|so long|until|except|only|in|on|under|for|to|used|shared|sent|among|whereas"
    r"|while|did|does|during|before|after|by|is)\b(?: [^\s.,:;!?]+){1,2}.*?"
    r"(?=[,:;?!\n(]|\.(?!\w)| - |\bthen\b|\b(?:this|it|that|the \w+) (?:is|would|becomes)\b"
    r"|\b(?:it's|that's|i'd|i'll|i (?:would|rate|find|call|choose|say|think|see))\b|\b(?:and|but|or|my \w+ is)\W*$|$))"
)
_EDGES = " \n\t,.:;!?-*_#|()[]\"'"
#: What only leads on to the verdict.
_LEADS_ON = lazy(
    r"\W*\b(?:(?:this|it|that)(?: is|'s)|and|but|or|with|then|i(?:'d| would) (?:say|rate it))\W*$"
)
#: Longest condition that is kept, in characters.
_LONGEST = 100


def named_cases(reply: Reply) -> tuple[tuple[str, int], ...]:
    """Return each case that ``reply`` names with the level of its verdict; a case without words is ""."""
    found, body = [reply.mentions[number] for number in reply.classified.cases], reply.body
    ends = [0, *(m.end for m in found)]
    starts = [*(m.start for m in found), len(body)]
    gaps = [body[end:start] for end, start in zip(ends, starts, strict=True)]
    cases = []
    for number, mention in enumerate(found):
        before, after = gaps[number], re.split(r"[.!?;]\s|\n", gaps[number + 1])[0]
        # In "X if it is sold and Y if it is kept" the condition follows each verdict, as it does the first.
        follows = not _said_before(found, number, gaps) and _CONDITION.search(after)
        words = (_last(after, first=True) if follows else "") or _last(before) or _last(after, first=True)
        words = _LEADS_ON.sub("", words or re.split(r"[.!?;\n]", before)[-1]).strip(_EDGES)
        level = reply.scale.levels[mention.option]
        cases.append((words[:_LONGEST].rpartition(" ")[0] if len(words) > _LONGEST else words, level))
    return tuple(cases)


def _said_before(found: list[Mention], number: int, gaps: list[str]) -> bool:
    """Whether the sentence of a verdict has the condition of its first verdict before it."""
    while number and not re.search(r"[.!?;]\s|\n", gaps[number]):
        number -= 1
    return _CONDITION.search(re.split(r"[.!?;]\s|\n", gaps[number])[-1]) is not None


def _last(text: str, first: bool = False) -> str:
    """Return the last condition that ``text`` names, or the first; "" for none."""
    found = [match[0].strip(_EDGES) for match in _CONDITION.finditer(text)]
    return found[0 if first else -1] if found else ""
