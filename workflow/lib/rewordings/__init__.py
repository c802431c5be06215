"""Would other wordings give the same verdict? Consistency and recurrence of answers to items in several wordings."""

from rewordings.fresh import FEWEST_ITEMS, FEWEST_WORDINGS, WIDEST, Recurrence, recurrence
from rewordings.pairs import FEWEST_CONSISTENT, Consistency, consistency
from rewordings.rule import (
    Consensus,
    Majority,
    Rule,
    Verdicts,
    levels_held,
    reasons,
    verdicts_of,
    verdicts_of_parts,
)
from rewordings.wordings import (
    CONFIDENCE,
    ENOUGH,
    FEWEST,
    MOST_GROUPS,
    Worth,
    groups,
    interval,
    jackknife,
    quantile,
    worth_of,
)

__all__ = [
    "CONFIDENCE",
    "ENOUGH",
    "FEWEST",
    "FEWEST_CONSISTENT",
    "FEWEST_ITEMS",
    "FEWEST_WORDINGS",
    "MOST_GROUPS",
    "WIDEST",
    "Consensus",
    "Consistency",
    "Majority",
    "Recurrence",
    "Rule",
    "Verdicts",
    "Worth",
    "consistency",
    "groups",
    "interval",
    "jackknife",
    "levels_held",
    "quantile",
    "reasons",
    "recurrence",
    "verdicts_of",
    "verdicts_of_parts",
    "worth_of",
]
