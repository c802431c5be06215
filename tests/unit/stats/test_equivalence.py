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
    x = (
        np.random.default_rng(1).normal(0.2, 1, (30, 7))
        + np.linspace(-1, 1, 30)[:, None]
        + np.linspace(-1, 1, 7)
    )
    for fixed in (True, False):
        found = equivalence.paired(x, fixed)
        mean, std_err, low, high = wordings.mean_interval(x, fixed)
        assert (found.value, math.sqrt(found.variance)) == pytest.approx((mean, std_err))
        assert found.interval(0.95) == pytest.approx((low, high))
    assert (found.n_flows, found.n_templates) == (30, 7)
    flows, templates = x.mean(axis=1), x.mean(axis=0)
    rest = ((x - flows[:, None] - templates + mean) ** 2).sum() / (29 * 6) / x.size
    parts = (templates.var(ddof=1) / 7 - rest, flows.var(ddof=1) / 30 - rest, rest)
    assert [term.variance for term in found.terms] == pytest.approx(parts)
    assert [term.units for term in found.terms] == [("templates",), ("flows",), ("templates", "flows")]


def test_independent_sides_are_welchs_test_of_their_units():
    rng = np.random.default_rng(2)
    base, new = rng.normal(0, 1, (20, 8)), rng.normal(0.5, 2, (20, 30))
    expected = stats.ttest_ind(new.mean(axis=0), base.mean(axis=0), equal_var=False)
    of_units = (expected.confidence_interval(0.95).high - expected.confidence_interval(0.95).low) / 2
    of_units = (of_units / stats.t.ppf(0.975, expected.df)) ** 2
    of_flows = (new.mean(axis=1) - base.mean(axis=1)).var(ddof=1) / 20
    base, new = (np.pad(x, ((0, 1), (0, 1)), constant_values=np.nan) for x in (base, new))
    base[20] = 0  # a flow without an answer on one side, and a unit without any
    found = equivalence.independent(base, new, fixed_flows=True)
    assert found.interval(0.95) == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert (found.value, found.n_flows, found.n_templates) == (
        pytest.approx(np.mean(found.interval(0.9))),
        20,
        8,
    )
    sampled = equivalence.independent(base, new, fixed_flows=False)
    assert [term.variance for term in sampled.terms] == pytest.approx([of_units, of_flows])
    assert sampled.variance == pytest.approx(of_units + of_flows)
    assert (sampled.value, sampled.terms[1].units) == (found.value, ("flows",))


@pytest.mark.parametrize(
    ("flows", "units", "fixed", "known"),
    [(1, 3, True, 1), (1, 3, False, 0), (2, 1, True, 0), (2, 2, False, 1)],
)
def test_a_variance_needs_two_templates_and_two_flows_of_a_sample(flows, units, fixed, known):
    x = np.arange(6.0).reshape(2, 3)[:flows, :units]
    for found in (equivalence.paired(x, fixed), equivalence.independent(x * 0, x, fixed)):
        assert (found.value, found.n_flows, found.n_templates) == (x.mean(), flows, units)
        assert math.isnan(found.variance) != known == bool(found.terms)


def test_two_one_sided_tests_agree_with_the_interval():
    x = np.random.default_rng(3).normal(0, 1, (40, 9))
    found = equivalence.paired(x, True)
    low, high = found.interval(0.90)
    limit = max(-low, high)
    for value in (found.value, -found.value):
        p_pass, _ = equivalence.decide(found._replace(value=value), DifferenceLimits(-limit, limit))
        assert p_pass == pytest.approx(0.05)
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
    for n, needed in ((1, ("templates", 2)), (2, ("templates", 1)), (3, None)):
        found = equivalence.paired(np.zeros((50, n)), True)
        assert equivalence.decide(found, DifferenceLimits(-1, 1)) == ((1.0, 1.0) if needed else (0.0, 1.0))
        assert equivalence.more_needed(found, DifferenceLimits(-1, 1), 0.05, 0.05) == needed
    one = equivalence.paired(np.zeros((50, 1)), True)
    assert equivalence.more_needed(one, DifferenceLimits(-1, 1, 2), 0.05, 0.05) == ("templates", 2)
    empty = equivalence.paired(np.full((3, 4), np.nan), True)
    assert math.isnan(empty.value)
    assert equivalence.decide(empty, DifferenceLimits(-1, 1)) == (1.0, 1.0)


def test_the_number_of_templates_needed_is_the_smallest_that_is_enough():
    x = np.random.default_rng(4).normal(0, 1, (1, 6)) + np.zeros((10, 1))
    found = equivalence.paired(x - x.mean() + 0.1, True)
    limits = DifferenceLimits(-0.5, 0.5)

    def enough(n: int, alpha: float) -> bool:
        freedom = 5 * n / 6  # which grow with the templates
        reach = stats.t.ppf(1 - alpha, freedom) + stats.t.ppf(0.8, freedom)
        return bool(reach * math.sqrt(found.variance * 6 / n) <= 0.4)

    for value, alpha in ((0.1, 0.05), (-0.1, 0.05), (0.9, 0.01), (-0.9, 0.01)):
        total = next(n for n in range(7, 999) if enough(n, alpha))
        needed = equivalence.more_needed(found._replace(value=value), limits, 0.05, 0.01)
        assert needed == ("templates", total - 6)
    assert equivalence.more_needed(found._replace(value=0.5), limits, 0.05, 0.05) is None
    assert [
        equivalence.fewest_enough(lambda n, least=least: n >= least, 5) for least in (1, 9999, 10_000, 10_001)
    ] == [
        *(6, 9999, 10_000),
        None,
    ]


def test_where_the_flows_vary_more_flows_are_needed():
    x = np.random.default_rng(6).normal(0, 1, (12, 1)) + np.random.default_rng(7).normal(0, 0.01, (12, 8))
    found = equivalence.paired(x - x.mean(), False)
    of_templates, *of_flows = (term.variance for term in found.terms)

    def enough(n: int) -> bool:
        freedom = found.freedom * n / 12
        reach = stats.t.ppf(0.95, freedom) + stats.t.ppf(0.8, freedom)
        return bool(reach * math.sqrt(of_templates + sum(of_flows) * 12 / n) <= 0.25 - abs(found.value))

    total = next(n for n in range(13, 999) if enough(n))
    assert equivalence.more_needed(found, DifferenceLimits(-0.25, 0.25), 0.05, 0.05) == ("flows", total - 12)


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
    for other in (equivalence.sides(-x, 0.0, -1, DISSENT), equivalence.sides(x + 1, 1.0, 1, DISSENT)):
        assert (other.mean, other.p_right) == (found.mean, pytest.approx(found.p_right))
    # Templates that agree are no proof where they are few.
    p = [equivalence.sides(np.full((1, n), -2.0), 0.0, 1, 0.75).p_right[0] for n in (1, 2, 3, 5, 11)]
    assert p[:2] == [1, 1]
    assert 1 > p[2] > 0.05 > p[3] > p[4]


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
    assert decide(unclear, unclear, unclear) == (
        pytest.approx(equivalence.sides(unclear, 0.0, 1, 0.75).p_right[0]),
        1,
    )
    assert decide(unclear, unclear, unclear, allowed=1)[0] == 1
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


@pytest.mark.parametrize("allowed", [0, 1])
def test_what_is_needed_counts_one_template_that_dissents(allowed):
    def more(*rows: list[float]) -> int | None:
        x = np.array(rows)
        return equivalence.more_for_sides(x, equivalence.sides(x, 0.0, 1, DISSENT), 0.0, allowed, 0.05)

    def enough(n: int) -> bool:
        centre = (n * 0.5 - DISSENT) / (n + 1)
        squares = (n - 1) * 0.2**2 + n * (0.5 - centre) ** 2 + (DISSENT + centre) ** 2
        reach = stats.t.ppf(1 - 0.05 / (allowed + 1), n) + stats.t.ppf(0.8, n)
        return bool(reach * math.sqrt(squares / n / (n + 1)) <= centre)

    weaker = [[-0.1, 0.1, np.nan]] * allowed
    assert more([-0.3, -0.5, -0.7], *weaker) == next(n for n in range(3, 200) if enough(n)) - 3
    assert more([-2.0, np.nan, np.nan], *weaker) == 2
    assert more([-2.0, -1.0, np.nan], *weaker) > 1
