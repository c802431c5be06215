"""Two groups of people: chance puts a second group where the ceiling says; other people are found; one person twice."""

import numpy as np
import pytest

from cinorms.stats.ceilings import compare_groups, compare_pairs
from cinorms.stats.samples import Sample

from .people import rated


def by_measure(rows):
    return {row["measure"]: row for row in rows}


@pytest.mark.parametrize(
    ("flows", "one", "other", "options", "runs"),
    [
        (40, (15, 5), (20, 8), True, 60),
        pytest.param(98, (23, 5), (29, 12), True, 200, marks=pytest.mark.slow),
        pytest.param(60, (26, 5), (46, 20), False, 200, marks=pytest.mark.slow),
    ],
)
def test_a_second_group_is_where_the_ceiling_says(flows, one, other, options, runs):
    """Both groups are of the same people: 95% of groups are in the range, and the mean square is as expected."""
    rng, inside, squares = np.random.default_rng(3), [], []
    for _ in range(runs):
        norms = rng.normal(0, 44, flows)
        rows = compare_groups(*(rated(rng, norms, *size, options=options) for size in (one, other)))
        inside.append([row["verdict"] == "as_expected" for row in rows])
        rms = by_measure(rows)["rms"]
        squares.append((rms["estimate"] / rms["expected"]) ** 2)
    assert (np.mean(inside, axis=0) >= 0.95 - 2.5 * np.sqrt(0.95 * 0.05 / runs)).all()
    assert np.mean(squares) == pytest.approx(1, abs=0.1)


def test_flows_that_the_same_people_rated_err_together():
    """Where all rate everything, a strict group is strict throughout: chance reaches from near 0 to twice the mean."""
    rng = np.random.default_rng(4)
    norms = rng.normal(0, 44, 30)
    groups = (rated(rng, norms, 8, 8, rater=50.0, slope=0.0, rest=5.0) for _ in range(2))
    rms = by_measure(compare_groups(*groups))["rms"]
    assert rms["expected_low"] < 0.2 * rms["expected"] < 1.8 * rms["expected"] < rms["expected_high"]


def test_people_with_other_norms_are_found_and_copies_are_nearer():
    rng = np.random.default_rng(5)
    norms = rng.normal(0, 44, 98)
    group = rated(rng, norms, 23, 5)
    others = by_measure(compare_groups(group, rated(rng, norms + rng.normal(40, 40, 98), 29, 12)))
    assert {row["verdict"] for row in others.values()} == {"farther"}
    assert others["mean_signed"]["estimate"] < -25
    copies = by_measure(compare_groups(group, Sample(group.cells + rng.normal(0, 5, group.cells.shape))))
    assert copies["rms"]["verdict"] == copies["correlation"]["verdict"] == "nearer"


def test_what_cannot_be_compared_has_a_status():
    rng = np.random.default_rng(6)
    group = rated(rng, rng.normal(0, 44, 20), 10, 4)
    for other, status in (
        (Sample(group.means[:, None]), "one_rater"),
        (Sample(group.cells * np.nan), "few_flows"),
    ):
        rows = compare_groups(group, other)
        assert {(row["status"], row["verdict"]) for row in rows} == {(status, "no_verdict")}
        assert not any("estimate" in row for row in rows)
    one_voice = Sample(np.tile(np.arange(6.0)[:, None], (1, 3)))
    rms = by_measure(compare_groups(one_voice, Sample(one_voice.cells + 1)))["rms"]
    assert (rms["estimate"], rms["expected"], rms["verdict"]) == (1, 0, "no_verdict")
    flat = by_measure(compare_groups(group, Sample(np.zeros((20, 3)))))
    assert (flat["rms"]["status"], flat["correlation"]["status"]) == ("ok", "no_variance")


def test_pairs_of_answers_have_intervals_over_people():
    who = np.repeat(np.arange(20), 10)
    rng = np.random.default_rng(7)
    # Ten people repeat every answer, ten none: only the number of people makes the share certain.
    first = rng.choice([-100.0, -50.0, 50.0, 100.0], len(who))
    second = np.where(who < 10, first, -first)
    rows = by_measure(compare_pairs(first, second, np.abs(first - second) / 50, who))
    same = rows["same_answer"]
    assert same["estimate"] == 0.5
    assert (same["conf_low"], same["conf_high"]) == pytest.approx((0.5 - 0.2401, 0.5 + 0.2401), abs=1e-3)
    assert rows["correlation"]["estimate"] == pytest.approx(0, abs=0.1)
    assert rows["correlation"]["conf_low"] < -0.3
    assert (same["n"], same["n_people"]) == (200, 20)
    alone = by_measure(compare_pairs(first, second, np.abs(first - second) / 50))
    assert np.isnan(alone["same_answer"]["conf_low"])
    assert {row["status"] for row in compare_pairs(first[:0], first[:0], first[:0], who[:0])} == {"no_pairs"}
    for sides in ((first * 0, second), (first, second * 0)):
        assert by_measure(compare_pairs(*sides, first * 0))["correlation"]["status"] == "no_variance"
    against = by_measure(compare_pairs(np.array([0.0, 1]), np.array([1.0, 0]), np.ones(2), who[:2]))
    assert against["correlation"]["estimate"] == -1
    assert np.isnan(against["correlation"]["conf_low"])
