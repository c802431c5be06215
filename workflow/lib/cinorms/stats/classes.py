"""Classes of people: a mixture in which everybody of a class gives the same share of high answers at each level.

People are known by sums of answers (from 0 to 1) and numbers of answers at each level of a factor. For answers of 0
and 1 this is the latent class model; for answers between, its quasi-likelihood.
"""

from typing import NamedTuple

import numpy as np

from cinorms.stats.arrays import Floats

#: Starts and rounds of EM, and the parts of people in which the number of classes is tried out.
STARTS, ROUNDS, FOLDS = 6, 60, 5
#: No class gives one answer to everything for certain: as if it had given half an answer more of each side.
HALF = 0.5


class CrowdClasses(NamedTuple):
    """The share of each class, largest first, and its mean answer at each level (classes x levels)."""

    share: Floats
    profile: Floats

    def member(self, sums: Floats, counts: Floats) -> Floats:
        """Return the probability of each class for each person."""
        return _weights(self, sums, counts)[0]


def fit_classes(sums: Floats, counts: Floats, n: int, seed: int) -> CrowdClasses:
    """Fit ``n`` classes to people's ``sums`` and ``counts`` of answers (people x levels); the best of some starts."""
    rng, best, found = np.random.default_rng(seed), -np.inf, None
    mean = (sums.sum(axis=0) + HALF) / (counts.sum(axis=0) + 2 * HALF)
    own = (sums + 2 * mean) / (counts + 2)
    for _ in range(STARTS if n > 1 else 1):
        start = own[rng.choice(len(own), n, replace=False)] if n > 1 else mean[None]
        classes = CrowdClasses(np.full(n, 1 / n), start)
        for _ in range(ROUNDS if n > 1 else 1):
            weight, score = _weights(classes, sums, counts)
            classes = CrowdClasses(
                (weight.sum(axis=0) + HALF) / (len(weight) + n * HALF),
                (weight.T @ sums + HALF) / (weight.T @ counts + 2 * HALF),
            )
        if score > best:
            best, found = score, classes
    assert found is not None
    order = np.argsort(-found.share, kind="stable")
    return CrowdClasses(found.share[order], found.profile[order])


def held_out(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], n: int, seed: int
) -> tuple[float, float]:
    """Return how well ``n`` classes predict answers they have not seen: the mean log-likelihood of one, and its error.

    Classes are fitted to other people; a person's class is known from the ``first`` half of the person's answers
    (sums, counts), and the ``second`` half is predicted.
    """
    part = np.random.default_rng(seed).permutation(len(first[0])) % FOLDS
    score, size = np.zeros((2, len(part)))
    for fold in range(FOLDS):
        here = part == fold
        both = [a[~here] + b[~here] for a, b in zip(first, second, strict=True)]
        classes = fit_classes(both[0], both[1], n, seed)
        weight = classes.member(first[0][here], first[1][here])
        logs = _logs(classes.profile, second[0][here], second[1][here])
        top = logs.max(axis=1, keepdims=True)
        score[here] = np.log((weight * np.exp(logs - top)).sum(axis=1)) + top[:, 0]
        size[here] = second[1][here].sum(axis=1)
    mean = score.sum() / size.sum()
    error = np.sqrt(((score - mean * size) ** 2).sum()) / size.sum()
    return float(mean), float(error)


def choose(scores: list[tuple[float, float]]) -> int:
    """Return the smallest number of classes whose score is within a standard error of the best one's."""
    best = max(scores)
    return 1 + next(at for at, (score, _) in enumerate(scores) if score >= best[0] - best[1])


def _logs(profile: Floats, sums: Floats, counts: Floats) -> Floats:
    return np.asarray(sums @ np.log(profile).T + (counts - sums) @ np.log1p(-profile).T)


def _weights(classes: CrowdClasses, sums: Floats, counts: Floats) -> tuple[Floats, float]:
    """Return the probability of each class for each person, and the log-likelihood."""
    logs = np.log(classes.share) + _logs(classes.profile, sums, counts)
    top = logs.max(axis=1, keepdims=True)
    weight = np.exp(logs - top)
    total = weight.sum(axis=1, keepdims=True)
    return weight / total, float((np.log(total) + top).sum())
