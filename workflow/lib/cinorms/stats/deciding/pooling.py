"""Evidence of several kinds as one distribution: a weighted sum of logarithms, the weights fitted to seen answers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

#: Steps of Newton's method at most; five are usual.
STEPS = 25


def fit_weights(evidence: npt.NDArray[np.floating], answers: Ints, ridge: float = 1.0) -> Floats:
    """Return the weight of each kind of evidence.

    ``evidence`` is answer by code by kind; the probability of a code is proportional to the exponential of its
    weighted sum. Found by Newton's method with a ridge penalty towards 0 (towards 1 for the first kind).
    """
    found = evidence.astype(np.float64)
    n_kinds = found.shape[2]
    prior = np.zeros(n_kinds)
    prior[0] = 1.0
    weights = prior.copy()
    given = found[np.arange(len(found)), answers]
    for _ in range(STEPS):
        p = np.exp(log_pool(found, weights))
        mean = np.einsum("ac,ack->ak", p, found)
        slope = (given - mean).sum(axis=0) - ridge * (weights - prior)
        spread = (found * p[:, :, None]).reshape(-1, n_kinds).T @ found.reshape(-1, n_kinds)
        step = np.linalg.solve(spread - mean.T @ mean + ridge * np.eye(n_kinds), slope)
        weights = weights + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-4:
            break
    return weights


def log_pool(evidence: Floats, weights: Floats) -> Floats:
    """Return the log probability of each code."""
    total = evidence @ weights
    total -= total.max(axis=-1, keepdims=True)
    return np.asarray(total - np.log(np.exp(total).sum(axis=-1, keepdims=True)))
