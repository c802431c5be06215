"""How likely the verdict on a flow changes with the variants that it was not asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cinorms.norms.thresholds import Thresholds
from cinorms.stats.deciding.classes import (
    Classes,
    fit_classes,
    indicators,
    normalised,
    tendencies,
)
from cinorms.stats.deciding.neighbours import evidence
from cinorms.stats.deciding.places import place_evidence
from cinorms.stats.deciding.pooling import fit_weights
from cinorms.stats.deciding.verdicts import NOT_ASKED, count, first_met, verdict

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.intp]

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
        last: Predictor | None = None,
    ) -> Predictor:
        """Return the predictor fitted to all answers seen so far; ``last`` is where the search begins.

        ``codes`` is flow by variant: positions on the scale, ``n_levels`` for an invalid answer, ``NOT_ASKED``.
        ``places`` are those of the options in the prompts (`place_evidence`), if they are known.
        """
        seen = indicators(codes, n_levels + 1)
        tendency = tendencies(seen)
        classes, members = fit_classes(seen, rng, *((last.members, 10) if last else ()))
        flow, variant = np.nonzero(codes != NOT_ASKED)
        if len(flow) > SAMPLE:
            drawn = rng.choice(len(flow), SAMPLE, replace=False)
            flow, variant = flow[drawn], variant[drawn]
        log_tendency = np.log(tendency)
        kinds = list(evidence(seen, tendency, factors))
        if places is not None:
            kinds.append(place_evidence(seen, tendency, places))
        sample = [
            log_tendency[variant],
            _without_own(classes, seen, flow, variant) - log_tendency[variant],
            *(kind[flow, variant] for kind in kinds),
        ]
        weights = fit_weights(np.stack(sample, axis=2), codes[flow, variant]).astype(np.float32)
        local = np.broadcast_to((weights[0] - weights[1]) * log_tendency, seen.shape).astype(np.float32)
        for weight, kind in zip(weights[2:], kinds, strict=True):
            local += weight * kind
        return cls(n_levels, classes, members, float(weights[1]), local)

    def change(
        self,
        at: Ints,
        codes: Ints,
        thresholds: Thresholds,
        rank: Ints,
        rng: np.random.Generator,
    ) -> npt.NDArray[np.float64]:
        """Return the probability that the verdict on each of the flows ``at`` changes when all else is asked.

        ``codes`` has their seen answers, row for row; they may be fewer than those that the predictor was fitted to.
        ``rank`` is the place of each variant among them all sorted as strings (`verdicts.first_met`).
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
        self,
        at: Ints,
        codes: Ints,
        thresholds: Thresholds,
        rank: Ints,
        rng: np.random.Generator,
        draws: int,
    ) -> npt.NDArray[np.float64]:
        n_codes, n_variants = self.n_levels + 1, codes.shape[1]
        drawn = _draw_classes(normalised(self.classes.log_joint(indicators(codes, n_codes))), rng, draws)
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


def _without_own(classes: Classes, seen: Floats, flow: Ints, variant: Ints) -> Floats:
    """Return the log probability of each answer by the flow's class, as the flow's other answers tell it."""
    own = np.einsum("ac,kac->ak", seen[flow, variant], classes.log_answers[:, variant])
    members = normalised(classes.log_joint(seen)[flow] - own)
    mixed = np.einsum("ak,kac->ac", members, np.exp(classes.log_answers[:, variant]))
    return np.asarray(np.log(mixed), dtype=np.float32)


def _draw_classes(members: Floats, rng: np.random.Generator, draws: int) -> Ints:
    """Return ``draws`` classes for each flow, as its ``members`` tell how likely they are."""
    edges = members.cumsum(axis=1)[:, None, :-1]
    uniform = rng.random((len(members), draws, 1), dtype=np.float32)
    return np.asarray((uniform >= edges).sum(axis=2), dtype=np.intp)
