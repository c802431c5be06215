"""Shards cut the variants into runs: whole, in order, of equal size up to one."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinorms.inference.spec import shard_names, take_shard
from cinorms.prompts.variants import list_variants


def variants_of(n_templates: int, n_orders: int) -> pd.DataFrame:
    return list_variants("set", [f"t{n}" for n in range(n_templates)], n_templates, n_orders)


@given(n_templates=st.integers(1, 12), n_orders=st.integers(1, 5), count=st.integers(1, 80))
def test_shards_together_are_all_variants_in_order(n_templates: int, n_orders: int, count: int) -> None:
    variants = variants_of(n_templates, n_orders)
    names = shard_names(count, len(variants))
    parts = [take_shard(variants, name) for name in names]
    assert list(pd.concat(parts)["variant"]) == list(variants["variant"])
    sizes = {len(part) for part in parts}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert all(list(part.index) == list(range(len(part))) for part in parts)


def test_names() -> None:
    assert shard_names(1, 33) == ["1-of-1"]
    assert shard_names(3, 33) == ["1-of-3", "2-of-3", "3-of-3"]
    assert shard_names(40, 3) == ["1-of-3", "2-of-3", "3-of-3"]


def test_a_shard_keeps_the_orders_of_a_template_together() -> None:
    part = take_shard(variants_of(11, 3), "2-of-11")
    assert list(part["variant"]) == ["1_0", "1_1", "1_2"]


@pytest.mark.parametrize("wrong", ["0-of-3", "4-of-3"])
def test_a_shard_that_does_not_exist_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        take_shard(variants_of(3, 1), wrong)
