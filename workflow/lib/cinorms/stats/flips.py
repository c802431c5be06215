"""Which share of the norms is another one in the new model, beyond what other wordings of one model change.

With halves A and B of the templates, drawn at random, and f(x, y) the share of flows with different norms in the
answers x and y, over the flows with a norm in both::

    between = mean of f(base A, new B) and f(base B, new A)
    within  = mean of f(base A, base B) and f(new A, new B)
    excess  = between - within

No two halves that are compared share a template. The variance is the jackknife's over templates: each draw leaves at
least one template out, and the excess without a template is the mean over the draws that leave it out. Raters are put
together in groups, which take the place of templates. More in docs/gate.md.
"""

import itertools
import math
from typing import Literal, NamedTuple

import numpy as np

from cinorms.core.arrays import Bools, Floats, Ints
from cinorms.stats.equivalence import Estimate, Term
from cinorms.stats.wordings import pooled
from rewordings import MOST_GROUPS, Majority, Rule, Verdicts, groups, jackknife_variance, verdicts_of

Change = Literal["side", "level"]

#: Draws of two halves for each template that is left out; if there are fewer ways, each of them once.
DRAWS = 126


class NormRule(NamedTuple):
    """When answers hold a norm, and when two norms are different.

    ``sides`` is the side of the scale of each level: -1, 0, 1. A norm needs ``valid`` times the number of units valid
    answers, and a single most frequent level with ``majority`` of them.
    """

    sides: tuple[int, ...]
    change: Change
    majority: Majority
    valid: float


class Flips(NamedTuple):
    """The estimate of the excess, and the two shares that it is the difference of."""

    excess: Estimate
    between: float
    within: float


def flips(
    base: Floats,
    new: Floats,
    rules: tuple[NormRule, NormRule],
    same_units: bool,
    seed: int,
    draws: int = DRAWS,
) -> Flips:
    """Return the shares of flows with different norms between the models and within them.

    ``base``, ``new``: how often each level was answered (levels x flows x units). ``rules``: when each of them holds a
    norm. ``same_units``: whether unit i of both is the same template. ``seed``, ``draws``: of the halves.
    """
    rng = np.random.default_rng(seed)
    if not same_units:
        base, new = (
            x if (n := x.shape[2]) <= MOST_GROUPS else np.asarray(x @ np.eye(MOST_GROUPS)[groups(n, rng)])
            for x in (base, new)
        )
    sizes = base.shape[2], new.shape[2]
    n_flows = int(((base.sum(axis=(0, 2)) > 0) & (new.sum(axis=(0, 2)) > 0)).sum())
    nothing = Estimate(np.nan, np.nan, np.nan, n_flows, min(sizes))
    if min(sizes) < 3 or not n_flows:
        return Flips(nothing, np.nan, np.nan)
    halves = _halves(sizes[0], rng, draws)
    others = halves if same_units else _halves(sizes[1], rng, draws)
    n = min(len(halves), len(others))
    if not same_units:  # in an order of their own, so that each meets any
        halves, others = rng.permutation(halves)[:n], rng.permutation(others)[:n]
    sums = np.zeros((n, 4))
    for start in range(0, n, draws):
        # Per draw: flips between and the flows they are of, flips within and the flows they are of.
        part = slice(start, start + draws)
        held = [
            norms((x.astype(np.float32) @ half.T.astype(np.float32)).astype(np.float64), rule, half[0].sum())
            for x, rule, given in ((base, rules[0], halves), (new, rules[1], others))
            for half in (given[part, 0], given[part, 1])
        ]
        base_a, base_b, new_a, new_b = held
        compared = ((base_a, new_b, 0), (base_b, new_a, 0), (base_a, base_b, 2), (new_a, new_b, 2))
        for (level_x, norm_x), (level_y, norm_y), at in compared:
            both = norm_x & norm_y
            sums[part, at] += (both & differ(level_x, level_y, rules[1])).sum(axis=0)
            sums[part, at + 1] += both.sum(axis=0)
    between, within = sums[:, 0].sum() / sums[:, 1].sum(), sums[:, 2].sum() / sums[:, 3].sum()
    if math.isnan(between - within):
        return Flips(nothing, between, within)
    parts = []
    for given in (halves,) if same_units else (halves, others):
        # The excess without each unit: of the draws in neither half of which it is.
        without = (~given.any(axis=1)).astype(np.float64).T @ sums
        excess = without[:, 0] / without[:, 1] - without[:, 2] / without[:, 3]
        parts.append((float(jackknife_variance(excess)), len(excess) - 1.0))
    variance, freedom = pooled(parts, otherwise=min(sizes) - 1.0)
    terms = (Term(variance, ("templates",)),)
    found = Estimate(float(between - within), float(variance), float(freedom), n_flows, min(sizes), terms)
    return Flips(found, float(between), float(within))


def norms(counts: Floats, rule: NormRule, n_units: int) -> Verdicts:
    """Return the most frequent level (its position) and whether it is a norm; ``counts`` has levels in front."""
    return verdicts_of(counts, Rule(n_units * rule.valid, rule.majority))


def differ(a: Ints, b: Ints, rule: NormRule) -> Bools:
    """Tell where two norms are different: on opposite sides of the scale, or other levels."""
    if rule.change == "level":
        return np.asarray(a != b)
    side = np.array(rule.sides)
    return np.asarray(side[a] * side[b] < 0)


def _halves(n: int, rng: np.random.Generator, draws: int) -> Bools:
    """Return draws x 2 x n: two halves of equal size, for each unit as many draws that leave it out."""
    size = (n - 1) // 2
    found = []
    for out in range(n):
        rest = [unit for unit in range(n) if unit != out]
        if math.comb(n - 1, 2 * size) * math.comb(2 * size, size) // 2 <= draws:
            pairs = [
                (a, b)
                for used in itertools.combinations(rest, 2 * size)
                for a in itertools.combinations(used, size)
                if used[0] in a
                for b in [tuple(unit for unit in used if unit not in a)]
            ]
        else:
            mixed = [rng.permutation(rest) for _ in range(draws)]
            pairs = [(tuple(order[:size]), tuple(order[size : 2 * size])) for order in mixed]
        for a, b in pairs:
            both = np.zeros((2, n), dtype=bool)
            both[0, list(a)], both[1, list(b)] = True, True
            found.append(both)
    return np.array(found)
