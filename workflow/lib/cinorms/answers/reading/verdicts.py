"""What an option that was found says: a level, or why there is none."""

from __future__ import annotations

from cinorms.answers.reading.asked_text import AskedText, Verdict
from cinorms.answers.reading.words import OFF, OPEN


def level_verdict(asked: AskedText, option: int) -> Verdict:
    """Return the verdict that this option was chosen; an unclear one is ambiguous, a number off the scale nonsense."""
    if option == OPEN:
        return "ambiguous", None
    return ("nonsense", None) if option == OFF else ("ok", asked.scale.levels[option])
