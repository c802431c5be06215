"""Rates and association of what is said and done: by hand, and recovered where they are known."""

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.say_do import STATISTICS, SayDo, estimate, no_link


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


def test_a_middle_level_is_neither_no_nor_yes():
    found = table(SayDo.of(np.zeros((5, 1)), np.ones((5, 1)), 0.0))["estimate"]
    assert found["says_no"] == 0
    assert np.isnan(found[["shares_given_no", "withholds_given_yes", "association"]]).all()


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


def test_few_flows_have_no_interval():
    found = table(SayDo.of(np.array([[1.0], [-1]]), np.array([[0.0], [1]]), 0.0))
    assert found["std_err"].isna().all()
    assert len(table(SayDo.of(np.empty((0, 1)), np.empty((0, 1)), 0.0))) == len(STATISTICS)


def test_no_link_is_small_where_acts_follow_words():
    assert no_link(drawn(np.random.default_rng(3), 60, 3, 1.0), 0, 199) == pytest.approx(1 / 200)
    assert no_link(drawn(np.random.default_rng(3), 60, 3, 0.0), 0, 199) > 0.05
    assert np.isnan(no_link(SayDo.of(np.ones((9, 1)), np.ones((9, 1)), 0.0), 0))


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
