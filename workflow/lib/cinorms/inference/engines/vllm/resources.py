"""What a GPU job of a model asks a cluster for, from the model's entry in the registry.

Both are requests, not needs: a retry asks for more, and a job that the time limit ends has lost nothing but the
chunk in hand, for what it was told is in the journal. So they are kept small: short jobs start sooner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Gigabytes of main memory that Python, CUDA and vLLM take, whatever the model.
BASE_GB = 12.0
#: Gigabytes per billion parameters while the weights are read: two bytes each, and a quarter more.
# ASSUME: true of 16-bit weights; quantised ones take less, and 32-bit ones are rare.
GB_PER_BILLION = 2.5
#: Minutes to start vLLM, compile and load.
BASE_MINUTES = 30.0
#: Minutes per billion parameters on each GPU; the slowest rate of the registry needs five for a whole arm.
MINUTES_PER_BILLION = 8.0


def gpus(entry: Mapping[str, Any]) -> int:
    """Return the GPUs that one copy of a model needs."""
    return int(entry.get("gpus", 1))


def memory_mb(entry: Mapping[str, Any], attempt: int) -> int:
    """Return the megabytes of main memory that the ``attempt``-th job of a model asks for."""
    return round(1000 * (BASE_GB + GB_PER_BILLION * (entry.get("capacity") or 0.0))) * attempt


def minutes(entry: Mapping[str, Any], attempt: int) -> int:
    """Return the minutes that the ``attempt``-th job of a model asks for."""
    per_gpu = (entry.get("capacity") or 0.0) / max(gpus(entry), 1)
    return round(BASE_MINUTES + MINUTES_PER_BILLION * per_gpu) * attempt
