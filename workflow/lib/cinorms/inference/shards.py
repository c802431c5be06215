"""Shards: the variants of one model in one arm, split into runs; one job asks each run."""

from __future__ import annotations

import pandas as pd


def shard_names(count: int, n_variants: int) -> list[str]:
    """Return ``["1-of-3", "2-of-3", "3-of-3"]`` for three shards; never more shards than variants."""
    count = min(count, n_variants)
    return [f"{number}-of-{count}" for number in range(1, count + 1)]


def take_shard(variants: pd.DataFrame, shard: str) -> pd.DataFrame:
    """Return the run of ``variants`` that belongs to ``shard``: whole, in order, sizes equal to within one.

    A run of neighbouring variants keeps the prompts of one template together, which the engines' prefix
    caches need.
    """
    number, count = (int(part) for part in shard.split("-of-"))
    if not 1 <= number <= count:
        raise ValueError(f"there is no shard {shard}")
    first, end = ((number - 1 + step) * len(variants) // count for step in (0, 1))
    return variants.iloc[first:end].reset_index(drop=True)
