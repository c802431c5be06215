"""Rows that agree in every column get one number, in the order of their values."""

import numpy as np

from cumulink import group_rows


def test_groups_are_the_distinct_rows():
    rng = np.random.default_rng(0)
    for n in (1, 7, 60):
        columns = [rng.integers(0, 3, n), rng.integers(0, 2**40, n) // 2**38 * 2**38]
        columns += [columns[1], columns[1][::-1].copy()]  # three wide columns overflow one 64-bit key
        first, group = group_rows(columns)
        rows = list(zip(*columns, strict=True))
        assert [rows[i] for i in first] == sorted(set(rows))
        assert [rows[first[g]] for g in group] == rows


def test_without_columns_all_rows_are_one_group():
    first, group = group_rows(np.empty((0, 4), dtype=np.int64))
    assert first.tolist() == [0]
    assert group.tolist() == [0, 0, 0, 0]
