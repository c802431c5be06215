"""Where a model and people differ: false alarms, power, and flows that cannot be tested."""

import numpy as np
import pytest
from scipy import stats

from cinorms.stats import pvalues
from cinorms.stats.flow_differences import STATUSES, flow_differences
from cinorms.stats.samples import Sample

from .people import answered, rated, to_options


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


@pytest.mark.parametrize(("raters", "per_flow"), [(26, 5), (46, 20)])
def test_where_nothing_differs_five_in_a_hundred_tables_have_a_false_alarm(raters, per_flow):
    """Five options, few raters: the false discovery rate holds where every difference is noise."""
    rng, alarms, runs = np.random.default_rng(2), 0, 200
    flow = rng.uniform(-60, 60, 40)
    exact = np.concatenate([rated(rng, one[None], 20_000, 20_000, options=True).means for one in flow])
    for _ in range(runs):
        people = rated(rng, flow, raters, per_flow, options=True)
        alarms += discoveries(flow_differences(answered(rng, exact, 11), people)).any()
    assert alarms / runs <= 0.09


def test_flows_that_differ_are_found():
    rng = np.random.default_rng(3)
    flow = rng.uniform(-40, 40, 40)
    model = flow + np.where(np.arange(40) < 10, 70, 0)
    found = discoveries(flow_differences(answered(rng, model, 11), rated(rng, flow, 46, 20)))
    assert found[:10].mean() >= 0.9
    assert found[10:].sum() <= 2


def test_what_cannot_be_tested_has_a_status():
    model = Sample(np.array([[1.0, 2.0], [np.nan, np.nan], [1.0, 1.0]]))
    people = Sample(np.array([[np.nan, np.nan], [0.0, 1.0], [0.0, 1.0]]))
    table = flow_differences(model, people)
    assert table["status"].tolist() == ["no_people", "no_model", "ok"]
    same = flow_differences(Sample(np.ones((2, 3))), Sample(np.zeros((2, 3))))
    assert set(same["status"]) == {"no_spread"}
    assert same["log10_p"].isna().all()
    assert set(table["status"]) | set(same["status"]) == set(STATUSES)


def test_labels_are_compared_over_wordings_only():
    x = to_options(np.random.default_rng(4).normal(0, 60, (30, 11)))
    table = flow_differences(Sample(x), Sample.given(np.zeros(30)))
    assert (table["n_raters"] == 0).all()
    assert (table["status"] == "ok").all()
