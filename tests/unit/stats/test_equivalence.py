"""Estimates of a difference, decisions against limits, and how many more templates a decision needs."""

import math

import numpy as np
import pytest
from scipy import stats

from cinorms.stats import equivalence, wordings
from cinorms.stats.equivalence import DifferenceLimits

#: How far a template that dissents is on the other side.
DISSENT = 0.75


def test_paired_differences_have_the_two_way_interval():
    x = np.random.default_rng(1).normal(0.2, 1, (30, 7))
    for fixed in (True, False):
        found = equivalence.paired(x, fixed)
        mean, std_err, low, high = wordings.mean_interval(x, fixed)
        assert (found.value, math.sqrt(found.variance)) == pytest.approx((mean, std_err))
        assert found.interval(0.95) == pytest.approx((low, high))
        assert sum(term.variance for term in found.terms) == pytest.approx(found.variance)
    assert (found.n_flows, found.n_templates) == (30, 7)
    assert equivalence.paired(x[:, :2], True).variance == pytest.approx(x[:, :2].mean(axis=0).var(ddof=1) / 2)


def test_independent_sides_are_welchs_test_of_their_units():
    rng = np.random.default_rng(2)
    base, new = rng.normal(0, 1, (20, 8)), rng.normal(0.5, 2, (20, 30))
    found = equivalence.independent(base, new, fixed_flows=True)
    expected = stats.ttest_ind(new.mean(axis=0), base.mean(axis=0), equal_var=False)
    assert found.value == pytest.approx(new.mean() - base.mean())
    assert found.interval(0.95) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.n_templates == 8


def test_two_one_sided_tests_agree_with_the_interval():
    x = np.random.default_rng(3).normal(0, 1, (40, 9))
    found = equivalence.paired(x, True)
    low, high = found.interval(0.90)
    limit = max(-low, high)
    assert equivalence.decide(found, DifferenceLimits(-limit, limit))[0] == pytest.approx(0.05)
    assert equivalence.decide(found, DifferenceLimits(-limit - 0.01, limit + 0.01))[0] < 0.05
    expected = stats.ttest_1samp(x.mean(axis=0), 0)
    assert equivalence.decide(found, DifferenceLimits(-1e-12, 1e-12))[1] == pytest.approx(
        expected.pvalue, rel=1e-6
    )
    one_sided = stats.ttest_1samp(x.mean(axis=0), 0.1, alternative="greater")
    assert equivalence.decide(found, DifferenceLimits(-math.inf, 0.1)) == pytest.approx(
        (1 - one_sided.pvalue, one_sided.pvalue)
    )


@pytest.mark.parametrize(
    ("value", "p_pass", "p_fail"), [(0.0, 0.0, 1.0), (0.3, 1.0, 0.0), (-0.3, 1.0, 0.0), (0.2, 1.0, 1.0)]
)
def test_differences_that_do_not_vary_are_decided_by_the_limits(value, p_pass, p_fail):
    found = equivalence.paired(np.full((5, 4), value), True)
    assert equivalence.decide(found, DifferenceLimits(-0.2, 0.2)) == (p_pass, p_fail)


def test_too_few_templates_decide_nothing():
    for n in (1, 2):
        found = equivalence.paired(np.zeros((50, n)), True)
        assert equivalence.decide(found, DifferenceLimits(-1, 1)) == (1.0, 1.0)
        assert equivalence.more_needed(found, DifferenceLimits(-1, 1), 0.05, 0.05) == ("templates", 3 - n)
    empty = equivalence.paired(np.full((3, 4), np.nan), True)
    assert math.isnan(empty.value)
    assert equivalence.decide(empty, DifferenceLimits(-1, 1)) == (1.0, 1.0)


def test_the_number_of_templates_needed_is_the_smallest_that_is_enough():
    x = np.random.default_rng(4).normal(0, 1, (1, 6)) + np.zeros((10, 1))
    found = equivalence.paired(x - x.mean() + 0.1, True)
    limits = DifferenceLimits(-0.5, 0.5)
    needed = equivalence.more_needed(found, limits, 0.05, 0.05)
    assert needed is not None
    assert equivalence.more_needed(found._replace(value=-0.1), limits, 0.05, 0.05) == needed
    total, sd = 6 + needed[1], math.sqrt(found.variance * 6)

    def reach(n: int) -> float:
        freedom = n - 1
        return float((stats.t.ppf(0.95, freedom) + stats.t.ppf(0.8, freedom)) * sd / math.sqrt(n))

    # The degrees of freedom grow with the templates; n - 1 and (6 - 1) n / 6 are alike.
    assert reach(total + 1) <= 0.4 <= reach(total - 2)


def test_a_difference_at_the_limit_is_never_decided():
    x = np.random.default_rng(5).normal(0, 1, (10, 6))
    found = equivalence.paired(x - x.mean() + 0.5, True)
    assert equivalence.more_needed(found, DifferenceLimits(-0.5, 0.5), 0.05, 0.05) is None


def test_where_the_flows_vary_more_flows_are_needed():
    x = np.random.default_rng(6).normal(0, 1, (12, 1)) + np.random.default_rng(7).normal(0, 0.01, (12, 8))
    found = equivalence.paired(x - x.mean(), False)
    needed = equivalence.more_needed(found, DifferenceLimits(-0.25, 0.25), 0.05, 0.05)
    assert needed is not None
    assert needed[0] == "flows"
    assert needed[1] > 12


def test_one_more_template_that_dissents_speaks_against_a_pass_only():
    x = np.random.default_rng(8).normal(0, 0.01, (1, 8))
    found = equivalence.paired(x, True)
    plain, cautious = (
        equivalence.decide(found, DifferenceLimits(-math.inf, 0.02, dissent)) for dissent in (None, 0.04)
    )
    expected = stats.ttest_1samp(np.append(x, 0.04), 0.02, alternative="less")
    assert cautious[0] == pytest.approx(expected.pvalue)
    assert cautious[0] > plain[0]
    assert cautious[1] == plain[1]
    # Templates without a single such answer: three are not enough, eleven are.
    few, many = (equivalence.paired(np.zeros((9, n)), True) for n in (3, 11))
    assert equivalence.decide(few, DifferenceLimits(-math.inf, 0.02, 0.04))[0] > 0.05
    assert equivalence.decide(many, DifferenceLimits(-math.inf, 0.02, 0.04))[0] < 0.001
    three = equivalence.paired(x[:, :3] - x[:, :3].mean(), True)
    needed = [
        equivalence.more_needed(three, DifferenceLimits(-math.inf, 0.02, d), 0.05, 0.05) for d in (None, 0.04)
    ]
    assert needed[1] > needed[0] == ("templates", 1)


def test_a_flow_has_students_test_with_one_more_template_that_dissents():
    x = np.array([[-1.0, -2, -1.5, -1, np.nan]])
    found = equivalence.sides(x, 0.0, 1, DISSENT)
    given = x[0, :4]
    right = stats.ttest_1samp(np.append(given, DISSENT), 0, alternative="less")
    wrong = stats.ttest_1samp(np.append(given, -DISSENT), 0, alternative="greater")
    assert found.p_right[0] == pytest.approx(right.pvalue)
    assert found.p_wrong[0] == pytest.approx(wrong.pvalue)
    assert (found.mean[0], found.n_units[0]) == (-1.375, 4)
    above = equivalence.sides(-x, 0.0, -1, 0.75)
    assert above.p_right == pytest.approx(found.p_right)


def test_templates_that_agree_are_no_proof_where_they_are_few():
    p = [equivalence.sides(np.full((1, n), -2.0), 0.0, 1, 0.75).p_right[0] for n in (1, 2, 3, 5, 11)]
    assert p[:2] == [1, 1]
    assert p[2] > 0.05 > p[3] > p[4]


def test_a_set_passes_if_every_flow_has_evidence_and_fails_if_one_has_too_much_of_the_other():
    good, bad, unclear = np.full((1, 11), -2.0), np.full((1, 11), 2.0), np.array([[-1.0, 1] * 5 + [0]])

    def decide(*rows: np.ndarray, allowed: int = 0) -> tuple[float, float]:
        return equivalence.decide_sides(equivalence.sides(np.vstack(rows), 0.0, 1, 0.75), allowed)

    p_pass, p_fail = decide(good, good, good)
    assert p_pass < 0.001
    assert p_fail == 1
    p_pass, p_fail = decide(good, good, bad)
    assert p_pass > 0.99
    assert p_fail == pytest.approx(3 * equivalence.sides(bad, 0.0, 1, 0.75).p_wrong[0])
    assert min(decide(good, unclear)) > 0.05
    p_pass, p_fail = decide(good, good, bad, allowed=1)
    assert p_pass == pytest.approx(2 * equivalence.sides(good, 0.0, 1, 0.75).p_right[0])
    assert p_fail > 0.05
    assert decide(good, bad, allowed=2) == (0.0, 1.0)


def test_what_is_needed_makes_the_weakest_flow_clear():
    x = np.vstack([np.full((1, 4), -2.0), np.array([[-2.0, 0, -1, 0]])])
    found = equivalence.sides(x, 0.0, 1, DISSENT)
    assert equivalence.decide_sides(found, 0)[0] > 0.05
    more = equivalence.more_for_sides(x, found, 0.0, 0, 0.05)
    assert more is not None
    assert equivalence.more_for_sides(x + 1, equivalence.sides(x + 1, 1.0, 1, 0.75), 1.0, 0, 0.05) == more
    again = np.tile(x[1], 1 + -(-more // 4))[None, :]
    assert equivalence.sides(again, 0.0, 1, 0.75).p_right[0] < 0.05
    tied = np.array([[1.0, -1, 1, -1]])
    assert equivalence.more_for_sides(tied, equivalence.sides(tied, 0, 1, 0.75), 0.0, 0, 0.05) is None


def test_what_is_needed_counts_one_template_that_dissents():
    x = np.full((1, 3), -0.5)
    more = equivalence.more_for_sides(x, equivalence.sides(x, 0.0, 1, DISSENT), 0.0, 0, 0.05)

    def enough(n: int) -> bool:
        given = np.append(np.full(n, 0.5), -DISSENT)
        reach = stats.t.ppf(0.95, n) + stats.t.ppf(0.8, n)
        return bool(reach * stats.sem(given) <= given.mean())

    assert more == next(n for n in range(3, 200) if enough(n)) - 3
