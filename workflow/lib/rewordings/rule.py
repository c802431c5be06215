"""The rule that turns the answers to an item into one verdict, or into a reason why there is none."""

from typing import Literal, NamedTuple

import numpy as np

from rewordings.arrays import Bools, Floats, Ints, divide

#: A whole number remains one.
Majority = int | float | Literal["plurality"]
Consensus = Literal["strict", "papers"]


class Rule(NamedTuple):
    """What an item needs for a verdict.

    ``fewest``: valid answers (one in any case). ``majority``: the share of them that the most frequent answer needs, in
    (0, 1], or ``"plurality"`` for none. ``consensus``: ``strict``, where several most frequent answers are a tie and no
    verdict; ``papers``, where a tie gives one of them, and a majority is a count, rounded half to even.
    """

    fewest: float = 1
    majority: Majority = 0.5
    consensus: Consensus = "strict"


class Verdicts(NamedTuple):
    """The place of the most frequent level among the levels, and whether it is a verdict."""

    level: Ints
    held: Bools


def reasons(n_valid: Ints, top: Ints, tie: Bools, rule: Rule) -> Ints:
    """Return for each item 0 where it has a verdict; else 1: too few answers, 2: no majority, 3: a tie.

    ``top`` is the count of the most frequent level, ``tie`` whether another has it too.
    """
    if rule.majority == "plurality":
        agreed = np.ones(n_valid.shape, dtype=bool)
    elif rule.consensus == "papers":
        agreed = top >= np.rint(rule.majority * n_valid)  # rint rounds half to even, as Python's round
    else:
        agreed = divide(top, n_valid) >= rule.majority
    kept, below, no_majority, tied = range(4)
    code = np.where(agreed, kept, no_majority)
    if rule.consensus == "strict":
        code = np.where(tie, tied, code)
    return np.where((n_valid < rule.fewest) | (n_valid == 0), below, code)


def verdicts_of(counts: Floats, rule: Rule) -> Verdicts:
    """Return the verdicts that ``counts`` of the levels (first axis) give."""
    size, top = counts.sum(axis=0), counts.max(axis=0)
    tie = (counts == top).sum(axis=0) > 1
    return Verdicts(counts.argmax(axis=0), reasons(size.astype(np.int64), top, tie, rule) == 0)


def verdicts_of_parts(counts: Floats, rule: Rule, size: int, draws: int, parts: int) -> Verdicts:
    """Return the verdicts of random parts of ``size`` wordings: items x (draws x parts); parts of a draw share none.

    ``counts`` are levels x items x wordings. A verdict needs the part's share of the fewest valid answers. The draws
    depend on nothing but the number of wordings.
    """
    n = counts.shape[2]
    rng, chosen = np.random.default_rng(n), np.zeros((n, draws * parts))
    for draw in range(draws):
        for part, members in enumerate(rng.permutation(n)[: parts * size].reshape(parts, size)):
            chosen[members, draw * parts + part] = 1
    return verdicts_of(counts @ chosen, rule._replace(fewest=rule.fewest * (size / n)))


def levels_held(counts: Floats, rule: Rule) -> Ints:
    """Return the place of each item's verdict among the levels, -1 where it has none (``counts``: with wordings)."""
    verdicts = verdicts_of(counts.sum(axis=2), rule)
    return np.where(verdicts.held, verdicts.level, -1)
