"""How many raters and flows a survey of people needs, from the variances of a pilot (or of another survey).

A rating is a flow's part, the rater's (how strict a person is everywhere), and the rest (this person on this flow).
Every rater rates ``per_rater`` of the flows, drawn at random so that all flows have equally many raters, to within
one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from cinorms.stats import reliability

#: What a survey can be about, with the words for it.
TARGETS = {
    "flow": "mean of one flow",
    "overall": "mean of all flows",
    "level": "difference between two levels of a factor",
    "group": "distance of another group of as many people, per flow",
}


class Variances(NamedTuple):
    """The parts of a rating's variance; ``status`` as of `reliability.variance_shares`, of the first one missing."""

    flow: float
    rater: float
    rest: float
    status: str = "ok"


def variances(levels: pd.DataFrame, raters: pd.Series[Any]) -> Variances:
    """Return the variances of a pilot; ``levels``: flows x ratings, ``raters``: the rater of each column."""
    shares = reliability.variance_shares(levels, raters)
    missing = shares.loc[shares["variance"].isna() & (shares["source"] != "order"), "status"]
    if len(missing):
        return Variances(np.nan, np.nan, np.nan, str(missing.iloc[0]))
    flow, rater, both, order = shares["variance"].fillna(0.0).clip(lower=0.0)
    return Variances(flow, rater, both + order)


def errors(parts: Variances, raters: int, per_rater: int, flows: int, levels: int = 2) -> dict[str, float]:
    """Return the standard error of each of `TARGETS` for a design.

    ``flows``: the flows of the design; ``levels``: the levels of the factor of the target ``level``. Flows that nobody
    rates leave their own variance in the mean of all flows and in the levels.
    """
    ratings = raters * per_rater
    per_flow = max(ratings / flows, 1.0)
    unrated = max(1 - ratings / flows, 0.0)
    each = parts.rater + parts.rest
    between = parts.rest + parts.flow * unrated
    return {
        "flow": math.sqrt(each / per_flow),
        "overall": math.sqrt(parts.rater / raters + between / ratings),
        "level": math.sqrt(2 * levels * between / ratings),
        "group": math.sqrt(2 * each / per_flow),
    }


def design_table(
    parts: Variances, raters: Sequence[int], per_rater: Sequence[int], flows: int, levels: int = 2
) -> pd.DataFrame:
    """Return the standard errors of every design: raters, per_rater, ratings, raters_per_flow, and `TARGETS`.

    Designs in which a rater would rate more flows than there are get no row.
    """
    rows = [
        {"raters": n, "per_rater": k, "ratings": n * k, "raters_per_flow": n * k / flows}
        | errors(parts, n, k, flows, levels)
        for n in raters
        for k in per_rater
        if k <= flows
    ]
    names = ["raters", "per_rater", "ratings", "raters_per_flow", *TARGETS]
    return pd.DataFrame(rows, columns=names).assign(status=parts.status)


def needed(
    parts: Variances, target: str, error: float, per_rater: int, flows: int, levels: int = 2
) -> int | None:
    """Return the raters that give ``target`` a standard error of at most ``error``; None without variances."""
    if math.isnan(parts.rest):
        return None
    low, high = 0, 1
    while errors(parts, high, per_rater, flows, levels)[target] > error:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        too_few = errors(parts, middle, per_rater, flows, levels)[target] > error
        low, high = (middle, high) if too_few else (low, middle)
    return high
