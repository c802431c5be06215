"""Answer orders: the order of the five options in one prompt.

An order is a string of option indices, lowest option 0: ``"01234"`` shows the scale from its lowest
option up, ``"43210"`` from its highest down. It is a pure function of
(method, seed, flow, template_no, order_no): raising the number of orders, adding templates or splitting
the work into shards changes no existing order.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_bits

METHODS = ("fixed", "random", "balanced")

#: All 120 orders; order codes are positions in this list, 0 is the papers' fixed order.
ORDERS = tuple("".join(order) for order in permutations("01234"))
#: ``SHOWN[code, position]`` is the option at that position.
SHOWN = np.array([[int(option) for option in order] for order in ORDERS], dtype=np.int8)
_CODES = {order: code for code, order in enumerate(ORDERS)}
#: Codes of the cyclic Latin square: ``_SQUARE[0, s]`` starts at option s and goes up, ``_SQUARE[1, s]`` down.
_SQUARE = np.array(
    [
        [_CODES["".join(str((start + step * place) % 5) for place in range(5))] for start in range(5)]
        for step in (1, -1)
    ]
)


def order_codes(
    method: str,
    seed: int,
    flow: npt.ArrayLike,
    template_no: npt.ArrayLike,
    order_no: npt.ArrayLike,
) -> npt.NDArray[np.int64]:
    """Return the code (index into ``ORDERS``) of each (flow, template, order number), broadcast together.

    ``fixed``
        Always the papers' order, lowest option first.
    ``random``
        One of the 120 permutations, drawn for each (flow, template, order number), as in the papers
        but seeded: two orders of a template can be the same.
    ``balanced``
        Row ``template + 2 order + h`` (mod 5) of the cyclic Latin square, with ``h`` drawn per flow;
        blocks of 5 templates and of 5 orders alternate between the square and its reverse, starting
        with either at random per flow. Over any number of templates and orders, every option of a
        flow is in every position equally often, to within one: in a T x L rectangle only the
        (T mod 5) x (L mod 5) corner is not a whole number of squares, and the step of 2 spreads
        that corner's rows over the residues evenly (checked for all sizes in the tests).
    """
    flow = np.asarray(flow, dtype=np.int64)
    template_no = np.asarray(template_no, dtype=np.int64)
    order_no = np.asarray(order_no, dtype=np.int64)
    if method == "fixed":
        return np.zeros(np.broadcast(flow, template_no, order_no).shape, dtype=np.int64)
    if method == "random":
        bits = draw_bits("order", seed, flow, template_no, order_no)
        return (bits % np.uint64(len(ORDERS))).astype(np.int64)
    if method == "balanced":
        bits = draw_bits("order", seed, flow)
        first = (bits % np.uint64(5)).astype(np.int64)
        start = (template_no + 2 * order_no + first) % 5
        reverse = (template_no // 5 + order_no // 5 + (bits >> np.uint64(32)).astype(np.int64)) % 2
        return np.asarray(_SQUARE[reverse, start])
    raise ValueError(f"order method {method!r}; allowed: {', '.join(METHODS)}")


def as_categorical(codes: npt.NDArray[np.int64]) -> pd.Categorical:
    """Return order codes as order strings, each stored once."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(ORDERS, dtype="str"))


@cache
def options_shown(options: tuple[str, ...]) -> list[str]:
    """Return the option list as a prompt shows it, for each of ``ORDERS``, in the papers' format."""
    return ["[" + ", ".join(options[int(index)] for index in order) + "]" for order in ORDERS]
