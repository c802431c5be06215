"""The study's verdict on a flow, from counts of answers: the level that it holds, or none.

A verdict on part of the variants asks for the same part of ``t_val``; on all of them it is the verdict of
``cinorms.norms.assessment``. Answers are positions on the scale; one further position is that of an invalid answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinorms.norms.assessment import fewest_valid
from cinorms.norms.thresholds import Thresholds

Ints = npt.NDArray[np.intp]
#: Codes of a variant that was not asked of a flow.
NOT_ASKED = -1


def count(codes: Ints, n_levels: int) -> Ints:
    """Return how often each row of ``codes`` has each level and, last, an invalid answer."""
    return np.stack([(codes == code).sum(axis=1) for code in range(n_levels + 1)], axis=1)


def first_met(codes: Ints, n_levels: int, rank: Ints) -> Ints:
    """Return for each level the lowest ``rank`` of a variant in which a flow answered it; ``len(rank)`` if none."""
    met = [
        np.where(codes == level, rank, len(rank)).min(axis=1, initial=len(rank)) for level in range(n_levels)
    ]
    return np.stack(met, axis=1)


def verdict(counts: Ints, n_variants: int, thresholds: Thresholds, first: Ints) -> Ints:
    """Return the position of the level that is held, or the number of levels where none is.

    ``counts`` has the levels and then invalid answers on its last axis. ``first`` (see `first_met`) settles ties
    under ``papers``: the level met first wins.
    """
    levels = counts[..., :-1]
    n_levels = levels.shape[-1]
    n_valid, n_asked, top = levels.sum(axis=-1), counts.sum(axis=-1), levels.max(axis=-1)
    at_top = levels == top[..., None]
    if thresholds.t_maj == "plurality":
        held = np.ones(n_valid.shape, dtype=bool)
    elif thresholds.consensus == "papers":
        held = top >= np.rint(thresholds.t_maj * n_valid)
    else:
        held = top >= thresholds.t_maj * n_valid - 1e-9
    held &= (n_valid >= fewest_valid(thresholds.t_val, n_asked, n_variants)) & (n_valid > 0)
    if thresholds.consensus == "papers":
        chosen = np.where(at_top, first, np.iinfo(np.intp).max).argmin(axis=-1)
    else:
        held &= at_top.sum(axis=-1) == 1
        chosen = at_top.argmax(axis=-1)
    return np.asarray(np.where(held, chosen, n_levels), dtype=np.intp)
