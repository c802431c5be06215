"""How likely the verdict on a flow changes with the variants that it was not asked.

Flows that are answered alike are classes: a latent-class mixture, fitted to all answers seen so far. Given its class,
each variant is answered independently. What has been asked of a flow depends on its seen answers alone, so what is
missing can be ignored (docs/method/inference/until_decided.md).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cinorms.norms.thresholds import Thresholds
from cinorms.stats.arrays import group_rows
from cinorms.stats.deciding.schedule import NOT_ASKED, count, first_met, verdict

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
    members = start
    if members is None:
        given = seen.sum(axis=1)
        centres = given[rng.choice(len(seen), min(CLASSES, len(seen)), replace=False)] + 0.5
        near = given @ np.log(centres / centres.sum(axis=1, keepdims=True)).T
        noise = rng.dirichlet(np.full(len(centres), 0.3), len(seen)).astype(np.float32)
        members = normalised(near.astype(np.float32) + np.log(noise + 1e-6))
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


#: Seen answers that the weights of the kinds of evidence are fitted to, at most.
SAMPLE = 12_000
#: Futures that are drawn for each flow: a few, and more where these show a risk of at most ``CLOSER``.
DRAWS, MORE_DRAWS = 64, 448
CLOSER = 0.1
#: Flows whose futures are drawn at a time: their numbers stay in the processor's cache.
AT_A_TIME = 250


@dataclass(frozen=True)
class Predictor:
    """Predicts what flows would answer in the variants that they were not asked.

    Given the class of a flow, the log probability of an answer is a weighted sum: of the class's own in this variant
    (``class_weight``), and of what the variant, the flow's neighbours and the places of the options make likely
    (``local``, flow by variant by code).
    """

    n_levels: int
    classes: Classes
    members: Floats
    class_weight: float
    local: Floats

    @classmethod
    def fit(
        cls,
        codes: Ints,
        n_levels: int,
        factors: Ints,
        places: Ints | None,
        rng: np.random.Generator,
        last: "Predictor | None" = None,
    ) -> "Predictor":
        """Return the predictor fitted to all answers seen so far; ``last`` is where the search begins.

        ``codes`` is flow by variant: positions on the scale, ``n_levels`` for an invalid answer, ``NOT_ASKED``.
        ``places`` are those of the options in the prompts (`evidence.of_places`), if they are known.
        """
        seen = indicators(codes, n_levels + 1)
        tendency = tendencies(seen)
        classes, members = fit_classes(seen, rng, *((last.members, 10) if last else ()))
        flow, variant = np.nonzero(codes != NOT_ASKED)
        if len(flow) > SAMPLE:
            drawn = rng.choice(len(flow), SAMPLE, replace=False)
            flow, variant = flow[drawn], variant[drawn]
        # The log probability of each answer by the flow's class, as the flow's other answers tell it.
        own = np.einsum("ac,kac->ak", seen[flow, variant], classes.log_answers[:, variant])
        without_own = normalised(classes.log_joint(seen)[flow] - own)
        mixed = np.einsum("ak,kac->ac", without_own, np.exp(classes.log_answers[:, variant]))
        log_mixed = np.asarray(np.log(mixed), dtype=np.float32)
        log_tendency = np.log(tendency)
        kinds = list(of_neighbours(seen, tendency, factors))
        if places is not None:
            kinds.append(of_places(seen, tendency, places))
        sample = [
            log_tendency[variant],
            log_mixed - log_tendency[variant],
            *(kind[flow, variant] for kind in kinds),
        ]
        weights = fit_weights(np.stack(sample, axis=2), codes[flow, variant]).astype(np.float32)
        local = np.broadcast_to((weights[0] - weights[1]) * log_tendency, seen.shape).astype(np.float32)
        for weight, kind in zip(weights[2:], kinds, strict=True):
            local += weight * kind
        return cls(n_levels, classes, members, float(weights[1]), local)

    def change(
        self, at: Ints, codes: Ints, thresholds: Thresholds, rank: Ints, rng: np.random.Generator
    ) -> npt.NDArray[np.float64]:
        """Return the probability that the verdict on each of the flows ``at`` changes when all else is asked.

        ``codes`` has their seen answers, row for row; they may be fewer than those that the predictor was fitted to.
        ``rank`` is the place of each variant among them all sorted as strings (`schedule.first_met`).
        """

        def in_parts(rows: Ints, draws: int) -> npt.NDArray[np.float64]:
            parts = [rows[begin : begin + AT_A_TIME] for begin in range(0, len(rows), AT_A_TIME)]
            found = [self._change(at[part], codes[part], thresholds, rank, rng, draws) for part in parts]
            return np.concatenate([np.empty(0), *found])

        risk = in_parts(np.arange(len(at)), DRAWS)
        low = np.flatnonzero(risk <= CLOSER)
        closer = in_parts(low, MORE_DRAWS)
        risk[low] = (DRAWS * risk[low] + MORE_DRAWS * closer) / (DRAWS + MORE_DRAWS)
        return risk

    def _change(
        self, at: Ints, codes: Ints, thresholds: Thresholds, rank: Ints, rng: np.random.Generator, draws: int
    ) -> npt.NDArray[np.float64]:
        n_codes, n_variants = self.n_levels + 1, codes.shape[1]
        # Each future has a class, drawn as the flow's seen answers tell how likely it is.
        members = normalised(self.classes.log_joint(indicators(codes, n_codes)))
        edges = members.cumsum(axis=1)[:, None, :-1]
        drawn = (rng.random((len(members), draws, 1), dtype=np.float32) >= edges).sum(axis=2)
        below = np.zeros((n_codes - 1, *drawn.shape), dtype=np.int16)
        for variant in range(n_variants):
            open_ = np.flatnonzero(codes[:, variant] == NOT_ASKED)
            if not len(open_):
                continue
            logs = self.class_weight * self.classes.log_answers[None, :, variant, :]
            p = normalised(logs + self.local[at[open_], variant][:, None, :]).cumsum(axis=2)
            row = np.arange(len(open_))[:, None]
            uniform = rng.random((len(open_), drawn.shape[1]), dtype=np.float32)
            picked = p[:, :, :-1].reshape(-1, n_codes - 1).T[:, row * p.shape[1] + drawn[open_]]
            below[:, open_] += uniform < picked
        total = (codes == NOT_ASKED).sum(axis=1)[:, None].astype(np.int16)
        edges = np.concatenate([np.zeros_like(below[:1]), below, np.broadcast_to(total, below[:1].shape)])
        seen = count(codes, self.n_levels)
        future = np.moveaxis(np.diff(edges, axis=0), 0, -1) + seen[:, None, :]
        first = first_met(codes, self.n_levels, rank)
        now = verdict(seen, n_variants, thresholds, first)
        later = verdict(future, n_variants, thresholds, first[:, None, :])
        return np.asarray((later != now[:, None]).mean(axis=1))


# --- Evidence on answers that were not asked: of neighbouring flows, of the places of options

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
            yield _of_others(seen, expected, cell, usual * EXPECTED)
    if n_factors > 2:
        all_seen, all_expected = seen.sum(axis=1, keepdims=True), expected.sum(axis=1, keepdims=True)
        for left_out in range(n_factors):
            cell = group_rows(np.delete(factors, left_out, axis=1).T)[1]
            yield np.broadcast_to(_of_others(all_seen, all_expected, cell, usual * 2 * EXPECTED), seen.shape)


def _of_others(seen: Floats, expected: Floats, cell: Ints, added: Floats) -> Floats:
    """Return the log ratio of ``seen`` to ``expected``, summed over the other flows of each flow's cell."""
    sums = []
    for counts in (seen, expected):
        flat = counts.reshape(len(counts), -1)
        whole = np.stack([np.bincount(cell, weights=column) for column in flat.T], axis=1).astype(np.float32)
        # Sums of many small numbers, less one of them, can end a hair below 0.
        sums.append(np.maximum((whole[cell] - flat).reshape(counts.shape), 0) + added)
    return np.asarray(np.log(sums[0] / sums[1]), dtype=np.float32)


def of_places(seen: Floats, tendency: Floats, places: Ints) -> Floats:
    """Return the evidence of the options' places on each answer: an array like ``seen``; 0 for an invalid answer.

    ``places`` has the place of each level (flow, variant, level). One expects what the variant's ``tendency`` brings.
    """
    expected = seen.sum(axis=2, keepdims=True) * tendency
    counted = (answers[:, :, :-1].ravel() for answers in (seen, expected))
    given, usual = (np.bincount(places.ravel(), x) + AT_PLACES for x in counted)
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
