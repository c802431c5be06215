"""How often answers to one item in two different wordings agree, and how often they would if nobody read the item.

A U-statistic over pairs of wordings: unbiased for wordings like these, whatever makes the answers; no threshold, no
model. More in README.md.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rewordings.arrays import Bools, Floats, Ints
from rewordings.wordings import jackknife

#: An interval needs at least this many wordings: without one of two, no pair is left.
FEWEST_CONSISTENT = 3


class Consistency(NamedTuple):
    """How often answers to an item in two wordings are on the same side, and at the same level.

    ``low`` and ``high``: the 95% interval of ``same_side`` over wordings like these. ``blind_side``, ``blind_level``:
    the same if the answers of each wording were shuffled between items. ``wordings`` are those with an answer,
    ``items`` those with an answer in two of them, ``pairs`` the pairs of wordings compared, over all items. ``status``:
    ``ok``; ``no_interval`` (two wordings); without numbers ``one_wording`` or ``no_pairs`` (no item has an answer in
    two wordings).
    """

    status: str
    wordings: int
    items: int = 0
    pairs: int = 0
    same_side: float = np.nan
    low: float = np.nan
    high: float = np.nan
    blind_side: float = np.nan
    same_level: float = np.nan
    blind_level: float = np.nan


def consistency(counts: Floats, sides: npt.ArrayLike) -> Consistency:
    """Return the consistency of ``counts``: how often each level was answered, levels x items x wordings.

    ``sides`` has the side of each level. Repeated answers to a wording are averaged; missing ones are no answers. Each
    pair of wordings of an item counts the same, then each item that has a pair.
    """
    level = np.moveaxis(counts / np.maximum(counts.sum(axis=0), 1), 0, 2)  # shares: items x wordings x levels
    there = level.any(axis=2)
    asked, wordings = there.shape[1], int(there.any(axis=0).sum())
    n = there.sum(axis=1)
    if not (n > 1).any():
        return Consistency("one_wording" if asked < 2 else "no_pairs", wordings)
    side = level @ (np.asarray(sides)[:, None] == np.unique(sides)).astype(float)
    same, without = _agreement(side, there)
    found = Consistency(
        "no_interval",
        wordings,
        items=int((n > 1).sum()),
        pairs=int((n * (n - 1) // 2).sum()),
        same_side=same,
        blind_side=_blind(side, there),
        same_level=_agreement(level, there)[0],
        blind_level=_blind(level, there),
    )
    without = without[there.any(axis=0)]
    if wordings < FEWEST_CONSISTENT or np.isnan(without).any():
        return found
    low, high = np.clip(jackknife(same, without)[1:], 0.0, 1.0)
    return found._replace(status="ok", low=float(low), high=float(high))


def _agreement(shares: Floats, there: Bools) -> tuple[float, Floats]:
    """Return the probability that answers in two wordings are equal; and the same without each wording.

    ``shares`` (items x wordings x outcomes) are 0 where there is no answer.
    """
    total, own = shares.sum(axis=1), (shares**2).sum(axis=2)
    equal = (total**2).sum(axis=1) - own.sum(axis=1)  # over ordered pairs of wordings
    of_wording = np.einsum("iwo,io->iw", shares, total) - own
    n = there.sum(axis=1)
    left = n[:, None] - there
    without = _mean_share(equal[:, None] - 2 * of_wording, left * (left - 1))
    return float(_mean_share(equal[:, None], (n * (n - 1))[:, None])[0]), without


def _mean_share(equal: Floats, pairs: Ints) -> Floats:
    """Return the mean of ``equal / pairs`` over the items (rows) that have pairs, NaN where none has."""
    has = pairs > 0
    items = has.sum(axis=0)
    share = np.where(has, equal / np.maximum(pairs, 1), 0.0).sum(axis=0)
    return np.where(items > 0, share / np.maximum(items, 1), np.nan)


def _blind(shares: Floats, there: Bools) -> float:
    """Return what the agreement would be on average if the answers of each wording were shuffled between its items."""
    of_wording = shares.sum(axis=0) / np.maximum(there.sum(axis=0), 1)[:, None]
    equal = of_wording @ of_wording.T
    np.fill_diagonal(equal, 0.0)
    n = there.sum(axis=1)
    compared = n > 1
    of_item = there[compared] / (n * (n - 1))[compared, None]
    weight = of_item.T @ there[compared].astype(float) / compared.sum()  # of each pair of wordings
    return float((weight * equal).sum())
