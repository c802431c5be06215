"""The verdict on what was asked of a flow so far: the level that it holds, or none.

A verdict on part of the variants asks for the same part of ``t_val``, on all of them it is the verdict of
``cinorms.norms.assessment``. Answers are positions on the scale; one further position is that of an invalid answer.
"""

import numpy as np
import numpy.typing as npt

from cinorms.norms.assessment import fewest_valid, reasons
from cinorms.norms.thresholds import Thresholds

Ints = npt.NDArray[np.intp]

#: Variants of the first round, the block that every flow is asked. Each further round asks for one.
BLOCK = 3
#: Codes of a variant that was not asked of a flow.
NOT_ASKED = -1
#: Fewest flows of a pilot: from fewer, nobody learns what the predicted risks are worth.
LEAST_PILOT = 100


def count(codes: Ints, n_levels: int) -> Ints:
    """Return how often each row of ``codes`` has each level and, last, an invalid answer."""
    return np.stack([(codes == code).sum(axis=1) for code in range(n_levels + 1)], axis=1)


def first_met(codes: Ints, n_levels: int, rank: Ints) -> Ints:
    """Return for each level the lowest ``rank`` of a variant in which a flow answered it; ``len(rank)`` if none."""
    met = [np.where(codes == at, rank, len(rank)).min(axis=1, initial=len(rank)) for at in range(n_levels)]
    return np.stack(met, axis=1)


def verdict(counts: Ints, n_variants: int, thresholds: Thresholds, first: Ints) -> Ints:
    """Return the position of the level that is held, or the number of levels where none is.

    ``counts`` has the levels and then invalid answers on its last axis. ``first`` (see `first_met`) settles ties
    under ``papers``: the level met first wins.
    """
    levels = counts[..., :-1]
    n_valid, top = levels.sum(axis=-1), levels.max(axis=-1)
    at_top = levels == top[..., None]
    fewest = fewest_valid(thresholds.t_val, counts.sum(axis=-1), n_variants)
    held = reasons(n_valid, top, at_top.sum(axis=-1) > 1, fewest, thresholds) == 0
    chosen = at_top.argmax(axis=-1)
    if thresholds.consensus == "papers":
        chosen = np.where(at_top, first, np.iinfo(np.intp).max).argmin(axis=-1)
    return np.asarray(np.where(held, chosen, levels.shape[-1]), dtype=np.intp)
