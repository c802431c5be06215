"""Shards: the variants of one model in one arm, split into runs; one job asks each run.

An arm that is asked again has the same shards once more for each repeat, under names of their own: ``1-of-3`` of the
first asking is ``1-of-3-repeat-2`` of the second.
"""

from __future__ import annotations

import pandas as pd

#: What the name of a shard has after it in every asking but the first.
_REPEAT = "-repeat-"
#: The names of shards, as a regular expression.
PATTERN = rf"\d+-of-\d+(?:{_REPEAT}\d+)?"


def shard_names(count: int, n_variants: int) -> list[str]:
    """Return ``["1-of-3", "2-of-3", "3-of-3"]`` for three shards; never more shards than variants."""
    count = min(count, n_variants)
    return [f"{number}-of-{count}" for number in range(1, count + 1)]


def in_repeat(shard: str, repeat: int) -> str:
    """Return the name of a ``shard`` of the first asking in the asking ``repeat``, counted from 1."""
    return shard if repeat == 1 else f"{shard}{_REPEAT}{repeat}"


def repeat_of(shard: str) -> int:
    """Return which asking a shard belongs to: 1 for the first."""
    return int(shard.partition(_REPEAT)[2] or 1)


def take_shard(variants: pd.DataFrame, shard: str) -> pd.DataFrame:
    """Return the run of ``variants`` that belongs to ``shard``: whole, in order, sizes equal to within one.

    A run of neighbouring variants keeps the prompts of one template together, which the engines' prefix
    caches need.
    """
    number, count = (int(part) for part in shard.partition(_REPEAT)[0].split("-of-"))
    if not 1 <= number <= count:
        raise ValueError(f"there is no shard {shard}")
    first, end = ((number - 1 + step) * len(variants) // count for step in (0, 1))
    return variants.iloc[first:end].reset_index(drop=True)
