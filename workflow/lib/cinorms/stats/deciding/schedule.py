"""In which order each flow is asked its variants, which flows are the pilot, and the verdict on what was asked so far.

Order and pilot are pure functions of a seed. A verdict is the level that a flow holds, or none; one on part of the
variants asks for the same part of ``t_val``, on all of them it is the verdict of ``cinorms.norms.assessment``. Answers
are positions on the scale; one further position is that of an invalid answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinorms.core.draws import draw_bits
from cinorms.norms.assessment import fewest_valid
from cinorms.norms.thresholds import Thresholds

Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

#: Variants of the first round, the block that every flow is asked. Each further round asks for one.
BLOCK = 3
#: Codes of a variant that was not asked of a flow.
NOT_ASKED = -1
#: Fewest flows of a pilot: from fewer, nobody learns what the predicted risks are worth.
LEAST_PILOT = 100


def asking_order(
    flows: npt.ArrayLike,
    template_no: npt.ArrayLike,
    order_no: npt.ArrayLike,
    seed: int,
    purpose: str = "asking",
) -> Ints:
    """Return, for each of ``flows``, the positions of the variants in the order in which they are asked.

    A flow meets every template before it meets one again, and every order of the options about equally often on the
    way. The flows are drawn into groups of as many as there are templates; the flows of a group go through the
    templates in one random order, each starting one place further. So whatever number of variants is asked of all
    flows, each template and each order is asked equally often, to within what a few flows can add.

    ``template_no`` and ``order_no`` have one number for each variant; not every template needs every order.
    """
    numbers = np.asarray(flows)
    templates, template = np.unique(np.asarray(template_no), return_inverse=True)
    orders, order = np.unique(np.asarray(order_no), return_inverse=True)
    n_templates, n_orders = len(templates), len(orders)
    drawn = np.argsort(draw_bits(f"{purpose}.flow", seed, numbers), kind="stable")
    place = np.empty(len(numbers), dtype=np.intp)
    place[drawn] = np.arange(len(numbers))
    group, shift = np.divmod(place, max(n_templates, 1))
    rank = np.argsort(
        np.argsort(draw_bits(f"{purpose}.template", seed, group[:, None], np.arange(n_templates)), axis=1),
        axis=1,
    )
    # When each template is met in a round, and which of its orders it starts with: they rotate through a group, and
    # the next group begins one further.
    met = (rank - shift[:, None]) % n_templates
    start = (met + shift[:, None] + group[:, None]) % n_orders
    turn = (order[None, :] - start[:, template]) % n_orders
    return np.argsort(turn * n_templates + met[:, template], axis=1, kind="stable")


def pilot_flows(flows: npt.ArrayLike, size: int, seed: int) -> Flags:
    """Return which of ``flows`` are the pilot: ``size`` of them, drawn at random."""
    drawn = np.argsort(draw_bits("asking.pilot", seed, np.asarray(flows)), kind="stable")
    chosen = np.zeros(len(drawn), dtype=bool)
    chosen[drawn[:size]] = True
    return chosen


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
