"""How much differs between two askings of the same prompts, and whether two sides differ by more than that.

Every further asking is compared with the first. A share of answers has an interval over templates (and over flows, if
they are a sample), as all estimates over wordings (`wordings.mean_interval`). Where no answer differs, or all do, that
interval has no width: then, and for norms, of which there is one per flow, it is Wilson's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cinorms.stats.proportions import wilson
from cinorms.stats.wordings import FEWEST, mean_interval, template_means


class Share(NamedTuple):
    """A share of the ``n`` values that both askings (or both sides) have; NaN where there is none, or no interval."""

    share: float
    low: float
    high: float
    n: int


def differing(first: pd.DataFrame, again: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return in which share of the askings ``again`` a value is not that of the ``first``, for each value.

    An asking that lacks a value, or has it where the first does not, says nothing about it; NaN where none says
    anything.
    """
    base = first.to_numpy(dtype=np.float64)
    others = np.stack([each.reindex_like(first).to_numpy(dtype=np.float64) for each in again])
    both = ~np.isnan(others) & ~np.isnan(base)
    n = both.sum(axis=0)
    share = np.where(n > 0, ((others != base) & both).sum(axis=0) / np.maximum(n, 1), np.nan)
    return pd.DataFrame(share, index=first.index, columns=first.columns)


def answers_differ(cells: pd.DataFrame, templates: pd.Series, fixed_flows: bool) -> Share:
    """Return the share of answers that differ; ``cells`` is `differing` of flows x variants."""
    x = cells.to_numpy()
    n = int((~np.isnan(x)).sum())
    if not n:
        return Share(np.nan, np.nan, np.nan, 0)
    by_template = template_means(cells, templates)
    there = ~np.isnan(by_template)
    share = float(np.nanmean(by_template))
    if 0 < share < 1 and there.any(axis=0).sum() < FEWEST:
        return Share(share, np.nan, np.nan, n)
    if not 0 < share < 1 or (not fixed_flows and there.any(axis=1).sum() < FEWEST):
        return _wilson(share, n)
    _, _, low, high = mean_interval(by_template, fixed_flows)
    return Share(share, max(low, 0.0), min(high, 1.0), n)


def norms_differ(cells: pd.DataFrame) -> Share:
    """Return the share of norms that differ; ``cells`` is `differing` of one column, a row per flow."""
    x = cells.to_numpy().ravel()
    n = int((~np.isnan(x)).sum())
    return _wilson(float(np.nanmean(x)), n) if n else Share(np.nan, np.nan, np.nan, 0)


def status_above(between: Share, of_sides: Sequence[Share | None]) -> str:
    """Return whether two sides differ by more than the askings of one; ``of_sides`` has None for one not repeated.

    ``not_above``: by no more than the upper end of the interval of some side, so this alone may be the reason.
    """
    if not between.n:
        return "nothing_compared"
    known = [each for each in of_sides if each is not None and each.n]
    if not known:
        return "not_repeated"
    if between.share <= highest(known).high or between.share <= highest(known).share:
        return "not_above"
    return "above" if len(known) == len(of_sides) else "one_side_repeated"


def highest(known: Sequence[Share]) -> Share:
    """Return the share whose interval reaches highest: the larger noise decides."""
    return max(known, key=lambda each: each.share if np.isnan(each.high) else each.high)


def _wilson(share: float, n: int) -> Share:
    return Share(share, *wilson(share, n), n)
