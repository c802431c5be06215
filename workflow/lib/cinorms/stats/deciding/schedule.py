"""In which order each flow is asked its variants, and which flows are the pilot: pure functions of a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cinorms.core.draws import draw_bits

Ints = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]

#: Variants of the first round, the block that every flow is asked. Each further round asks for one.
BLOCK = 3
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
