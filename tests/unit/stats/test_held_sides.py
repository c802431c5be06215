"""How many flows are on a side: p-values of flows, decisions over a set, what is needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cinorms.stats import held_sides
from cinorms.stats.wordings import DISSENT


def test_a_flow_has_students_test_with_one_more_template_that_dissents() -> None:
    x = np.array([[-1.0, -2, -1.5, -1, np.nan]])
    found = held_sides.sides(x, 0.0, wrong=1)
    given = x[0, :4]
    right = stats.ttest_1samp(np.append(given, DISSENT), 0, alternative="less")
    wrong = stats.ttest_1samp(np.append(given, -DISSENT), 0, alternative="greater")
    assert found.p_right[0] == pytest.approx(right.pvalue)
    assert found.p_wrong[0] == pytest.approx(wrong.pvalue)
    assert (found.mean[0], found.n_units[0]) == (-1.375, 4)
    above = held_sides.sides(-x, 0.0, wrong=-1)
    assert above.p_right == pytest.approx(found.p_right)


def test_templates_that_agree_are_no_proof_where_they_are_few() -> None:
    p = [held_sides.sides(np.full((1, n), -2.0), 0.0, 1).p_right[0] for n in (1, 2, 3, 5, 11)]
    assert p[:2] == [1, 1]
    assert p[2] > 0.05 > p[3] > p[4]


def test_a_set_passes_if_every_flow_has_evidence_and_fails_if_one_has_too_much_of_the_other() -> None:
    good, bad, unclear = np.full((1, 11), -2.0), np.full((1, 11), 2.0), np.array([[-1.0, 1] * 5 + [0]])
    decide = lambda *rows, allowed=0: held_sides.decide(held_sides.sides(np.vstack(rows), 0.0, 1), allowed)  # noqa: E731
    p_pass, p_fail = decide(good, good, good)
    assert p_pass < 0.001
    assert p_fail == 1
    p_pass, p_fail = decide(good, good, bad)
    assert p_pass > 0.99
    assert p_fail == pytest.approx(3 * held_sides.sides(bad, 0.0, 1).p_wrong[0])
    assert min(decide(good, unclear)) > 0.05
    p_pass, p_fail = decide(good, good, bad, allowed=1)
    assert p_pass == pytest.approx(2 * held_sides.sides(good, 0.0, 1).p_right[0])
    assert p_fail > 0.05
    assert decide(good, bad, allowed=2) == (0.0, 1.0)


def test_what_is_needed_makes_the_weakest_flow_clear() -> None:
    x = np.vstack([np.full((1, 4), -2.0), np.array([[-2.0, 0, -1, 0]])])
    found = held_sides.sides(x, 0.0, 1)
    assert held_sides.decide(found, 0)[0] > 0.05
    more = held_sides.more_needed(x, found, 0.0, 0, 0.05)
    assert more is not None
    again = np.tile(x[1], 1 + -(-more // 4))[None, :]
    assert held_sides.sides(again, 0.0, 1).p_right[0] < 0.05
    assert (
        held_sides.more_needed(
            np.array([[1.0, -1, 1, -1]]), held_sides.sides(np.array([[1.0, -1, 1, -1]]), 0, 1), 0.0, 0, 0.05
        )
        is None
    )


def test_what_is_needed_counts_one_template_that_dissents() -> None:
    x = np.full((1, 3), -0.5)
    more = held_sides.more_needed(x, held_sides.sides(x, 0.0, 1), 0.0, 0, 0.05)

    def enough(n: int) -> bool:
        given = np.append(np.full(n, 0.5), -DISSENT)
        reach = stats.t.ppf(0.95, n) + stats.t.ppf(0.8, n)
        return bool(reach * stats.sem(given) <= given.mean())

    assert more == next(n for n in range(3, 200) if enough(n)) - 3


@pytest.mark.slow
@pytest.mark.parametrize("templates", [3, 5, 11])
def test_a_flow_at_the_middle_is_called_neither_right_nor_wrong(templates: int) -> None:
    x = np.clip(np.round(np.random.default_rng(1).normal(0, 0.8, (20_000, templates))), -2, 2)
    found = held_sides.sides(x, 0.0, 1)
    assert (found.p_right <= 0.05).mean() <= 0.05
    assert (found.p_wrong <= 0.05).mean() <= 0.05
