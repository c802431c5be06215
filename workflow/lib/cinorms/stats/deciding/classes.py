"""Classes of flows that are answered alike: a latent-class mixture, fitted to all answers seen so far.

A flow belongs to one of a few classes; given its class, each variant is answered independently, by the distribution
over the levels that the variant has in that class. What has been asked of a flow depends on its seen answers alone,
so what is missing can be ignored (Rubin 1976): the likelihood of what was seen is all that is needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cinorms.stats.deciding.verdicts import NOT_ASKED

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

#: Number of classes. Replays of published answers differ little between 8 and 24.
CLASSES = 12
#: Answers that a class's distribution in a variant is drawn towards its other variants with.
STRENGTH = 30.0
#: Share of every distribution that is the variant's over all flows: no answer is impossible.
FLOOR = 0.001


class Classes(NamedTuple):
    """Log probability of each answer (class, variant, code), and log share of each class."""

    log_answers: Floats
    log_shares: Floats

    def log_joint(self, seen: Floats) -> Floats:
        """Return the log probability of each class with the answers of ``seen`` (see `indicators`)."""
        flat = self.log_answers.reshape(len(self.log_shares), -1)
        return np.asarray(seen.reshape(len(seen), -1) @ flat.T + self.log_shares, dtype=np.float32)


def indicators(codes: Ints, n_codes: int) -> Floats:
    """Return 1 at (flow, variant, code) where a flow gave that answer, else 0."""
    found = np.zeros((*codes.shape, n_codes), dtype=np.float32)
    flow, variant = np.nonzero(codes != NOT_ASKED)
    found[flow, variant, codes[flow, variant]] = 1
    return found


def tendencies(seen: Floats) -> Floats:
    """Return the share of each answer in each variant, over all flows; never 0."""
    counts = seen.sum(axis=0) + 0.5
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), dtype=np.float32)


def normalised(log_weights: Floats) -> Floats:
    """Return the weights whose logarithms are given, each row adding up to 1."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float32)


def fit_classes(
    seen: Floats, rng: np.random.Generator, start: Floats | None = None, steps: int = 30
) -> tuple[Classes, Floats]:
    """Return the classes after ``steps`` of the EM algorithm, and the share of each class in each flow.

    ``start`` are the shares that an earlier look found; without them flows begin near flows drawn at random.
    """
    n_variants, n_codes = seen.shape[1:]
    flat = seen.reshape(len(seen), -1)
    tendency = tendencies(seen)
    tilt = tendency / tendency.mean(axis=0)
    members = _first_members(seen, rng) if start is None else start
    for _ in range(steps):
        counts = (members.T @ flat).reshape(-1, n_variants, n_codes)
        overall = counts.sum(axis=1) + 0.5
        usual = (overall / overall.sum(axis=1, keepdims=True))[:, None, :] * tilt
        answers = counts + STRENGTH * usual / usual.sum(axis=2, keepdims=True)
        answers /= answers.sum(axis=2, keepdims=True)
        answers = (1 - FLOOR) * answers + FLOOR * tendency
        shares = (members.sum(axis=0) + 1) / (len(seen) + members.shape[1])
        classes = Classes(np.log(answers).astype(np.float32), np.log(shares).astype(np.float32))
        members = normalised(classes.log_joint(seen))
    return classes, members


def _first_members(seen: Floats, rng: np.random.Generator) -> Floats:
    counts = seen.sum(axis=1)
    centres = counts[rng.choice(len(seen), min(CLASSES, len(seen)), replace=False)] + 0.5
    near = counts @ np.log(centres / centres.sum(axis=1, keepdims=True)).T
    noise = rng.dirichlet(np.full(len(centres), 0.3), len(seen)).astype(np.float32)
    return normalised(near.astype(np.float32) + np.log(noise + 1e-6))
