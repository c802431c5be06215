"""Flips of norms: by plain code, and no excess for models that are the same."""

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from cinorms.stats import flips
from cinorms.stats.equivalence import Term

LEVELS = (-2, -1, 0, 1, 2)
RULE = flips.NormRule((-1, -1, 0, 1, 1), "side", "plurality", 0.0)
Floats = npt.NDArray[np.float64]


def counts(x: Floats) -> Floats:
    """Return levels x flows x templates."""
    return np.stack([(x == level).sum(axis=2) for level in LEVELS]).astype(float)


def answers(seed: int, lean: Floats, templates: int = 11, noise: float = 1.0) -> Floats:
    x = lean[:, None, None] + np.random.default_rng(seed).normal(0, noise, (len(lean), templates, 3))
    return np.clip(np.round(x), -2, 2)


def test_norms_need_a_single_most_frequent_level_a_majority_and_enough_answers():
    x = np.array([[3, 0, 0, 0, 0], [2, 2, 0, 0, 0], [2, 1, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]]).T
    level, held = flips.norms(x.astype(float), RULE, 3)
    assert level[:1].tolist() == [0]
    assert held.tolist() == [True, False, True, True, False]
    strict = RULE._replace(majority=0.6, valid=1.0)
    assert flips.norms(x.astype(float), strict, 3)[1].tolist() == [True, False, False, False, False]


def test_a_side_and_a_level():
    a, b = np.array([0, 1, 2, 4]), np.array([1, 3, 4, 4])
    assert flips.differ(a, b, RULE).tolist() == [False, True, False, False]
    assert flips.differ(a, b, RULE._replace(change="level")).tolist() == [True, True, True, False]


def norm(levels: Floats) -> float | None:
    """Return the single most frequent level of some answers."""
    found = [(int((levels == level).sum()), level) for level in LEVELS]
    (top, level), (second, _) = sorted(found, reverse=True)[:2]
    return level if top > second else None


def share_that_differs(x: Floats, y: Floats, part: list[int], other: list[int]) -> tuple[int, int]:
    """Return the flows on other sides, and those with a norm in both parts."""
    both = [(norm(a[part]), norm(b[other])) for a, b in zip(x, y, strict=True)]
    held = [(a, b) for a, b in both if a is not None and b is not None]
    return sum(a * b < 0 for a, b in held), len(held)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_every_two_halves_by_plain_code(n):
    rng = np.random.default_rng(n)
    base, new = (np.clip(np.round(rng.normal(lean, 1.5, (12, n, 3))), -2, 2) for lean in (0.3, -0.3))
    base[0], new[1], base[2, 0] = np.nan, np.nan, np.nan
    size, draws = (n - 1) // 2, []
    for used in itertools.combinations(range(n), 2 * size):
        for a in itertools.combinations(used, size):
            b = [unit for unit in used if unit not in a]
            if a[0] == used[0]:
                parts = [*((base, new, *ab) for ab in ((a, b), (b, a))), (base, base, a, b), (new, new, a, b)]
                found = np.array([share_that_differs(x, y, list(i), list(j)) for x, y, i, j in parts])
                draws.append((set(used), found[:2].sum(axis=0), found[2:].sum(axis=0)))

    def shares(without: int | None = None) -> Floats:
        kept = [draw[1:] for draw in draws if without not in draw[0]]
        return np.array([flips / flows for flips, flows in np.sum(kept, axis=0)])

    excess = np.array([-np.diff(shares(unit))[0] for unit in range(n)])
    found = flips.flips(counts(base), counts(new), (RULE, RULE), True, 1)
    assert (found.between, found.within) == pytest.approx(tuple(shares()))
    value, variance, *rest = found.excess
    assert value == found.between - found.within
    assert variance == pytest.approx((n - 1) / n * ((excess - excess.mean()) ** 2).sum())
    assert rest == [n - 1, 10, n, (Term(variance, ("templates",)),)]


def test_models_that_share_no_units_have_the_variance_of_both():
    lean = np.random.default_rng(0).normal(0, 1, 40)
    base, new = counts(answers(1, lean, 4)), counts(answers(2, lean, 6))
    found = flips.flips(base, new, (RULE, RULE), False, 1)
    assert (found.between, found.within) == pytest.approx((14 / 499, 2 / 163))
    assert found.excess[1:5] == pytest.approx((0.0008691111, 7.286486, 40, 4))
    many = counts(answers(3, lean, 14)), counts(answers(4, lean, 14))
    found = flips.flips(*many, (RULE, RULE), True, 1, 20)
    assert found.excess[:3] == pytest.approx((-0.001426068, 0.0002127856, 13))


@pytest.mark.parametrize("same_units", [True, False])
def test_models_with_the_same_norms_have_no_excess_however_noisy(same_units):
    lean = np.random.default_rng(0).normal(0, 0.2, 200)
    found = [
        flips.flips(
            counts(answers(2 * i, lean)), counts(answers(2 * i + 1, lean)), (RULE, RULE), same_units, i, 30
        )
        for i in range(20)
    ]
    assert np.mean([each.within for each in found]) > 0.03
    values = np.array([each.excess.value for each in found])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(len(values))
    assert np.mean([each.excess.variance for each in found]) > 0.6 * values.var()


def test_raters_are_put_together_and_too_few_units_give_no_estimate():
    lean = np.random.default_rng(0).normal(0, 1.5, 100)
    people, others = (answers(seed, lean, templates=60)[:, :, :1] for seed in (1, 2))
    found = flips.flips(counts(people), counts(others), (RULE, RULE), False, 1)
    assert found.excess.n_templates == 15
    assert abs(found.excess.value) < 0.05
    few = flips.flips(counts(people[:, :2]), counts(answers(2, lean)), (RULE, RULE), False, 1)
    assert np.isnan(few.excess.value)
    nothing = flips.flips(np.zeros((5, 4, 6)), np.zeros((5, 4, 6)), (RULE, RULE), True, 1)
    assert nothing.excess.n_flows == 0
    assert np.isnan(nothing.excess.value)


def test_every_two_halves_are_drawn_once_where_there_are_few():
    every, again, seeded, other, odd = (
        flips._halves(n, np.random.default_rng(seed), draws)
        for n, seed, draws in ((11, 1, 126), (11, 2, 126), (11, 1, 125), (11, 2, 125), (12, 1, 126))
    )
    assert (every == again).all()
    assert len(np.unique(every, axis=0)) == 11 * 126
    assert seeded.shape == other.shape == (11 * 125, 2, 11)
    assert (seeded != other).any()
    assert (odd.sum(axis=2) == 5).all()
