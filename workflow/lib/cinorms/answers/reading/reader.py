"""Reading one text: which option of the scale a model chose, or why that cannot be said."""

from __future__ import annotations

from dataclasses import dataclass

from cinorms.answers.reading.asked_text import AskedText
from cinorms.answers.reading.normalise import fixed_wording
from cinorms.answers.reading.rules import EXACT_RULES, RULES
from cinorms.core.errors import ConfigError
from cinorms.core.scales import Scale
from cinorms.prompts.orders import DIGITS

__all__ = ["EXACT_RULES", "OFFERED", "RULES", "Reading", "check_offer", "fixed_wording", "read_text"]

#: What a prompt can offer as answers beside the options' own words.
OFFERED = ("words", "letters", "numbers")


@dataclass(frozen=True)
class Reading:
    """What was read out of one text: a level (only with status ``ok``), a status, the rule that decided."""

    level: int | None
    status: str
    rule: str


def read_text(
    text: str | None,
    scale: Scale,
    finish_reason: str = "stop",
    offered: str = "words",
    prompt_words: frozenset[str] = frozenset(),
    order: str | None = None,
    apart: bool = False,
) -> Reading:
    """Read the level out of ``text``, by the first of ``RULES`` that decides.

    ``offered`` says what the prompt let the model answer with; letters and numbers stand for positions, and
    ``order`` holds the option (index into ``scale.options``, 0 the lowest, ``a`` the eleventh) shown at each position;
    without it the options are shown lowest first.
    ``prompt_words`` are the fixed wordings of the prompt: where the text repeats them, they are not its
    answer. ``apart`` says that the trace of a model that reasons is kept elsewhere. A missing text is an error. Never
    raises on any text; ConfigError where ``offered`` or ``order`` is impossible.
    """
    if order is None:
        order = DIGITS[: len(scale.options)]
    check_offer(scale, offered, order)
    if text is None:
        return Reading(None, "error", "no_text")
    asked = AskedText(text, scale, finish_reason, offered, prompt_words, order, apart)
    for rule in RULES:
        verdict = rule(asked)
        if verdict is not None:
            status, level = verdict
            return Reading(level, status, rule.__name__)
    raise AssertionError("the last rule decides")  # pragma: no cover


def check_offer(scale: Scale, offered: str, order: str) -> None:
    """Insist that ``offered`` is known and ``order`` holds each option of ``scale`` once."""
    if offered not in OFFERED:
        raise ConfigError(f"offered is '{offered}'; allowed: {', '.join(OFFERED)}")
    if offered == "words":
        return
    if scale.line is not None:
        raise ConfigError(
            f"offered is '{offered}'; {scale.name} is a number line, which is answered with a number: allowed: words"
        )
    signs = DIGITS[: len(scale.options)]
    if "".join(sorted(order)) != signs:
        raise ConfigError(
            f"order is '{order}'; where {offered} were offered it must hold each of the digits 0 to {signs[-1]} once, "
            "the option at each shown position"
        )
