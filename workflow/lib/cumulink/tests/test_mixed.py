"""Mixed models against R's ordinal::clmm, and what they are for: intervals that cover."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cumulink import ModelError, clm, clmm, mixed
from cumulink.mixed import Intercepts

from .conftest import REFERENCE, names_of_r, p_of_condition, two_conditions

FORMULA = "level ~ sender + recipient + order"


def with_intercepts(groups: tuple[str, ...]) -> str:
    return FORMULA + "".join(f" + (1 | {group})" for group in groups)


@pytest.mark.parametrize("groups", [("flow",), ("flow", "variant"), ("variant", "flow")])
def test_equals_r_clmm(data, groups):
    reference = pd.read_csv(REFERENCE / "clmm_reference.csv").set_index(["model", "parameter"])
    expected = reference.loc["laplace" if len(groups) == 1 else "crossed_laplace"]
    fit = clmm(with_intercepts(groups), data, baselines={"sender": "lock"})
    assert fit.status == "ok"
    names = names_of_r(fit)
    assert {*names, "logLik", *(f"sd_{group}" for group in fit.sd)} == set(expected.index)
    tolerance = 1e-4 * len(groups)
    for column, found in (("estimate", fit.params), ("std_err", fit.bse)):
        np.testing.assert_allclose(found, expected.loc[names, column], atol=tolerance)
    for group, sd in fit.sd.items():
        np.testing.assert_allclose(sd, expected.loc[f"sd_{group}", "estimate"], atol=tolerance)
    np.testing.assert_allclose(fit.log_likelihood, expected.loc["logLik", "estimate"], atol=2 * tolerance)
    assert fit.n_clusters["flow"] == 60
    assert fit.aic == pytest.approx(2 * (len(expected) - 1) - 2 * fit.log_likelihood)


def test_a_crossed_model_takes_few_evaluations(data, monkeypatch):
    """Of 214,659 rows each evaluation takes a tenth of a second; here it once took 49, now 25."""
    calls = {"evaluate": 0, "row_derivatives": 0}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return function(*arguments)

        return call

    monkeypatch.setattr(Intercepts, "evaluate", counted("evaluate", Intercepts.evaluate))
    monkeypatch.setattr(mixed, "row_derivatives", counted("row_derivatives", mixed.row_derivatives))
    assert clmm(FORMULA + " + (1 | flow) + (1 | variant)", data).status == "ok"
    assert calls["evaluate"] < 35
    assert calls["row_derivatives"] < 110


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.parametrize("groups", [("flow",), ("flow", "variant"), ("variant", "flow")])
def test_the_gradient_is_that_of_the_likelihood(data, link, groups):
    """With one intercept, and with two that cross."""
    solved = clm(FORMULA, data, link=link, cluster=groups).solved
    mixed = Intercepts(solved.problem, [solved.clusters[name] for name in groups])
    at = np.append(solved.parameters, [0.6, 0.3][: len(groups)])
    _, gradient = mixed.evaluate(at)
    steps = 1e-5 * np.eye(len(at))
    numeric = [(mixed.evaluate(at + e)[0] - mixed.evaluate(at - e)[0]) / 2e-5 for e in steps]
    np.testing.assert_allclose(gradient, numeric, atol=2e-5)


def test_without_differences_between_groups_it_is_the_plain_model():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.choice(["x", "y"], 2000), "flow": np.arange(2000) // 20})
    frame["level"] = np.searchsorted([-1.0, 1.0], (frame["a"] == "y") + rng.logistic(size=2000))
    mixed, plain = clmm("level ~ a + (1 | flow)", frame), clm("level ~ a", frame)
    assert mixed.status == "ok"
    assert mixed.sd["flow"] < 0.3
    np.testing.assert_allclose(mixed.coefficients["estimate"], plain.coefficients["estimate"], rtol=0.03)
    assert mixed.log_likelihood >= plain.log_likelihood - 1e-6


@pytest.mark.parametrize("groups", [("flow",), ("flow", "variant")])
def test_a_separated_level_has_no_number_and_the_others_are_those_without_its_rows(separated, groups):
    rest = separated[separated["sender"] != "meter"]
    fit, without = (clmm(with_intercepts(groups), rows) for rows in (separated, rest))
    assert (fit.status, without.status) == ("separated", "ok")
    assert "sender = meter" in fit.reason
    lost = fit.coefficients["level"] == "meter"
    assert fit.coefficients.loc[lost, ["estimate", "std_err", "p", "conf_low"]].isna().all(axis=None)
    assert [*fit.coefficients["status"].where(lost, "").unique()] == ["", "separated"]
    for column in ("estimate", "std_err"):
        np.testing.assert_allclose(
            fit.coefficients.loc[~lost, column], without.coefficients[column], atol=2e-4
        )
        np.testing.assert_allclose(fit.thresholds[column], without.thresholds[column], atol=2e-4)
    for ours, theirs in ((fit.sd, without.sd), (fit.sd_std_err, without.sd_std_err)):
        assert ours == pytest.approx(theirs, abs=2e-4)
    assert fit.log_likelihood == pytest.approx(without.log_likelihood, abs=1e-6)


def test_a_separated_baseline_takes_its_factor_and_the_thresholds(data):
    frame = data.assign(level=data["level"].where(data["sender"] != "camera", 2))
    fit = clmm(with_intercepts(("flow",)), frame)
    other = clmm(with_intercepts(("flow",)), frame, baselines={"sender": "lock"})
    assert set(fit.thresholds["status"]) == {"separated"}
    assert fit.thresholds["estimate"].isna().all()
    assert fit.sd == pytest.approx(other.sd, abs=1e-4)
    shared = [each.coefficients.query("factor != 'sender'")["estimate"] for each in (fit, other)]
    np.testing.assert_allclose(*shared, atol=1e-4)


def test_intercepts_that_no_data_could_tell_have_no_numbers(data, separated):
    rows = np.arange(len(data))
    cases = {
        "no row has two rows": (data.assign(row=rows), ("row",)),
        "no row has two rows, so": (data.assign(row=rows), ("flow", "row")),
        "no pair has two": (
            separated.assign(pair=np.where(separated["sender"] == "meter", 0, rows + 1)),
            ("pair",),
        ),
        "flow and twin group the rows alike": (data.assign(twin=data["flow"] + 7), ("flow", "twin")),
    }
    for reason, (frame, groups) in cases.items():
        fit = clmm(with_intercepts(groups), frame)
        assert fit.status == "unidentified"
        assert reason in fit.reason
        assert (fit.sd, fit.log_likelihood) == ({}, None)
        assert fit.coefficients["estimate"].isna().all()
    # Two rows that are alike are two rows: here the spread has no end.
    assert clmm(with_intercepts(("row",)), pd.concat([data.assign(row=rows)] * 2)).status == "not_converged"
    assert clmm(with_intercepts(("flow",)), data.assign(level=0)).status == "one_level"


def test_a_maximum_that_was_not_reached_has_no_numbers(data, monkeypatch):
    monkeypatch.setattr(mixed, "CLIMBS", 0)
    fit = clmm(FORMULA + " + (1 | flow)", data)
    assert (fit.status, fit.sd, fit.sd_std_err) == ("not_converged", {}, {})
    assert fit.reason == "the maximum of the marginal likelihood was not reached"
    assert (fit.log_likelihood, fit.aic) == (None, None)
    for table in (fit.coefficients, fit.thresholds):
        assert set(table["status"]) == {"not_estimated"}
        assert table[["estimate", "std_err"]].isna().all(axis=None)


@pytest.mark.slow
def test_its_intervals_cover_and_those_of_the_naive_model_do_not():
    """200 simulated data sets of 60 groups with a random intercept: 95% intervals of a factor of the groups."""
    rng = np.random.default_rng(11)
    hits = {"mixed": 0, "naive": 0}
    for _ in range(200):
        flows = pd.DataFrame(
            {"flow": np.arange(60), "a": np.repeat(["x", "y"], 30), "u": rng.normal(size=60)}
        )
        frame = flows.loc[flows.index.repeat(8)]
        latent = (frame["a"] == "y") * 1.0 + frame["u"] + rng.logistic(size=len(frame))
        frame = frame.assign(level=np.searchsorted([-1.0, 0.5, 2.0], latent))
        for name, fit in (
            ("mixed", clmm("level ~ a + (1 | flow)", frame)),
            ("naive", clm("level ~ a", frame)),
        ):
            row = fit.coefficients.iloc[0]
            hits[name] += row["conf_low"] <= 1.0 <= row["conf_high"]
    print(hits)
    assert 0.91 <= hits["mixed"] / 200 <= 0.985
    assert hits["naive"] / 200 < 0.85


@pytest.mark.parametrize("order", [("flow", "copy"), ("copy", "flow")])
def test_of_two_intercepts_one_without_spread_is_left_out(data, order):
    copies = pd.concat([data.assign(copy=name) for name in "abc"], ignore_index=True)
    both, one = (clmm(with_intercepts(groups), copies) for groups in (order, ("flow",)))
    assert both.status == "ok"
    assert both.reason == "rows that differ in copy differ no more than others: its intercept has no spread"
    assert both.sd == {**one.sd, "copy": 0.0}
    assert both.n_clusters == {"flow": 60, "copy": 3}
    pd.testing.assert_frame_equal(both.coefficients, one.coefficients)


@pytest.mark.parametrize("sd", [5, 8, 12])
def test_groups_that_differ_very_much_are_fitted_too(sd):
    x = np.tile(np.arange(9) % 3, 60)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        flow = np.repeat(np.arange(60), 9)
        latent = rng.normal(0, sd, 60)[flow] + 0.7 * (x == 1) - 0.5 * (x == 2) + rng.logistic(size=540)
        level = np.digitize(latent, [-4, -1.5, 1.5, 4])
        frame = pd.DataFrame({"flow": flow, "x": x.astype(str), "level": level})
        fit = clmm("level ~ x + (1 | flow)", frame)
        assert fit.status == "ok"
        assert 0.5 * sd < fit.sd["flow"] < 1.5 * sd


@pytest.mark.slow
@pytest.mark.parametrize(("items", "by_item"), [(5, 0.3), (11, 0.1), (11, 0.3), (11, 0.6)])
def test_size_of_comparing_two_conditions_with_an_intercept_for_each_item_of_each(items, by_item):
    rng, p = np.random.default_rng(1), []
    for _ in range(150):
        data = two_conditions(rng, items, by_item, by_subject=0.0)
        formula, df = "level ~ kind + condition + (1 | subject) + (1 | own)", {"condition": items - 1}
        fit = clmm(formula, data[data["subject"] < 36], df=df)
        if fit.status == "ok":
            p.append(p_of_condition(fit))
    assert len(p) > 140
    assert np.mean(np.array(p) < 0.05) <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / len(p))


@pytest.mark.parametrize(
    ("formula", "df", "message"),
    [
        (FORMULA, None, "one random intercept or two"),
        (with_intercepts(("flow", "variant", "level")), None, "one random intercept or two"),
        (with_intercepts(("flow",)), {"house": 3}, "no factor of the formula for df 'house'"),
        (with_intercepts(("house",)), None, "no column 'house'"),
    ],
)
def test_wrong_settings_say_what_is_allowed(data, formula, df, message):
    with pytest.raises(ModelError, match=message):
        clmm(formula, data, df=df)
