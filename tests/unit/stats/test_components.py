"""Variance components: a model that reads one factor shows it, and missing answers do not hide it."""

import itertools

import numpy as np
import pytest

from cinorms.stats.components import SOURCES, TOGETHER, Cells, components, crossed, shares_of, variances

from .made import assert_same, matrix, planted

SIZES = {"sender": 8, "recipient": 6, "principle": 12}
GRID = np.array(list(itertools.product(*map(range, SIZES.values()))))
FACTORS = {name: GRID[:, column] for column, name in enumerate(SIZES)}


def answers(seed=1, noise=0.6, **effects):
    """Return flows x templates x orders; ``effects``: standard deviations of a factor's levels."""
    rng = np.random.default_rng(seed)
    x = sum(sd * standard(rng, SIZES[name])[FACTORS[name]] for name, sd in effects.items() if name in SIZES)
    x = x + effects.get("together", 0.0) * rng.normal(size=len(GRID))
    both = 0.3 * rng.normal(size=(len(GRID), 11, 1))
    return (
        x[:, None, None]
        + 0.2 * standard(rng, 11)[:, None]
        + both
        + noise * rng.normal(size=(len(GRID), 11, 3))
    )


def standard(rng, n):
    x = rng.normal(size=n)
    return (x - x.mean()) / x.std(ddof=1)


def shares(x):
    return components(*matrix(x), FACTORS).set_index("source")


def test_a_model_that_reads_only_the_recipient_shows_it():
    table = shares(answers(recipient=1.0))
    found = table["variance"]
    assert table["status"].tolist() == np.where(found < 0, "negative", "ok").tolist()
    assert (found < 0).any()
    counted = found.clip(0) * [
        *(1 - 1 / n for n in SIZES.values()),
        (len(GRID) - 1 - 7 - 5 - 11) / len(GRID),
        1,
        1,
        1,
    ]
    np.testing.assert_allclose(table["share"], counted / counted.sum())
    assert found["recipient"] == pytest.approx(1.0, abs=0.01)
    assert found[["sender", "principle", TOGETHER]].abs().max() < 0.01
    assert found["template"] == pytest.approx(0.04, abs=0.01)
    assert found["flow x template"] == pytest.approx(0.09, abs=0.01)
    assert found["order and single answer"] == pytest.approx(0.36, abs=0.01)


def test_factors_and_what_they_do_together_are_told_apart():
    drawn = [shares(answers(seed, sender=0.5, principle=0.8, together=0.7)) for seed in range(12)]
    mean = sum(found["variance"] for found in drawn) / len(drawn)
    assert mean["sender"] == pytest.approx(0.25, abs=0.04)
    assert mean["principle"] == pytest.approx(0.64, abs=0.05)
    assert mean[TOGETHER] == pytest.approx(0.49, abs=0.03)
    found = drawn[1]
    assert found["share"].sum() == pytest.approx(1)
    parts = parts_of(*matrix(answers(1, sender=0.5, principle=0.8, together=0.7))).set_index("source")
    rest = ["template", "flow x template", "order and single answer"]
    np.testing.assert_allclose(found["variance"][rest], parts["variance"][rest])


def test_missing_answers_and_flows_leave_the_factors_where_they_are():
    x = answers(recipient=1.0, sender=0.5)
    rng = np.random.default_rng(2)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[rng.choice(len(x), 40, replace=False)] = np.nan
    found = shares(x)
    assert found["variance"][["sender", "recipient"]].tolist() == pytest.approx([0.25, 1.0], abs=0.02)
    assert abs(found["variance"][TOGETHER]) < 0.01
    assert_same(
        found.reset_index(),
        """
        source                       variance      share      status
        sender                       0.248699      0.141155   incomplete
        recipient                    1.01043       0.546185   incomplete
        principle                    -2.49519e-05  0          negative
        interactions of the factors  -4.15516e-06  0          negative
        template                     0.0347237     0.022524   ok
        flow x template              0.0897165     0.058195   ok
        order and single answer      0.357573      0.231942   ok
        """,
    )


def test_a_design_that_is_not_crossed_has_the_flow_in_one_row():
    assert crossed(FACTORS)
    fewer = {name: codes[:-1] for name, codes in FACTORS.items()}
    assert not crossed(fewer)
    assert not crossed(
        {str(n): np.arange(500) for n in range(9)}
    )  # more combinations than a number can count
    found = components(*matrix(answers(recipient=1.0)[:-1]), fewer)
    assert found["source"].tolist()[:2] == ["flow", "template"]
    assert found["status"][0] == "not_crossed"
    nothing = components(*matrix(np.full((len(GRID), 2, 2), np.nan)), FACTORS)
    assert set(nothing["status"]) == {"no_flows"}
    assert nothing["share"].isna().all()


def test_shares_are_of_this_design():
    # One factor of two levels and one of twelve whose flows' means vary alike: the same share, though as a sample of
    # levels two would vary twice as much.
    x = np.array([-1.0, 1.0])[GRID[:, 0] % 2] + np.array([-1.0, 1.0])[GRID[:, 2] % 2]
    rng = np.random.default_rng(1)
    noisy = x[:, None, None] + rng.normal(0, 0.3, (len(GRID), 6, 2))
    two = {"two": GRID[:, 0] % 2, "twelve": GRID[:, 2]}
    found = components(*matrix(noisy), two).set_index("source")
    assert found["variance"]["two"] == pytest.approx(2, abs=0.02)
    assert found["variance"]["twelve"] == pytest.approx(12 / 11, abs=0.02)
    assert found["share"][["two", "twelve"]].tolist() == pytest.approx([1 / 2.09] * 2, abs=0.005)


def parts_of(levels, templates):
    return shares_of(variances(Cells.of(levels, templates)))


def test_variance_shares_equal_the_classical_formulas_on_balanced_data():
    x = planted(np.random.default_rng(5), 40, 6, 3, 1, 0.3, 0.4, 0.8)
    f, t, o = x.shape
    cell, grand = x.mean(axis=2), x.mean()
    by_flow, by_template = cell.mean(axis=1), cell.mean(axis=0)
    ms_order = ((x - cell[:, :, None]) ** 2).sum() / (f * t * (o - 1))
    rest = cell - by_flow[:, None] - by_template + grand
    ms_cell = o * (rest**2).sum() / ((f - 1) * (t - 1))
    ms_flow = t * o * ((by_flow - grand) ** 2).sum() / (f - 1)
    ms_template = f * o * ((by_template - grand) ** 2).sum() / (t - 1)
    expected = [
        (ms_flow - ms_cell) / (t * o),
        (ms_template - ms_cell) / (f * o),
        (ms_cell - ms_order) / o,
        ms_order,
    ]
    found = parts_of(*matrix(x))
    assert found["source"].tolist() == list(SOURCES)
    assert found["variance"].to_numpy() == pytest.approx(expected)
    assert found["share"].sum() == pytest.approx(1)
    assert found["status"].tolist() == ["ok"] * 4


def test_variance_shares_survive_missing_answers():
    rng = np.random.default_rng(6)
    x = planted(rng, 1500, 11, 3, 1, 0.2, 0.3, 0.7)
    x[rng.random(x.shape) < np.linspace(0.02, 0.6, 11)[None, :, None]] = np.nan
    flow, template, both, answer = parts_of(*matrix(x))["variance"]
    assert (flow, both) == (pytest.approx(1, abs=0.1), pytest.approx(0.3, abs=0.05))
    assert answer == pytest.approx(0.7, abs=0.03)
    assert 0.05 < template < 0.6  # eleven templates say little about their variance


def test_variance_shares_say_what_cannot_be_told_apart():
    x = planted(np.random.default_rng(5), 30, 4, 3, 1, 0.3, 0.4, 0.8)
    one_order = parts_of(*matrix(x[:, :, :1]))
    assert one_order["status"].tolist() == ["ok", "ok", "ok", "one_order"]
    assert np.isnan(one_order["variance"].iloc[3])
    one_template = parts_of(*matrix(x[:, :1]))
    assert one_template["status"].tolist() == ["ok", "one_template", "one_template", "ok"]
    order = x[:, 0].var(axis=1, ddof=1).mean()
    flow = x[:, 0].mean(axis=1).var(ddof=1) - order / 3
    assert one_template["variance"].dropna().tolist() == pytest.approx([flow, order])
    assert parts_of(*matrix(x[:2, :2]))["variance"].notna().all()
    assert parts_of(*matrix(x[:1]))["status"].tolist() == ["no_flows"] * 4
    assert set(parts_of(*matrix(np.ones((5, 3, 2))))["status"]) == {"no_variance"}
    # Cell means that are all the same although answers differ: less than chance, so negative.
    negative = parts_of(*matrix(np.tile([-1.0, 1.0], (5, 3, 1))))
    assert negative["status"].tolist() == ["ok", "ok", "negative", "ok"]
    assert negative["share"].tolist() == [0, 0, 0, 1]
