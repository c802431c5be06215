"""Answer orders: the order of the options in one prompt.

An order is a string of option indices, lowest option 0, the index 10 written ``a``: of five options, ``"01234"``
shows the scale from its lowest option up, ``"43210"`` from its highest down. It is a pure function of
(method, seed, flow, template_no, order_no): raising the number of orders, adding templates or splitting
the work into shards changes no existing order. A number line is shown in one way only, its order is ``"0"``.
"""

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_bits
from cinorms.core.scales import Scale

#: How an order writes the index of an option.
DIGITS = "0123456789a"
#: Most options of which every permutation is an order. More options have `MOST_RANDOM` permutations, drawn once.
ALL_PERMUTED = 6
MOST_RANDOM = 1000
# ASSUME: by how much the start of the cyclic square moves from one order to the next, by number of options. These steps
# leave the positions of an option most even over any number of templates and orders
# (tests/unit/prompts/test_orders.py).
_STEPS = {1: 0, 2: 1, 3: 1, 4: 1, 5: 2, 6: 1, 7: 2, 8: 3, 9: 2, 10: 3, 11: 3}


@dataclass(frozen=True)
class Orders:
    """The orders of a number of options; an order's code is its position in ``names``, and 0 is the lowest first.

    ``shown[code, position]`` is the option at that position. ``random`` are the codes that can be drawn. ``square``
    holds the codes of the cyclic Latin square: ``square[0, s]`` starts at option s and goes up, ``square[1, s]`` down.
    """

    names: tuple[str, ...]
    shown: npt.NDArray[np.int8]
    random: npt.NDArray[np.int64]
    square: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.names)


@cache
def orders_of(n_options: int) -> Orders:
    """Return the orders of ``n_options``; see `Scale.n_shown`."""
    places = np.arange(n_options)
    starts = places[:, None]
    cyclic = [tuple(map(int, row)) for step in (1, -1) for row in (starts + step * places) % n_options]
    if n_options <= ALL_PERMUTED:
        listed = drawn = list(permutations(range(n_options)))
    else:
        rng = np.random.default_rng(n_options)
        drawn = [tuple(map(int, rng.permutation(n_options))) for _ in range(MOST_RANDOM)]
        listed = list(dict.fromkeys([*cyclic, *drawn]))
    code = {order: number for number, order in enumerate(listed)}
    return Orders(
        names=tuple("".join(DIGITS[option] for option in order) for order in listed),
        shown=np.array(listed, dtype=np.int8),
        random=np.array([code[order] for order in drawn], dtype=np.int64),
        square=np.array([code[order] for order in cyclic], dtype=np.int64).reshape(2, n_options),
    )


def order_codes(
    method: str,
    seed: int,
    flow: npt.ArrayLike,
    template_no: npt.ArrayLike,
    order_no: npt.ArrayLike,
    n_options: int,
) -> npt.NDArray[np.int64]:
    """Return the code (see `Orders`) of each (flow, template, order number), broadcast together.

    ``fixed``
        Always the papers' order, lowest option first.
    ``random``
        Permutations drawn for each (flow, template), as in the papers but seeded: without replacement, so two orders
        of a template are only the same where it has more orders than there are permutations.
    ``balanced``
        With k options, row ``template + step * order + h`` (mod k) of the cyclic Latin square, with ``h`` drawn per
        flow; blocks of k templates and of k orders alternate between the square and its reverse, starting
        with either at random per flow. In a T x L rectangle only the (T mod k) x (L mod k) corner is not a whole
        number of squares, and the step spreads that corner's rows over the residues. So over any number of
        templates and orders, every option of a flow is in every position equally often: to within one for 2, 3 and
        5 options, three for 6 and 10, two for others (checked for all sizes in the tests).
    """
    flow = np.asarray(flow, dtype=np.int64)
    template_no = np.asarray(template_no, dtype=np.int64)
    order_no = np.asarray(order_no, dtype=np.int64)
    if method == "fixed":
        return np.zeros(np.broadcast(flow, template_no, order_no).shape, dtype=np.int64)
    orders, k = orders_of(n_options), n_options
    if method == "random":
        return orders.random[_without_replacement(seed, flow, template_no, order_no, len(orders.random))]
    bits = draw_bits("order", seed, flow)
    first = (bits % np.uint64(k)).astype(np.int64)
    start = (template_no + _STEPS[k] * order_no + first) % k
    reverse = (template_no // k + order_no // k + (bits >> np.uint64(32)).astype(np.int64)) % 2
    return np.asarray(orders.square[reverse, start])


def _without_replacement(
    seed: int,
    flow: npt.NDArray[np.int64],
    template_no: npt.NDArray[np.int64],
    order_no: npt.NDArray[np.int64],
    n: int,
) -> npt.NDArray[np.int64]:
    """Return which of ``n`` things each order number draws; the draws of ``n`` numbers in a row are all different."""
    flow, template_no, order_no = np.broadcast_arrays(flow, template_no, order_no)
    drawn, first = np.zeros(order_no.shape, dtype=np.int64), order_no // n * n
    before: list[npt.NDArray[np.int64]] = []
    for number in range(int((order_no - first).max(initial=-1)) + 1):
        bits = draw_bits("order", seed, flow, template_no, first + number)
        # The place among those that are left, which the smaller ones drawn before move up.
        place = (bits % np.uint64(n - number)).astype(np.int64)
        for earlier in np.sort(before, axis=0) if before else ():
            place += place >= earlier
        before.append(place)
        drawn = np.where(order_no - first == number, place, drawn)
    return drawn


def as_categorical(codes: npt.NDArray[np.int64], n_options: int) -> pd.Categorical:
    """Return order codes as order strings, each stored once."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(orders_of(n_options).names, dtype="str"))


def codes_of(orders: "pd.Series[Any]", n_options: int) -> npt.NDArray[np.int64]:
    """Return the code of each order string, as `as_categorical` wrote it; -1 where it is missing or no such order."""
    shown = pd.Categorical(orders)
    codes = pd.Index(orders_of(n_options).names).get_indexer(shown.categories.astype(str))
    return np.asarray(np.append(codes, -1)[shown.codes], dtype=np.int64)


@cache
def options_shown(scale: Scale) -> list[str]:
    """Return the options as a prompt shows them, in each of their orders, in the papers' format."""
    if scale.line is not None:
        low, high = scale.line.ends
        return [f"[{scale.line.lowest} = {low}, ..., {scale.line.highest} = {high}]"]
    shown = orders_of(scale.n_shown).shown.tolist()
    return ["[" + ", ".join(scale.options[index] for index in order) + "]" for order in shown]
