"""Answer orders are balanced, reproducible, and do not depend on what else is asked."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.prompts.orders import as_categorical, codes_of, order_codes, orders_of

from ...scales import ORDERS

MANY_TEMPLATES, MANY_ORDERS = 23, 12

seeds = st.integers(min_value=0, max_value=2**70)
flows = st.lists(st.integers(min_value=0, max_value=2**31 - 1), min_size=1, max_size=40, unique=True)


def grid(method: str, seed: int, flow: list[int], n_templates: int, n_orders: int) -> np.ndarray:
    """Return the codes of every flow, template and order number, on three axes."""
    axes = np.ix_(np.array(flow), np.arange(n_templates), np.arange(n_orders))
    return order_codes(method, seed, *axes, 5)


@pytest.mark.parametrize("method", ["fixed", "random", "balanced"])
@given(seed=seeds, flow=flows, data=st.data())
@settings(max_examples=15)
def test_an_order_depends_on_nothing_but_its_own_flow_template_and_number(method, seed, flow, data):
    whole = grid(method, seed, flow, MANY_TEMPLATES, MANY_ORDERS)
    n_templates = data.draw(st.integers(1, MANY_TEMPLATES))
    n_orders = data.draw(st.integers(1, MANY_ORDERS))
    assert np.array_equal(grid(method, seed, flow, n_templates, n_orders), whole[:, :n_templates, :n_orders])
    some = data.draw(st.lists(st.integers(0, len(flow) - 1), min_size=1, unique=True))
    fewer_flows = grid(method, seed, [flow[i] for i in some], n_templates, n_orders)
    assert np.array_equal(fewer_flows, whole[some, :n_templates, :n_orders])
    place = data.draw(st.integers(0, len(flow) - 1))
    single = order_codes(method, seed, flow[place], n_templates - 1, n_orders - 1, 5)
    assert single == whole[place, n_templates - 1, n_orders - 1]


def test_the_orders_of_a_study_are_these_for_ever():
    """A response already paid for was asked in this order: a change here is a change of every study."""
    for method, orders in (("balanced", "32104 43210 01234 34012"), ("random", "23410 04312 02143 34012")):
        assert " ".join(ORDERS[c] for c in order_codes(method, 2026, [0, 1, 2, 3], 4, 1, 5)) == orders
    # Five orders and more: the next block of five is the reverse of the last one.
    assert " ".join(ORDERS[c] for c in order_codes("balanced", 0, 7, 0, range(11), 5)) == (
        "04321 21043 43210 10432 32104 01234 23401 40123 12340 34012 04321"
    )


def test_fixed_is_the_papers_order_everywhere():
    assert not grid("fixed", 9, [0, 5, 6911], 11, 3).any()


def test_codes_become_strings_stored_once_and_codes_again():
    codes = np.array([0, 119, 0, 7])
    orders = pd.Series(as_categorical(codes, 5))
    assert list(orders[:3]) == ["01234", "43210", "01234"]
    assert len(orders.cat.categories) == 120
    assert codes_of(orders, 5).tolist() == codes_of(orders.astype(str), 5).tolist() == codes.tolist()
    assert codes_of(pd.Series(["01234", None, "0123"]), 5).tolist() == [0, -1, -1]


# --- scales of other lengths

#: How uneven the positions of an option may be under balanced orders, by number of options.
UNEVEN = {2: 1, 3: 1, 4: 2, 5: 1, 6: 3, 7: 2, 8: 2, 9: 2, 10: 3, 11: 2}


@pytest.mark.parametrize("n", UNEVEN)
def test_every_option_is_in_every_position_about_equally_often_whatever_the_scale(n):
    orders = orders_of(n)
    assert orders.names[0] == "0123456789a"[:n]
    # Of more than six options, the square and its reverse from every start, and a thousand that are drawn.
    assert len(set(orders.names)) == len(orders.names)
    assert {2: 2, 3: 6, 4: 24, 5: 120, 6: 720}.get(n, len(orders)) == len(orders) <= 2 * n + 1000
    assert np.array_equal(np.sort(orders.shown, axis=1), np.tile(np.arange(n), (len(orders), 1)))
    # Over any number of templates and orders: more of them than 2 n repeat what these have.
    axes = np.ix_(np.arange(40) * 172, np.arange(2 * n), np.arange(2 * n))
    at = orders.shown[order_codes("balanced", 3, *axes, n)][..., None] == np.arange(n)
    sums = at.cumsum(axis=1, dtype=np.int16).cumsum(axis=2, dtype=np.int16)
    assert (sums.max(axis=(3, 4)) - sums.min(axis=(3, 4))).max() == UNEVEN[n]


def test_random_orders_of_many_options_are_drawn_evenly():
    shown = orders_of(11).shown[order_codes("random", 1, np.arange(4000), 0, 0, 11)]
    assert np.abs(np.bincount(shown[:, 0], minlength=11) / 4000 - 1 / 11).max() < 0.05


def test_random_orders_of_a_template_are_all_different_until_there_are_no_others():
    flows = np.arange(4)[:, None, None]
    codes = order_codes("random", 3, flows, np.arange(3)[:, None], np.arange(120), 5)
    assert (np.sort(codes, axis=2) == np.arange(120)).all()
    # The number of orders, and the other cells that are computed with them, change none.
    assert (order_codes("random", 3, 1, 2, [5, 1], 5) == codes[1, 2, [5, 1]]).all()
    pairs = order_codes("random", 3, flows, np.arange(3)[:, None], np.arange(6), 2)
    assert (pairs.reshape(4, 3, 3, 2).sum(axis=3) == 1).all()
    first = order_codes("random", 3, np.arange(60_000), 0, 2, 5)
    assert 400 < np.bincount(first).min() <= np.bincount(first).max() < 600
