"""Rates and association of what is said and done: by hand, and recovered where they are known."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.stats.say_do import STATISTICS, SayDo, estimate, no_link

from .made import assert_same


def drawn(rng: np.random.Generator, n: int, wordings: int, link: float, careless: float = 0.0) -> SayDo:
    """Return both sides of ``n`` flows of an agent whose acts follow its words with this ``link``."""
    flow, own = rng.logistic(size=(2, n, 1))
    shape = (n, wordings)
    latent = flow + 0.5 * rng.normal(size=(1, wordings)) + 0.7 * rng.logistic(size=shape)
    acts = link * flow + np.sqrt(1 - link**2) * own + 0.5 * rng.normal(size=(1, wordings))
    done = (acts + 0.7 * rng.logistic(size=shape) > 0) | (rng.random(shape) < careless)
    return SayDo.of(np.digitize(latent, [-1.5, -0.5, 0.5, 1.5]) - 2.0, done * 1.0, 0.0)


def table(sides: SayDo) -> pd.DataFrame:
    return estimate(sides, 1).set_index("statistic")


def test_by_hand():
    said = np.array([[-1.0], [-1], [1], [1], [-1], [np.nan]])
    done = np.array([[1.0], [0], [1], [0], [0], [1]])
    found = table(SayDo.of(said, done, 0.0))["estimate"]
    assert found["says_no"] == pytest.approx(3 / 5)
    assert found["shares"] == pytest.approx(2 / 5)
    assert found["shares_given_no"] == pytest.approx(1 / 3)
    assert found["withholds_given_yes"] == pytest.approx(1 / 2)
    assert found["association"] == pytest.approx(np.corrcoef(said[:5, 0], done[:5, 0])[0, 1])
    assert np.isnan(found["corrected"])


def test_limits_of_other_flows_and_wordings():
    """Several wordings with missing answers, one wording, and more than 200 flows, which are left out in groups."""
    rng = np.random.default_rng(8)
    sides = drawn(rng, 30, 4, 0.8)
    said, done = (
        np.where(rng.random((30, 4)) < gone, np.nan, x) for x, gone in ((sides.said, 0.2), (sides.done, 0.3))
    )
    said[0], done[1, 1:], done[2] = np.nan, np.nan, np.nan
    some, one = SayDo.of(said, done, 0.0), SayDo.of(said[:, :1], done, 0.5)
    assert_same(
        pd.concat(
            [estimate(sides, 1) for sides in (some, one, drawn(np.random.default_rng(9), 210, 2, 0.8))]
        ),
        """
        statistic            estimate    std_err    low        high
        says_no              0.535714    0.173673   0.197598   0.843906
        shares               0.449405    0.0805472  0.27655    0.635408
        shares_given_no      0.394444    0.129683   0.178419   0.66145
        withholds_given_yes  0.424242    0.157167   0.172961   0.721923
        association          0.35468     0.225321   -0.154358  0.71492
        corrected            0.598645    0.408756   -0.236504  1
        says_no              0.545455    0.108657   0.331778   0.743606
        shares               0.481061    0.0988774  0.282556   0.685729
        shares_given_no      0.465278    0.112474   0.21758    0.731373
        withholds_given_yes  0.5         0.157588   0.225785   0.774215
        association          0.00260186  0.235021   -0.451159  0.455293
        corrected            -           -          -          -
        says_no              0.347619    0.0336726  0.284696   0.416354
        shares               0.583333    0.0765121  0.161444   0.910558
        shares_given_no      0.335616    0.120934   0.0248228  0.909296
        withholds_given_yes  0.247788    0.0559259  0.0979317  0.499882
        association          0.543919    0.0609166  0.400353   0.661422
        corrected            0.844766    0.0835872  0.679936   1
        """,
    )
    assert [no_link(some, 1, draws) for draws in (1200, 1999)] == pytest.approx([72 / 1201, 123 / 2000])
    once = SayDo.of(said[:, :1], done[:, :1], 0.0)
    assert table(once).loc["shares", "std_err"] == pytest.approx(stats.sem(once.done[:, 0]))


def test_few_flows_and_answers_that_are_all_the_same():
    said, done = np.array([[1.0], [-1], [-1]]), np.array([[0.0], [1], [0]])
    for n in (2, 3):
        sides = SayDo.of(said[:n], done[:n], 0.0)
        assert table(sides)["std_err"].isna().all() == np.isnan(no_link(sides, 1, 9)) == (n == 2)
    assert len(table(SayDo.of(np.empty((0, 1)), np.empty((0, 1)), 0.0))) == len(STATISTICS)
    for sides in (SayDo.of(said * 0, done, 0.0), SayDo.of(said, done * 0 + 1, 0.0)):
        assert np.isnan([no_link(sides, 0, 9), table(sides)["estimate"]["association"]]).all()
    # A middle level is neither no nor yes.
    found = table(SayDo.of(said * 0, done, 0.0))["estimate"]
    assert found["says_no"] == 0
    assert np.isnan(found[["shares_given_no", "withholds_given_yes"]]).all()


def test_a_share_of_none_that_depends_on_the_wording_has_the_interval_of_its_flows():
    # No flow is called wrong, though each would be without the first wording.
    said = np.tile([1.0, -1.0], (40, 1))
    row = table(SayDo.of(said, np.ones((40, 1)), 0.0)).loc["says_no"]
    assert row["estimate"] == row["low"] == 0
    assert row["std_err"] > 0
    assert 0.05 < row["high"] < 1


def test_noise_lowers_the_association_and_not_the_corrected_one():
    found = table(drawn(np.random.default_rng(2), 1500, 6, 1.0))
    assert found["estimate"]["association"] < 0.9
    assert found["estimate"]["corrected"] == pytest.approx(1.0, abs=0.03)
    assert found["low"]["corrected"] < found["high"]["corrected"] == 1


def test_no_link_is_small_only_where_acts_follow_words():
    linked, apart = (no_link(drawn(np.random.default_rng(3), 60, 3, link), 0, 199) for link in (1.0, 0.0))
    assert linked == pytest.approx(1 / 200)
    assert apart > 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("link", "careless"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.3)])
def test_planted_links_are_recovered(link, careless):
    """The intervals cover what is planted in 93 to 99%; without a link the test rejects in at most 6%."""
    rng, runs = np.random.default_rng(7), 200
    large = [drawn(rng, 2000, 6, link, careless) for _ in range(40)]
    truth = np.mean([sides.statistics(np.ones((1, 2000)))[0] for sides in large], axis=0)
    inside, rejected = [], 0
    for run in range(runs):
        sides = drawn(rng, 120, 6, link, careless)
        found = estimate(sides, run)
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
        rejected += no_link(sides, run, 199) <= 0.05
    # Three standard errors of 200 runs below 93%.
    assert (np.mean(inside, axis=0) >= 0.93 - 3 * np.sqrt(0.93 * 0.07 / runs)).all()
    assert rejected <= 0.06 * runs + 3 * np.sqrt(0.06 * 0.94 * runs) if link == 0 else rejected == runs
