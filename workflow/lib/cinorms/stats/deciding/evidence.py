"""Evidence on answers that were not asked: of neighbouring flows, of the places of options, and all kinds as one.

Evidence on an answer is the log of how often it was given, over how often one expects it. What flows that share levels
of the factors answered is a column of evidence for each kind of neighbour; a flow is never its own neighbour. Kinds are
pooled by a weighted sum of logarithms, the weights fitted to seen answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cinorms.stats.arrays import group_rows

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

#: Answers as expected that are added to those of the neighbours, and to those at each place.
EXPECTED, AT_PLACES = 1.0, 30.0
#: Steps of Newton's method at most; five are usual.
STEPS = 25


def of_neighbours(seen: Floats, tendency: Floats, factors: Ints) -> Iterator[Floats]:
    """Yield the evidence of each kind of neighbour on each answer: an array like ``seen``.

    Neighbours are the flows with the same level of one factor, or of two factors, in the same variant; and the flows
    that differ in one factor only, over all variants. ``factors`` has the level of each flow on each factor.
    """
    usual = np.maximum((seen.sum(axis=(0, 1)) + 0.5) / (seen.sum() + 0.5), 1e-6).astype(np.float32)
    expected = seen.sum(axis=2, keepdims=True) * tendency
    n_factors = factors.shape[1]
    for size in (1, 2):
        for together in combinations(range(n_factors), size):
            cell = group_rows(factors[:, together].T)[1]
            yield _log_ratio(_others(seen, cell), _others(expected, cell), usual * EXPECTED)
    if n_factors > 2:
        all_seen, all_expected = seen.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True)
        for left_out in range(n_factors):
            cell = group_rows(np.delete(factors, left_out, axis=1).T)[1]
            ratio = _log_ratio(_others(all_seen, cell), _others(all_expected, cell), usual * 2 * EXPECTED)
            yield np.broadcast_to(ratio, seen.shape)


def _others(counts: Floats, cell: Ints) -> Floats:
    """Return the sum of ``counts`` over the other flows of each flow's cell."""
    flat = counts.reshape(len(counts), -1)
    sums = np.stack([np.bincount(cell, weights=column) for column in flat.T], axis=1).astype(np.float32)
    return (sums[cell] - flat).reshape(counts.shape)


def _log_ratio(observed: Floats, expected: Floats, added: Floats) -> Floats:
    # Sums of many small numbers, less one of them, can end a hair below 0.
    ratio = (np.maximum(observed, 0) + added) / (np.maximum(expected, 0) + added)
    return np.asarray(np.log(ratio), dtype=np.float32)


def of_places(seen: Floats, tendency: Floats, places: Ints) -> Floats:
    """Return the evidence of the options' places on each answer: an array like ``seen``; 0 for an invalid answer.

    ``places`` has the place of each level (flow, variant, level). One expects what the variant's ``tendency`` brings.
    """
    expected = seen.sum(axis=2, keepdims=True) * tendency
    given, usual = (
        np.bincount(places.ravel(), answers[:, :, :-1].ravel()) + AT_PLACES for answers in (seen, expected)
    )
    found = np.zeros_like(seen)
    found[:, :, :-1] = np.log(given / usual)[places]
    return found


def fit_weights(evidence: npt.NDArray[np.floating], answers: Ints) -> npt.NDArray[np.float64]:
    """Return the weight of each kind of evidence.

    ``evidence`` is answer by code by kind; the probability of a code is proportional to the exponential of its
    weighted sum. Found by Newton's method with a ridge penalty of 1 towards 0 (towards 1 for the first kind).
    """
    found = evidence.astype(np.float64)
    n_kinds = found.shape[2]
    prior = np.eye(n_kinds)[0]
    weights = prior.copy()
    given = found[np.arange(len(found)), answers]
    for _ in range(STEPS):
        total = found @ weights
        total -= total.max(axis=-1, keepdims=True)
        p = np.exp(total - np.log(np.exp(total).sum(axis=-1, keepdims=True)))
        mean = np.einsum("ac,ack->ak", p, found)
        slope = (given - mean).sum(axis=0) - (weights - prior)
        spread = (found * p[:, :, None]).reshape(-1, n_kinds).T @ found.reshape(-1, n_kinds)
        step = np.linalg.solve(spread - mean.T @ mean + np.eye(n_kinds), slope)
        weights = weights + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-4:
            break
    return np.asarray(weights)
