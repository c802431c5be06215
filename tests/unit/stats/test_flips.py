"""Flips of norms: shares by hand, no excess for models that are the same, the planted share for those that are not."""

import numpy as np
import numpy.typing as npt
import pytest

from cinorms.stats import flips

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


def test_norms_without_noise_give_the_share_that_changed():
    base = np.repeat(np.array([[-2.0], [2.0], [1.0], [-1.0]]), 7, axis=1)[:, :, None]
    new = base.copy()
    new[0] = 2
    found = flips.flips(counts(base), counts(new), (RULE, RULE), True, 1)
    assert (found.between, found.within) == (0.25, 0.0)
    assert found.excess[:2] == (0.25, 0.0)
    assert found.excess.n_templates == 7


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


def test_the_halves_are_seeded():
    lean = np.random.default_rng(0).normal(0, 0.5, 50)
    a, b = counts(answers(1, lean, 14)), counts(answers(2, lean, 14))
    one, two, other = (flips.flips(a, b, (RULE, RULE), True, seed, 20) for seed in (1, 1, 2))
    assert one == two
    assert one.excess != other.excess
