"""Distances between people and a model: bias, coverage, the ceiling, and the published models; flows that differ."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cinorms.norms.distances import delta_table
from cinorms.stats import pvalues
from cinorms.stats.ceilings import METRICS, distances, flow_differences
from cinorms.stats.samples import Sample

from ...scales import LEVELS
from .people import answered, rated


def found(model, people):
    return distances(model, people).set_index("metric")


def norms(seed, flows, apart):
    """Return people's norms for some flows, and those of a model that is shifted and otherwise different."""
    rng = np.random.default_rng(seed)
    people = rng.normal(-10, 45, flows)
    return people, people + rng.normal(apart / 3, apart, flows)


def test_observed_distances_are_those_of_the_delta_table():
    rng = np.random.default_rng(1)
    people, model = rated(rng, rng.normal(0, 30, 12), 9, 6), answered(rng, rng.normal(0, 30, 12), 5)
    table = pd.DataFrame({"flow": range(12), "value": model.means / 100, "expected": people.means / 100})
    ours, theirs = (
        found(model, people)["observed"],
        delta_table(table, LEVELS, LEVELS).set_index("metric")["value"],
    )
    for metric in ("mean_signed", "mean_absolute", "std_signed"):
        assert ours[metric] / 100 == pytest.approx(theirs[metric])
    assert ours["rms"] ** 2 == pytest.approx(ours["mean_signed"] ** 2 + ours["std_signed"] ** 2)


def test_the_estimates_have_no_bias_where_the_observed_distance_has_a_large_one():
    rng = np.random.default_rng(2)
    people, model = norms(2, 40, 12)
    squares = (np.mean((model - people) ** 2), np.var(model - people))
    runs = [found(answered(rng, model, 8), rated(rng, people, 26, 5)) for _ in range(30)]
    for name, square in zip(("rms", "std_signed"), squares, strict=True):
        observed = np.mean([run.loc[name, "observed"] ** 2 for run in runs])
        assert observed > square + 400
        # Roots below 0 are cut, so the mean of squares is compared through the limits of the interval's middle.
        assert np.median([run.loc[name, "estimate"] for run in runs]) == pytest.approx(
            np.sqrt(square), rel=0.15
        )


@pytest.mark.parametrize(("raters", "per_flow"), [(26, 5), (20, 20)])
def test_the_ceiling_is_what_another_group_of_as_many_people_shows(raters, per_flow):
    rng = np.random.default_rng(3)
    flow = rng.normal(0, 45, 60)
    ceilings, others = [], []
    for _ in range(60):
        one, other = (rated(rng, flow, raters, per_flow) for _ in range(2))
        d = other.means - one.means
        others.append([abs(d.mean()), np.abs(d).mean(), d.std(), np.sqrt((d**2).mean())])
        if len(ceilings) < 20:
            ceilings.append(found(other, one)["ceiling"].to_numpy())
    assert np.mean(ceilings, axis=0) == pytest.approx(np.mean(others, axis=0), rel=0.15)


def test_another_group_of_the_same_people_is_not_found_to_be_farther():
    rng = np.random.default_rng(4)
    flow = rng.normal(0, 45, 60)
    verdicts = [found(*(rated(rng, flow, 46, 20) for _ in range(2))).loc["rms", "verdict"] for _ in range(30)]
    assert verdicts.count("farther") <= 2
    far = found(answered(rng, flow + 40, 11), rated(rng, flow, 46, 20))
    assert far.loc[["mean_signed", "rms"], "verdict"].tolist() == ["farther", "farther"]
    near = found(Sample.given(flow), rated(rng, flow, 60, 5))
    assert near.loc["rms", "verdict"] in ("nearer", "undecided")
    assert near.loc["mean_absolute", "verdict"] == "no_verdict"


def test_labels_have_an_interval_over_wordings_and_no_ceiling():
    rng = np.random.default_rng(5)
    table = found(answered(rng, np.zeros(20), 11), Sample.given(rng.normal(0, 40, 20)))
    assert table["ceiling"].isna().all()
    assert set(table["verdict"]) == {"no_verdict"}
    assert (table["n_raters"] == 0).all()
    assert (table["conf_high"] > table["conf_low"]).all()


@pytest.mark.parametrize(
    ("model", "people", "status"),
    [
        (np.full((3, 2), np.nan), np.ones((3, 2)), "no_flows"),
        (np.ones((3, 1)), np.eye(3), "one_template"),
        (np.eye(3), np.ones((3, 1)), "one_rater"),
        (np.eye(3)[:1], np.eye(3)[:1], "one_flow"),
    ],
)
def test_what_cannot_be_computed_has_a_status(model, people, status):
    table = distances(Sample(model), Sample(people))
    assert set(table["status"]) == {status}
    assert table["conf_low"].isna().all()
    assert list(table["metric"]) == list(METRICS)
    assert set(table["verdict"]) == {"no_verdict"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("apart", "flows", "raters", "per_flow", "options"),
    [(30, 20, 46, 20, True), (30, 98, 26, 5, True), (60, 20, 46, 20, False), (60, 98, 26, 5, False)],
)
def test_coverage_of_known_distances_is_nominal(apart, flows, raters, per_flow, options):
    """Planted people and a planted model with a known distance; raters and wordings are drawn anew in each run."""
    rng, runs = np.random.default_rng(6), 1000
    people, model = norms(7, flows, apart)
    truth = people
    if options:
        # What all such people say on average, on a scale of five options.
        big = np.random.default_rng(8)
        truth = np.concatenate(
            [rated(big, part, 20_000, 20_000, options=True).means for part in np.array_split(people, flows)]
        )
    d = model - truth
    known = {"mean_signed": d.mean(), "std_signed": d.std(), "rms": np.sqrt((d**2).mean())}
    hits, ends, absolute = dict.fromkeys(known, 0), [], []
    for _ in range(runs):
        table = found(answered(rng, model, 11), rated(rng, people, raters, per_flow, options=options))
        for name, value in known.items():
            hits[name] += table.loc[name, "conf_low"] <= value <= table.loc[name, "conf_high"]
        ends.append(table.loc["mean_absolute", ["conf_low", "conf_high"]].to_numpy(dtype=float))
        absolute.append(table.loc["mean_absolute", "observed"])
    low, high = np.array(ends).T
    expected = np.mean(absolute)
    hits["mean_absolute"] = int(((low <= expected) & (expected <= high)).sum())
    # 93% to 97%, and more than two standard errors of the simulation: it counts 16 coverages.
    assert {name: n for name, n in hits.items() if not 0.91 <= n / runs <= 0.985} == {}


# --- The published ratings and models


def test_the_ceiling_is_that_of_halves_of_the_published_ratings(confaide_people):
    """20 raters per flow: two halves of 10 differ as the ceiling of 10 says."""
    cells, rng = confaide_people["2b"].cells, np.random.default_rng(9)
    halves = []
    for _ in range(100):
        mixed = np.array([rng.permutation(row[~np.isnan(row)]) for row in cells])
        d = mixed[:, :10].mean(axis=1) - mixed[:, 10:].mean(axis=1)
        halves.append([np.abs(d).mean(), np.sqrt((d**2).mean())])
    ceiling = found(Sample.given(np.zeros(98)), confaide_people["2b"])["ceiling"]
    assert np.mean(halves, axis=0) == pytest.approx(
        ceiling[["mean_absolute", "rms"]].to_numpy(dtype=float) * np.sqrt(2), rel=0.02
    )


# --- Flows on which both differ


def discoveries(table):
    return 10 ** pvalues.adjust(table["log10_p"], "bh") < 0.05


def test_with_many_units_it_is_welch_s_test():
    rng = np.random.default_rng(1)
    x, y = rng.normal(0, 1, (3, 4000)), rng.normal(0.05, 2, (3, 4000))
    table = flow_differences(Sample(x), Sample(y))
    expected = stats.ttest_ind(x, y, axis=1, equal_var=False)
    assert table["statistic"].to_numpy() == pytest.approx(expected.statistic, rel=0.02)
    assert table["difference"].to_numpy() == pytest.approx(x.mean(axis=1) - y.mean(axis=1))
    assert (table["conf_low"] < table["difference"]).all()


@pytest.mark.parametrize(("raters", "per_flow"), [(26, 5), pytest.param(46, 20, marks=pytest.mark.slow)])
def test_where_nothing_differs_five_in_a_hundred_tables_have_a_false_alarm(raters, per_flow):
    """Five options, few raters: the false discovery rate holds where every difference is noise."""
    rng, alarms, runs = np.random.default_rng(2), 0, 100
    flow = rng.uniform(-60, 60, 40)
    exact = np.concatenate([rated(rng, one[None], 20_000, 20_000, options=True).means for one in flow])
    for _ in range(runs):
        people = rated(rng, flow, raters, per_flow, options=True)
        alarms += discoveries(flow_differences(answered(rng, exact, 11), people)).any()
    assert alarms / runs <= 0.09


def test_what_cannot_be_tested_has_a_status():
    model = Sample(np.array([[1.0, 2.0], [np.nan, np.nan], [1.0, 1.0]]))
    people = Sample(np.array([[np.nan, np.nan], [0.0, 1.0], [0.0, 1.0]]))
    table = flow_differences(model, people)
    assert table["status"].tolist() == ["no_people", "no_model", "ok"]
    same = flow_differences(Sample(np.ones((2, 3))), Sample(np.zeros((2, 3))))
    assert set(same["status"]) == {"no_spread"}
    assert same["log10_p"].isna().all()
