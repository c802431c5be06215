"""Would other wordings give the same verdict? The probabilities are right where the truth is known."""

from importlib import import_module

import numpy as np
import pytest

from rewordings import Rule, levels_held, recurrence

fresh = import_module("rewordings.fresh")
USUAL = Rule(10, 0.5, "strict")


def answered(rng, item, wordings=11, orders=3, noise=0.9, shared=0.2):
    """Return what wordings give of these items: levels x items x wordings; wordings move all items."""
    effect = rng.normal(0, shared, (1, wordings, 1)) + rng.normal(0, 0.3, (len(item), wordings, 1))
    x = item[:, None, None] + effect + rng.normal(0, noise, (len(item), wordings, orders))
    level = np.clip(np.round(x), -2, 2)
    return np.stack([(level == one).sum(axis=2) for one in range(-2, 3)]).astype(float)


def found_of(counts, rule=USUAL, **options):
    return recurrence(counts, levels_held(counts, rule), rule, **options)


@pytest.fixture
def little_effort(monkeypatch):
    """Draw few fresh wordings: for tests of what there is a number of, not of how near it is."""
    monkeypatch.setattr(fresh, "WHOLE", fresh.WHOLE._replace(support=50, wordings=132))
    monkeypatch.setattr(fresh, "HALF", fresh.HALF._replace(support=50, wordings=66))


@pytest.mark.usefixtures("little_effort")
def test_what_is_expected_of_small_studies():
    rng = np.random.default_rng(6)
    some = answered(rng, rng.normal(0, 1.2, 40), wordings=6)
    some[:, 0] = 0
    some[:, 1:20] *= rng.random((1, 19, 6)) < 0.7
    more = answered(rng, rng.normal(0, 1.2, 60), wordings=16, orders=2, noise=0.4)
    copied, same = np.concatenate([more[:, :, :4]] * 2, axis=2), np.zeros((5, 40, 6))
    same[4] = 3
    found = [
        found_of(some),
        found_of(some, Rule(0, "plurality", "papers"), wordings=9),
        found_of(more, Rule(20, 0.4, "strict")),
        found_of(copied),
        found_of(same),
    ]
    names = ("verdicts", "again", "low", "high", "effective_wordings", "half_predicted", "half_seen")
    np.testing.assert_allclose(
        [[getattr(one, name) for name in names] for one in found],
        [
            [17, 5.82925, 1.99981, 11.4125, 6, 0.368572, 0.270968],
            [39, 21.0587, 10.5387, 30.7385, 6, 0.442212, 0.436482],
            [60, 50.8574, 40.7424, 56.1603, 16, 0.75219, 0.757848],
            [53, 35.8832, 23.6511, 44.7875, 4, 0.680363, 0.786408],
            [40, 39.9664, 39.9373, 39.9745, 6, 0.998581, 1],
        ],
        rtol=5e-5,
    )
    assert [one.status for one in found] == ["wide", "wide", "ok", "wide", "ok"]


@pytest.mark.usefixtures("little_effort")
def test_there_is_no_ok_where_wordings_are_worth_far_less_than_their_number(monkeypatch):
    rng = np.random.default_rng(3)
    counts = answered(rng, rng.normal(0, 1.2, 60), wordings=8, noise=0.4)
    copied = np.concatenate([counts, counts], axis=2)
    monkeypatch.setattr(fresh, "WRONG", 1.0)
    monkeypatch.setattr(fresh, "WIDEST", 1.0)
    assert [found_of(one).status for one in (counts, copied)] == ["ok", "wide"]


@pytest.mark.parametrize(
    ("rule", "studies"),
    [
        (USUAL, 1),
        pytest.param(Rule(10, "plurality", "strict"), 3, marks=pytest.mark.slow),
        pytest.param(Rule(30, 0.25, "papers"), 3, marks=pytest.mark.slow),
    ],
)
def test_verdicts_recur_as_often_as_they_are_expected_to(rule, studies):
    predicted, true = [], []
    for study in range(studies):
        rng = np.random.default_rng(study)
        item = rng.normal(0, 1.2, 300)
        counts = answered(rng, item)
        level, found = levels_held(counts, rule), found_of(counts, rule)
        fresh = [levels_held(answered(rng, item), rule) for _ in range(20)]
        true.append(np.mean([other == level for other in fresh], axis=0)[level >= 0])
        predicted.append(found.probability[level >= 0])
        assert found.again == pytest.approx(predicted[-1].sum())
        assert found.low <= true[-1].sum() <= found.high
        assert np.isnan(found.probability[level < 0]).all()
        assert found.half_predicted == pytest.approx(found.half_seen, abs=0.1)
        assert found.half_predicted < found.again / found.verdicts
    p, t = np.concatenate(predicted), np.concatenate(true)
    assert p.mean() == pytest.approx(t.mean(), abs=0.04)
    for low, high in ((0, 0.4), (0.4, 0.7), (0.7, 1.01)):
        those = (low <= p) & (p < high)
        if those.sum() > 30:
            assert p[those].mean() == pytest.approx(t[those].mean(), abs=0.08)


@pytest.mark.slow
def test_a_item_without_a_doubt_recurs_and_one_at_the_threshold_does_as_often_as_not():
    rng = np.random.default_rng(1)
    counts = answered(rng, rng.choice([-2.5, 0.5], 100), noise=0.4)
    found, level = found_of(counts, Rule(10, "plurality", "strict")), levels_held(counts, USUAL)
    assert found.probability[level == 0].min() > 0.95
    doubted = found.probability[(level == 2) | (level == 3)]
    assert 0.35 < doubted.mean() < 0.65


@pytest.mark.slow
def test_wordings_that_are_copies_of_one_another_count_once():
    rng = np.random.default_rng(2)
    item = rng.normal(0, 1.2, 300)
    own = answered(rng, item, wordings=6, noise=0.3)
    copied = found_of(np.concatenate([own, own], axis=2))
    assert copied.effective_wordings == pytest.approx(6, abs=1)
    alone = found_of(own, USUAL._replace(fewest=5))
    assert copied.again / copied.verdicts == pytest.approx(alone.again / alone.verdicts, abs=0.08)
    other = found_of(answered(rng, item, wordings=12, noise=0.3))
    assert other.effective_wordings > 10
    assert copied.high - copied.low > other.high - other.low


@pytest.mark.usefixtures("little_effort")
def test_two_camps_of_wordings_leave_it_open():
    rng = np.random.default_rng(4)
    camp = np.repeat([-1.0, 1.0], [6, 5])
    item = rng.normal(0, 0.3, 100)
    x = item[:, None, None] + camp[None, :, None] + rng.normal(0, 0.3, (100, 11, 3))
    level = np.clip(np.round(x), -2, 2)
    counts = np.stack([(level == one).sum(axis=2) for one in range(-2, 3)]).astype(float)
    found = found_of(counts)
    assert found.status == "wide"


@pytest.mark.parametrize(
    ("items", "wordings", "fewest", "status"),
    [(40, 5, 3, "few_wordings"), (39, 6, 3, "few_items"), (40, 6, 99, "no_verdicts"), (40, 6, 3, "ok")],
)
@pytest.mark.usefixtures("little_effort")
def test_few_wordings_or_items_give_no_number(items, wordings, fewest, status):
    rng = np.random.default_rng(5)
    counts = answered(rng, rng.choice([-1.0, 2.0], items), wordings, noise=0.2, shared=0.0)
    found = found_of(counts, Rule(fewest, 0.5, "strict"))
    assert found.status == status
    assert np.isnan(found.again) == (status != "ok")
    assert np.isnan(found.probability).all() == (status != "ok")


@pytest.mark.slow
def test_a_verdict_needs_its_valid_answers_in_fresh_wordings_too():
    rng, needs = np.random.default_rng(9), Rule(20, 0.5, "strict")
    item = rng.choice([-1.0, 1.0], 200)

    def asked():  # 40% are missing: about 20 of 33 are valid
        x = np.repeat(item, 33).reshape(200, 11, 3)
        there = rng.random(x.shape) < 0.6
        return np.stack([((x == one) & there).sum(axis=2) for one in range(-2, 3)]).astype(float)

    counts = asked()
    level, found = levels_held(counts, needs), found_of(counts, needs)
    true = np.mean([levels_held(asked(), needs) == level for _ in range(20)], axis=0)[level >= 0].mean()
    assert 0.3 < true < 0.7
    assert found.again / found.verdicts == pytest.approx(true, abs=0.06)


@pytest.mark.usefixtures("little_effort")
def test_an_item_that_misses_much_misses_as_much_in_fresh_wordings():
    rng, needs = np.random.default_rng(3), Rule(10)
    item, often = rng.choice([-1.0, 1.0], 120), np.repeat([0.0, 0.65], 60)

    def asked():
        x = np.repeat(item, 33).reshape(120, 11, 3)
        there = rng.random(x.shape) >= often[:, None, None]
        return np.stack([((x == one) & there).sum(axis=2) for one in range(-2, 3)]).astype(float)

    counts = asked()
    level, found = levels_held(counts, needs), found_of(counts, needs).probability
    true = np.mean([levels_held(asked(), needs) == level for _ in range(20)], axis=0)
    for part in (slice(60), slice(60, None)):
        there = level[part] >= 0
        assert found[part][there].mean() == pytest.approx(true[part][there].mean(), abs=0.1)
    assert true[:60].mean() - np.nanmean(found[60:]) > 0.2


@pytest.mark.usefixtures("little_effort")
def test_answers_that_are_random_per_wording_are_not_expected_again():
    rng = np.random.default_rng(4)
    level = rng.integers(0, 5, (200, 11, 1)).repeat(3, axis=2)
    level[:100] = rng.integers(0, 5, (100, 1, 1))
    found = found_of(np.stack([(level == one).sum(axis=2) for one in range(5)]).astype(float))
    assert found.probability[:100].min() > 0.97
    assert np.nanmean(found.probability[100:]) < 0.3


def test_where_halves_disagree_with_what_they_predict_there_is_no_ok(monkeypatch):
    rng = np.random.default_rng(5)
    counts = answered(rng, rng.choice([-1.0, 2.0], 40), 6, noise=0.2, shared=0.0)
    for missed, status in ((0.04, "ok"), (0.06, "wide"), (-0.06, "wide")):
        monkeypatch.setattr(fresh, "_halves", lambda *_, x=missed: (0.9 + x, 0.9))
        assert found_of(counts).status == status
