"""Rows that agree in every column get one number, in the order of their values."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cinorms.stats.arrays import group_rows


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**40)), min_size=1, max_size=30))
def test_groups_are_the_distinct_rows(rows):
    columns = [np.array(c, dtype=np.int64) for c in zip(*rows, strict=True)]
    columns.append(columns[1])  # three wide columns overflow one 64-bit key
    columns.append(columns[1][::-1].copy())
    first, group = group_rows(columns)
    full = list(zip(*columns, strict=True))
    assert len(first) == len(set(full))
    assert all(full[first[g]] == row for g, row in zip(group, full, strict=True))


def test_without_columns_all_rows_are_one_group():
    first, group = group_rows(np.empty((0, 4), dtype=np.int64))
    assert first.tolist() == [0]
    assert group.tolist() == [0, 0, 0, 0]
