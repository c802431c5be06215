"""Consistency over wordings: a second computation from single answers, and its statuses."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy

from rewordings import consistency

LEVELS = np.arange(-2, 3)
SIDES = np.sign(LEVELS)


def answers_of(x):
    """Return item, wording and level of every valid answer of items x wordings x repeats."""
    item, wording, _ = np.indices(x.shape)
    long = pd.DataFrame({"item": item.ravel(), "wording": wording.ravel(), "level": x.ravel()}).dropna()
    return long.assign(side=np.sign(long["level"]))


def by_single_answers(answers, what):
    """Return the mean over items of the mean over pairs of wordings of the share of pairs of answers that agree."""
    n = answers.groupby(["item", "wording"]).size()
    both = answers.merge(answers, on="item", suffixes=("", "_2"))
    both = both[both["wording"] < both["wording_2"]]
    sizes = (
        n.loc[list(zip(both["item"], both[w], strict=True))].to_numpy() for w in ("wording", "wording_2")
    )
    both = both.assign(weight=1 / np.prod(list(sizes), axis=0), same=both[what] == both[f"{what}_2"])
    sums = both.assign(same=both["same"] * both["weight"]).groupby("item")[["same", "weight"]].sum()
    return (sums["same"] / sums["weight"]).mean()


def by_shares(answers, what):
    """Return the same if any two answers of two wordings were equally likely to meet, each item's pairs as they are."""
    shares = pd.crosstab([answers["item"], answers["wording"]], answers[what], normalize="index")
    of_wording = shares.groupby("wording").mean()
    items = []
    for _, part in answers.groupby("item"):
        pairs = list(itertools.combinations(sorted(part["wording"].unique()), 2))
        items += [np.mean([of_wording.loc[a] @ of_wording.loc[b] for a, b in pairs])] if pairs else []
    return np.mean(items)


def assert_computed_twice(x):
    found = consistency(np.stack([(x == level).sum(axis=2) for level in LEVELS]).astype(float), SIDES)
    answers = answers_of(x)
    second = [by_single_answers(answers, what) for what in ("side", "level")]
    second += [by_shares(answers, what) for what in ("side", "level")]
    first = [found.same_side, found.same_level, found.blind_side, found.blind_level]
    np.testing.assert_allclose(first, second, atol=1e-6, rtol=0)
    wordings = answers["wording"].unique()
    without = [by_single_answers(answers[answers["wording"] != one], "side") for one in wordings]
    n = len(wordings)
    reach = scipy.stats.t(n - 1).ppf(0.975) * np.std(without) * np.sqrt(n - 1)
    expected = np.clip([found.same_side - reach, found.same_side + reach], 0, 1)
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-6, rtol=0)
    assert found.wordings == n


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_consistency_is_that_of_pairs_of_single_answers(missing):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 1, 1)) + rng.normal(0, 0.4, (40, 6, 1)) + rng.normal(0, 0.7, (40, 6, 3))
    x = np.clip(np.rint(x), -2, 2)
    x[rng.random(x.shape) < missing * (1 + np.arange(6)[:, None] / 5)] = np.nan  # later wordings miss more
    assert_computed_twice(x)


def shares(answers):
    """Return counts of levels from answers, items x wordings: one each, -1 for none."""
    return np.stack([(np.asarray(answers) == level) for level in range(5)]).astype(float)


@pytest.mark.parametrize(
    ("answers", "status", "same", "blind"),
    [
        ([[0], [4]], "one_wording", None, None),
        ([[0, -1], [-1, 4]], "no_pairs", None, None),
        ([[0, 0], [4, 4]], "no_interval", 1, 0.5),
        ([[0, 1, -1], [4, -1, 1]], "no_interval", 0.5, 0.5),
        ([[0, 1, -1], [4, 4, 0]], "ok", 2 / 3, 0.5),
        ([[4, 4, 4]] * 9 + [[0, 0, 0]], "ok", 1, 0.82),
    ],
)
def test_what_few_answers_can_tell(answers, status, same, blind):
    found = consistency(shares(answers), SIDES)
    assert found.status == status
    if same is None:
        assert np.isnan(found.same_side)
    else:
        assert (found.same_side, found.blind_side) == pytest.approx((same, blind))
    assert np.isnan(found.low) == (status != "ok")


def test_blind_is_the_mean_over_shuffled_answers():
    rng = np.random.default_rng(3)
    answers = np.where(rng.random((30, 5)) < 0.25, -1, rng.integers(0, 5, (30, 1)))
    answers[:, 0] = np.where(rng.random(30) < 0.8, -1, 4)
    found, drawn = consistency(shares(answers), SIDES), []
    for _ in range(2000):
        shuffled = answers.copy()
        for column in shuffled.T:
            column[column >= 0] = rng.permutation(column[column >= 0])
        drawn.append(consistency(shares(shuffled), SIDES).same_side)
    assert found.blind_side == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(2000))
