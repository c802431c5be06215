"""Which option of an answer scale a language model's reply chooses, or why none: see README.md."""

from optionreader.cleaning import after_thinking, fixed_parts, normalise
from optionreader.reading import RULES, STATUSES, Reading, read
from optionreader.refusals import declined
from optionreader.rules import EXACT_RULES, LOOSE_RULES
from optionreader.scale import MOST_OPTIONS, SHIPPED, Line, Scale, ScaleError

__all__ = [
    "EXACT_RULES",
    "LOOSE_RULES",
    "MOST_OPTIONS",
    "RULES",
    "SHIPPED",
    "STATUSES",
    "Line",
    "Reading",
    "Scale",
    "ScaleError",
    "after_thinking",
    "declined",
    "fixed_parts",
    "normalise",
    "read",
]
