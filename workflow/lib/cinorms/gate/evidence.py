"""Whether enough of what was asked has an answer on each side for any verdict, and what is said where it has not."""

from collections.abc import Callable
from typing import Any

import numpy as np

from cinorms.core.arrays import Bools
from cinorms.core.labels import percent
from cinorms.gate.side import Matched, Side

#: Shares that are equal may differ in their last digits.
_ROUNDING = 1e-9


def too_thin(matched: Matched, rows: Bools, answered: float, judges: Callable[[Side], Bools] | None) -> str:
    """Say what too few have answered for a verdict on the flows ``rows``; nothing where there is enough.

    ``answered`` is the share that is needed. ``judges`` tells which answers of a side the claim can judge; None where
    it counts those that it cannot.
    """
    sides = matched.base, matched.new
    for part in (slice(None), rows):
        for side in sides:
            if thin := few_answers(side, answered, part):
                return thin
        base, new = (side.answers.part(part) for side in sides)
        # What is missing on one side is missing in the comparison.
        what = "questions have an answer on both sides"
        if matched.same_orders:
            both = np.asarray((base.given & new.given)[(base.status >= 0) & (new.status >= 0)])
            if thin := too_few(both, answered, what):
                return thin
    if judges is None:
        return ""
    had, has = (judges(side)[rows] for side in sides)
    flows = np.asarray(had.any(axis=(1, 2)) & has.any(axis=(1, 2)))
    if thin := too_few(flows, answered, "flows have answers on both sides that this claim can judge"):
        return thin
    before, now = (
        float(x[side.answers.given[rows]].mean()) for x, side in zip((had, has), sides, strict=True)
    )
    if now < answered * before - _ROUNDING:
        return (
            f"this claim can judge {percent(now, 1)} of the new answers and {percent(before, 1)} of the base's; the "
            f"new share needs to be {percent(answered)} of the base's (answered)"
        )
    return ""


def few_answers(side: Side, answered: float, rows: Any = slice(None)) -> str:
    """Say that a side answered too few of its questions about the flows ``rows``; nothing where it did not."""
    answers = side.answers.part(rows)
    what = f"questions to {side.address.name} have an answer"
    return too_few(answers.given[answers.status >= 0], answered, what)


def too_few(there: Bools, answered: float, what: str) -> str:
    """Say that too few are ``there``; nothing where there are enough."""
    share = float(np.mean(there)) if there.size else 0.0
    if share >= answered - _ROUNDING:
        return ""
    return f"only {percent(share, 1)} of the {there.size:,} {what}; a verdict needs {percent(answered)} (answered)"
