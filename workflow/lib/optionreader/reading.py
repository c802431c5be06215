"""Read one text: the first rule that decides."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from optionreader.cases import named_cases
from optionreader.reply import Reply
from optionreader.rules import IN_ORDER
from optionreader.scale import Scale
from optionreader.spans import Span, find_spans

#: Why there is a level, or none.
STATUSES = (
    *(
        "ok",
        "refusal",
        "needs_context",
        "nonsense",
        "conditional",
        "ambiguous",
        "empty",
        "truncated",
        "error",
    ),
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
    given = (text, scale, finish_reason, frozenset(prompt), reasoning_apart)
    reply = Reply(*given)
    for rule in IN_ORDER:
        verdict = rule(reply)
        if verdict is not None:
            level, status = (None, verdict) if isinstance(verdict, str) else (verdict, "ok")
            cases = named_cases(reply) if status == "conditional" else ()
            # A new reply, as this one holds all that was computed.
            return Reading(level, status, rule.__name__, cases, Reply(*given))
    raise AssertionError("the last rule decides")  # pragma: no cover
