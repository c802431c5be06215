"""The plan of a survey: predicted errors against simulated surveys, and against the published ratings."""

import math

import numpy as np
import pandas as pd
import pytest

from cinorms.stats.survey_plan import TARGETS, Variances, design_table, errors, needed, variances

PARTS = Variances(flow=1600.0, rater=625.0, rest=2025.0)


def named(cells):
    names = [f"{i}_0" for i in range(cells.shape[1])]
    return pd.DataFrame(cells, columns=names), pd.Series(range(len(names)), index=names)


def test_the_pilot_s_variances_are_those_planted():
    rng = np.random.default_rng(1)
    x = rng.normal(0, 40, (300, 1)) + rng.normal(0, 25, (1, 200)) + rng.normal(0, 45, (300, 200))
    found = variances(*named(np.where(rng.random(x.shape) < 0.3, x, np.nan)))
    assert found[:3] == pytest.approx(PARTS[:3], rel=0.25)
    assert variances(*named(x[:, :1])).status == "one_template"


def test_errors_are_those_of_simulated_surveys():
    """60 flows, 30 raters of 20 flows each: 10 raters per flow."""
    rng, flow = np.random.default_rng(2), np.random.default_rng(3).normal(0, 40, 60)
    overall, one = [], []
    for _ in range(500):
        turns = np.concatenate([rng.permutation(60) for _ in range(10)]).reshape(30, 20)
        y = flow[turns] + rng.normal(0, 25, (30, 1)) + rng.normal(0, 45, (30, 20))
        overall.append(y.mean() - flow.mean())
        one.append(y[turns == 7].mean() - flow[7])
    predicted = errors(PARTS, 30, 20, 60)
    assert np.std(overall) == pytest.approx(predicted["overall"], rel=0.15)
    assert np.std(one) == pytest.approx(predicted["flow"], rel=0.1)


@pytest.mark.parametrize("target", ["flow", "overall", "level", "group"])
def test_the_raters_needed_are_the_fewest_that_suffice(target):
    raters = needed(PARTS, target, 9, 20, 60)
    assert errors(PARTS, raters, 20, 60)[target] <= 9
    assert raters == 1 or errors(PARTS, raters - 1, 20, 60)[target] > 9
    assert needed(Variances(math.nan, math.nan, math.nan, "one_template"), target, 9, 20, 60) is None


def test_the_table_has_a_row_per_design_that_is_possible():
    table = design_table(PARTS, [10, 20], [30, 100], 60)
    assert table[["raters", "per_rater"]].to_numpy().tolist() == [[10, 30], [20, 30]]
    assert table["flow"].iloc[0] > table["flow"].iloc[1]
    assert set(TARGETS) <= set(table)


def test_flows_that_nobody_rates_leave_their_own_variance():
    assert errors(PARTS, 30, 20, 60_000)["overall"] ** 2 == pytest.approx(
        625 / 30 + (2025 + 1600 * 0.99) / 600
    )


def test_five_of_the_twenty_published_raters_err_as_predicted(confaide_people):
    cells = confaide_people["2b"].cells
    parts, rng = variances(*named(cells)), np.random.default_rng(4)
    few = np.array([[rng.permutation(row[~np.isnan(row)])[:5].mean() for row in cells] for _ in range(60)])
    # Against the mean of all 20, of which the five are a part.
    error = np.sqrt(((few - np.nanmean(cells, axis=1)) ** 2).mean())
    assert error == pytest.approx(errors(parts, 98, 5, 98)["flow"] * math.sqrt(1 - 5 / 20), rel=0.05)
