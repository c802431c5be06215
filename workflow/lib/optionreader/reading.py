"""Read one text: the first rule that decides."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from optionreader.patterns import lazy
from optionreader.reply import Reply
from optionreader.rules import IN_ORDER
from optionreader.scale import Scale
from optionreader.spans import Span, find_spans

#: Why there is a level, or none.
STATUSES = (
    *("ok", "refusal", "needs_context", "nonsense", "conditional", "ambiguous"),
    *("empty", "truncated", "error"),
)
#: What each rule does, in their order.
RULES = {rule.__name__: str(rule.__doc__).partition("\n")[0] for rule in IN_ORDER}


@dataclass(frozen=True)
class Reading:
    """What was read in one text: a level (only with status ``ok``), a status, and the rule that decided.

    ``cases`` are those of a conditional reply: each condition in its words, with the level of its verdict.
    """

    level: int | None
    status: str
    rule: str
    cases: tuple[tuple[str, int], ...] = ()
    _reply: Reply | None = field(default=None, repr=False, compare=False)

    @property
    def spans(self) -> list[Span]:
        """Start and end of the passages of the text that the rule went by; computed at every use."""
        return [] if self._reply is None else find_spans(self._reply, self.rule, self.level)


def read(
    text: str | None,
    scale: Scale,
    *,
    finish_reason: str = "stop",
    prompt: Iterable[str] = (),
    reasoning_apart: bool = False,
) -> Reading:
    """Read which option of ``scale`` a reply chooses, by the first of `RULES` that decides.

    Parameters
    ----------
    text
        The reply as it was received; ``None`` (no reply) is an error. No text raises.
    scale
        The options that were offered.
    finish_reason
        Why the model ended: ``length`` for a limit of tokens, ``error`` for a failed request, else ``stop``.
    prompt
        The fixed parts of the prompt (see `fixed_parts`): where the text repeats them they are no answer.
    reasoning_apart
        Whether the model's reasoning is kept elsewhere, so that a stray mark of its end says nothing.

    """
    if text is None:
        return Reading(None, "error", "no_text")
    parts = (text, scale, finish_reason, frozenset(prompt), reasoning_apart)
    reply = Reply(*parts)
    for rule in IN_ORDER:
        verdict = rule(reply)
        if verdict is not None:
            level, status = (None, verdict) if isinstance(verdict, str) else (verdict, "ok")
            cases = _named_cases(reply) if status == "conditional" else ()
            # A new reply, as this one holds all that was computed.
            return Reading(level, status, rule.__name__, cases, Reply(*parts))
    raise AssertionError("the last rule decides")  # pragma: no cover


# --- Replies that give a verdict for each of several cases

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


def _named_cases(reply: Reply) -> tuple[tuple[str, int], ...]:
    """Return each case that ``reply`` names with the level of its verdict; a case without words is ""."""
    verdicts, body = [reply.mentions[number] for number in reply.classified.cases], reply.body
    ends = [0, *(m.end for m in verdicts)]
    starts = [*(m.start for m in verdicts), len(body)]
    gaps = [body[end:start] for end, start in zip(ends, starts, strict=True)]
    cases = []
    for number, mention in enumerate(verdicts):
        before, after = gaps[number], re.split(r"[.!?;]\s|\n", gaps[number + 1])[0]
        # In "X if it is sold and Y if it is kept" the condition follows each verdict, as it does the first.
        follows = not _said_before(number, gaps) and _CONDITION.search(after)
        words = (_last(after, first=True) if follows else "") or _last(before) or _last(after, first=True)
        words = _LEADS_ON.sub("", words or re.split(r"[.!?;\n]", before)[-1]).strip(_EDGES)
        level = reply.scale.levels[mention.option]
        cases.append((words[:_LONGEST].rpartition(" ")[0] if len(words) > _LONGEST else words, level))
    return tuple(cases)


def _said_before(number: int, gaps: list[str]) -> bool:
    """Whether the sentence of a verdict has the condition of its first verdict before it."""
    while number and not re.search(r"[.!?;]\s|\n", gaps[number]):
        number -= 1
    return _CONDITION.search(re.split(r"[.!?;]\s|\n", gaps[number])[-1]) is not None


def _last(text: str, first: bool = False) -> str:
    """Return the last condition that ``text`` names, or the first; "" for none."""
    conditions = [match[0].strip(_EDGES) for match in _CONDITION.finditer(text)]
    return conditions[0 if first else -1] if conditions else ""
