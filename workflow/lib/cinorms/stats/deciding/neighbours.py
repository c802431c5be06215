"""What flows that share levels of the factors answered: a column of evidence for each kind of neighbour.

Evidence on an answer is the log of how often neighbours gave it, over how often the variants they were asked in make
one expect. A flow is never its own neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cinorms.stats.grouping import group_rows

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

#: Answers as expected that are added to those of the neighbours.
EXPECTED = 1.0


def evidence(seen: Floats, tendency: Floats, factors: Ints) -> Iterator[Floats]:
    """Yield the evidence of each kind of neighbour on each answer: an array like ``seen``.

    Neighbours are the flows with the same level of one factor, or of two factors, in the same variant; and the flows
    that differ in one factor only, over all variants. ``factors`` has the level of each flow on each factor.
    """
    usual = np.maximum((seen.sum(axis=(0, 1)) + 0.5) / (seen.sum() + 0.5), 1e-6).astype(np.float32)
    expected = seen.sum(axis=2, keepdims=True) * tendency
    n_factors = factors.shape[1]
    for size in (1, 2):
        for together in combinations(range(n_factors), size):
            cell = cells(factors[:, together])
            yield _log_ratio(_others(seen, cell), _others(expected, cell), usual * EXPECTED)
    if n_factors > 2:
        all_seen, all_expected = seen.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True)
        for left_out in range(n_factors):
            cell = cells(np.delete(factors, left_out, axis=1))
            ratio = _log_ratio(_others(all_seen, cell), _others(all_expected, cell), usual * 2 * EXPECTED)
            yield np.broadcast_to(ratio, seen.shape)


def cells(factors: Ints) -> Ints:
    """Return a number for each combination of levels that occurs."""
    return group_rows(factors.T)[1]


def _others(counts: Floats, cell: Ints) -> Floats:
    """Return the sum of ``counts`` over the other flows of each flow's cell."""
    flat = counts.reshape(len(counts), -1)
    sums = np.stack([np.bincount(cell, weights=column) for column in flat.T], axis=1).astype(np.float32)
    return (sums[cell] - flat).reshape(counts.shape)


def _log_ratio(observed: Floats, expected: Floats, added: Floats) -> Floats:
    # Sums of many small numbers, less one of them, can end a hair below 0.
    ratio = (np.maximum(observed, 0) + added) / (np.maximum(expected, 0) + added)
    return np.asarray(np.log(ratio), dtype=np.float32)
