"""How many flows are on one side of the scale, and on the other, beyond chance: a decision over a set of flows.

Each flow has a one-sided p-value over its templates (raters) for either side. "At most ``allowed`` of the n flows are
on the wrong side" is decided from them by partial conjunctions (Benjamini and Heller 2008), which hold however the
flows depend on each other:

- ``p_pass = (allowed + 1) * `` the largest p-value for the right side, the ``allowed`` largest left out: at most that
  many flows may lack evidence. With ``allowed = 0`` every single flow needs it.
- ``p_fail = (n - allowed) * `` the (allowed + 1)-th smallest p-value for the wrong side.

A flow's templates often agree fully, and then nothing in the answers shows how far others could be off. As in
`wordings`, one more template counts that dissents: `wordings.DISSENT` levels on the other side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cinorms.norms.assessment import divide
from cinorms.stats.arrays import Floats, Ints
from cinorms.stats.equivalence import FEWEST, POWER, fewest_enough
from cinorms.stats.wordings import DISSENT


class Sides(NamedTuple):
    """What is known of each flow: mean less the middle in the direction that is wrong, p of being right and wrong."""

    mean: Floats
    p_right: Floats
    p_wrong: Floats
    n_units: Ints


def sides(cells: Floats, middle: float, wrong: int) -> Sides:
    """Return the p-values of each flow (flows x units); ``wrong`` is 1 where above ``middle`` is wrong, else -1."""
    x = (cells - middle) * wrong
    n = (~np.isnan(x)).sum(axis=1)
    mean = divide(np.nansum(x, axis=1), n)
    return Sides(mean, _p_above(-x), _p_above(x), n.astype(np.intp))


def decide(found: Sides, allowed: int) -> tuple[float, float]:
    """Return ``p_pass`` and ``p_fail`` of at most ``allowed`` flows being on the wrong side."""
    n = len(found.mean)
    if allowed >= n:
        return 0.0, 1.0
    p_pass = (allowed + 1) * np.sort(found.p_right)[n - 1 - allowed]
    p_fail = (n - allowed) * np.sort(found.p_wrong)[allowed]
    return min(1.0, float(p_pass)), min(1.0, float(p_fail))


def more_needed(cells: Floats, found: Sides, middle: float, allowed: int, alpha: float) -> int | None:
    """Return how many more templates the flow that holds up the decision needs; None for more than are worth it."""
    from scipy.special import stdtrit

    at = np.argsort(found.p_right)[len(found.mean) - 1 - allowed]
    x, n = cells[at] - middle, int(found.n_units[at])
    if n < 2:
        return FEWEST - n
    mean, spread = abs(float(np.nanmean(x))), float(np.nanstd(x, ddof=1))
    if mean == 0:
        return None

    def enough(number: int) -> bool:
        # With the one that dissents.
        centre = (number * mean - DISSENT) / (number + 1)
        squares = (number - 1) * spread**2 + number * mean**2 + DISSENT**2 - (number + 1) * centre**2
        reach = stdtrit(number, 1 - alpha / (allowed + 1)) + stdtrit(number, POWER)
        return bool(reach * math.sqrt(max(squares, 0.0) / number / (number + 1)) <= centre)

    total = fewest_enough(enough, n)
    return None if total is None else max(total, FEWEST) - n


def _p_above(x: Floats) -> Floats:
    """Return per flow the p-value that its mean is not above 0, with one more unit that dissents."""
    from scipy.special import stdtr

    there = ~np.isnan(x)
    n = there.sum(axis=1) + 1.0
    mean = (np.nansum(x, axis=1) - DISSENT) / n
    squares = np.nansum(x**2, axis=1) + DISSENT**2 - n * mean**2
    error = np.sqrt(np.maximum(squares, 0.0) / np.maximum(n - 1, 1) / n)
    p = stdtr(np.maximum(n - 1, 1), -divide(mean, error))
    return np.where(n - 1 < FEWEST, 1.0, np.where(np.isnan(p), 1.0, p))
