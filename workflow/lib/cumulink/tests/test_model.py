"""Cumulative link models: against R's ordinal::clm, slow re-computations, and data that cannot be fitted."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from cumulink import ClmResult, DataError, ModelError, clm, likelihood

from .conftest import REFERENCE, names_of_r, p_of_condition, two_conditions

FORMULA = "level ~ sender + recipient + order"
FACTORS = ["sender", "recipient", "order"]
BASELINES = {"sender": "lock"}


def term(fit: ClmResult, factor: str, level: str) -> pd.Series:
    return fit.coefficients.set_index(["factor", "level"]).loc[(factor, level)]


def simulated(
    rng: np.random.Generator, n: int, effects: dict[str, list[float]], cuts: list[float]
) -> pd.DataFrame:
    """Return rows whose latent outcome is the sum of effects and logistic noise, cut at ``cuts``."""
    frame = pd.DataFrame({name: rng.integers(len(values), size=n) for name, values in effects.items()})
    latent = sum((np.array(values)[frame[name]] for name, values in effects.items()), rng.logistic(size=n))
    frame = frame.astype(str)
    frame["level"] = np.searchsorted(cuts, latent) - 2
    return frame


def dense_log_likelihood(frame: pd.DataFrame, factors: list[str], link: str):
    """Return f(theta, beta) = log-likelihood by row, with a plain dummy matrix and plain probabilities."""
    x = np.hstack([pd.get_dummies(frame[f], drop_first=True).to_numpy(float) for f in factors])
    levels, y = np.unique(frame["level"], return_inverse=True)
    k = len(levels) - 1

    def rows(parameters: np.ndarray) -> np.ndarray:
        eta = parameters[:k] - (x @ parameters[k:])[:, None]
        cumulative = np.hstack([np.zeros((len(x), 1)), likelihood.LINKS[link].cdf(eta), np.ones((len(x), 1))])
        return np.log(np.diff(cumulative, axis=1)[np.arange(len(x)), y])

    return rows, k + x.shape[1]


def values(fit: ClmResult) -> np.ndarray:
    return np.concatenate([fit.thresholds["estimate"], fit.coefficients["estimate"]])


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_equals_r_ordinal(data, link):
    fit = clm(FORMULA, data, baselines=BASELINES, link=link)
    reference = pd.read_csv(REFERENCE / "clm_reference.csv").set_index(["model", "parameter"])
    expected = reference.loc[link]
    names = names_of_r(fit)
    assert fit.status == "ok"
    assert {*names, "logLik"} == set(expected.index)
    for column, found in (("estimate", fit.params), ("std_err", fit.bse)):
        np.testing.assert_allclose(found, expected.loc[names, column], atol=1e-6)
    assert fit.log_likelihood == pytest.approx(expected.loc["logLik", "estimate"], abs=1e-8)
    assert fit.aic == pytest.approx(2 * len(names) - 2 * fit.log_likelihood)


def test_derived_columns_follow_from_estimate_and_error(data):
    fit = clm(FORMULA, data, baselines=BASELINES)
    table = fit.coefficients
    assert list(table.columns) == [
        *("factor", "level", "baseline", "estimate", "std_err", "df", "statistic", "p", "log10_p"),
        *("odds_ratio", "conf_low", "conf_high", "status"),
    ]
    z = table["estimate"] / table["std_err"]
    np.testing.assert_allclose(table["statistic"], z)
    np.testing.assert_allclose(table["p"], 2 * stats.norm.sf(abs(z)))
    np.testing.assert_allclose(table["log10_p"], np.log10(table["p"]))
    np.testing.assert_allclose(table["odds_ratio"], np.exp(table["estimate"]))
    np.testing.assert_allclose(table["conf_high"] - table["conf_low"], 2 * 1.959963985 * table["std_err"])
    assert set(table.loc[table["factor"] == "sender", "baseline"]) == {"lock"}
    counts = data["level"].value_counts()
    without_factors = (counts * np.log(counts / len(data))).sum()
    assert fit.mcfadden_r2 == pytest.approx(1 - fit.log_likelihood / without_factors)
    assert clm(FORMULA, data, link="probit").coefficients["odds_ratio"].isna().all()


def test_unused_levels_are_dropped_and_missing_outcomes_counted(data):
    some = data.assign(level=data["level"].astype("Int8").where(data["level"] != 0))
    fit = clm(FORMULA, some)
    assert fit.levels == (-2, -1, 1, 2)
    assert list(fit.thresholds["threshold"]) == ["-2|-1", "-1|1", "1|2"]
    assert (fit.n, fit.n_missing) == (516, 84)


# --- separation ------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_a_separated_level_has_no_number_and_the_others_are_those_without_its_rows(separated, link):
    rest = separated[separated["sender"] != "meter"]
    fit, without = (clm(FORMULA, rows, baselines=BASELINES, link=link) for rows in (separated, rest))
    assert fit.status == "separated"
    assert "sender = meter" in fit.reason
    lost = term(fit, "sender", "meter")
    assert lost["status"] == "separated"
    assert lost[["estimate", "std_err", "statistic", "p", "log10_p", "odds_ratio", "conf_low"]].isna().all()
    others = fit.coefficients[fit.coefficients["level"] != "meter"]
    assert set(others["status"]) == {"ok"}
    for column in ("estimate", "std_err"):
        np.testing.assert_allclose(others[column], without.coefficients[column], atol=1e-7)
    assert fit.log_likelihood == pytest.approx(without.log_likelihood, abs=1e-7)


def test_a_separated_baseline_takes_its_whole_factor_and_the_thresholds(data):
    frame = data.assign(level=data["level"].where(data["sender"] != "lock", 2))
    fit = clm(FORMULA, frame, baselines=BASELINES)
    by_factor = fit.coefficients.groupby("factor")["status"].agg(set)
    assert by_factor["sender"] == {"separated"}
    assert by_factor["recipient"] == by_factor["order"] == {"ok"}
    assert set(fit.thresholds["status"]) == {"separated"}
    # against another baseline the same data leave only that level without a number
    other = clm(FORMULA, frame, baselines={"sender": "camera"})
    assert other.coefficients.query("status == 'separated'")["level"].tolist() == ["lock"]
    assert set(other.thresholds["status"]) == {"ok"}
    assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=1e-8)
    shared = [each.coefficients.query("factor != 'sender'")["estimate"] for each in (fit, other)]
    np.testing.assert_allclose(*shared, atol=1e-7)


def test_nearly_separated_is_not_separated(separated):
    frame = separated.copy()
    frame.loc[frame.index[frame["sender"] == "meter"][0], "level"] = -1
    fit = clm(FORMULA, frame, baselines=BASELINES)
    assert fit.status == "ok"
    assert term(fit, "sender", "meter")["estimate"] < -5
    rows, _ = dense_log_likelihood(frame, FACTORS, "logit")
    gradient = optimize.approx_fprime(values(clm(FORMULA, frame)), lambda p: rows(p).sum(), 1e-6)
    np.testing.assert_allclose(gradient, 0, atol=2e-3)


def test_separation_by_two_factors_together():
    """No level alone has one outcome, the sum of two decides: only the linear program sees it."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.integers(3, size=300), "b": rng.integers(3, size=300)})
    frame["level"] = np.where(frame["a"] + frame["b"] > 2, 1, np.where(frame["a"] + frame["b"] < 2, -1, 0))
    frame.loc[frame["level"] == 0, "level"] = rng.choice([-1, 1], size=(frame["level"] == 0).sum())
    fit = clm("level ~ a + b", frame.astype({"a": str, "b": str}))
    assert fit.status == "separated"
    assert set(fit.coefficients["status"]) == {"separated"}


# --- what cannot be fitted ------------------------------------------------------------


def test_no_data_and_one_level_are_statuses(data):
    none = clm(FORMULA, data.assign(level=np.nan), baselines=BASELINES)
    assert (none.status, none.n, none.n_missing, len(none.coefficients)) == ("no_data", 0, 600, 0)
    same = clm(FORMULA, data.assign(level=1), baselines=BASELINES)
    assert (same.status, same.n, same.log_likelihood) == ("one_level", 600, None)
    assert "1" in same.reason
    assert set(same.coefficients["status"]) == {"not_estimated"}
    assert same.coefficients["estimate"].isna().all()


def test_constant_and_linked_factors_are_statuses(data):
    frame = data.assign(dataset="iot", twin=data["sender"] + "'s data")
    fit = clm("level ~ sender + dataset + twin + recipient + order", frame)
    plain = clm(FORMULA, frame)
    statuses = fit.coefficients.set_index("factor")["status"]
    assert statuses["dataset"] == "constant_factor"
    assert set(statuses["twin"]) == {"aliased"}
    assert "collinear" in fit.reason
    ok = fit.coefficients[fit.coefficients["status"] == "ok"]
    np.testing.assert_allclose(ok["estimate"], plain.coefficients["estimate"], atol=1e-8)
    assert clm("level ~ dataset", frame).status == "constant_factor"


def test_no_maximum_is_a_status_without_numbers(data, monkeypatch):
    monkeypatch.setattr("cumulink.likelihood.CONVERGED", -1.0)
    monkeypatch.setattr("cumulink.likelihood.climb", lambda problem, point, step: (point, False))
    fit = clm(FORMULA, data)
    assert fit.status == "not_converged"
    assert fit.coefficients["estimate"].isna().all()
    assert set(fit.coefficients["status"]) == {"not_estimated"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"link": "logistic"}, r"no link 'logistic'; choose one of .*; did you mean 'logit'\?"),
        ({"estimator": "bfgs"}, "choose one of"),
        ({"formula": "level ~ sendr"}, r"no column 'sendr'; .* did you mean 'sender'\?"),
        ({"formula": "answer ~ sender"}, "no column 'answer'"),
        ({"formula": "level ~ flow"}, r"column flow has numbers.*C\(flow\)"),
        ({"formula": "level ~ sender + (1 | flow)"}, "clmm"),
        ({"baselines": {"sender": "toaster"}}, "no level of sender, as its baseline, 'toaster'"),
        ({"baselines": {"place": "home"}}, "no factor of baselines 'place'"),
        ({"cluster": "house"}, "no column 'house'"),
        ({"cluster": ["flow", "variant", "order"]}, "by one column or by two"),
        ({"estimator": "statsmodels", "cluster": "flow"}, "needs estimator 'newton'"),
        ({"estimator": "statsmodels", "link": "cloglog"}, "choose logit or probit"),
    ],
)
def test_wrong_settings_say_what_is_allowed(data, settings, message):
    with pytest.raises(ModelError, match=message):
        clm(**({"formula": FORMULA, "data": data} | settings))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"level": 0.5}, "outcome level: levels are whole numbers"),
        ({"level": [np.inf, 1] * 300}, "infinite"),
        ({"level": ["low", "high"] * 300}, "ordered categorical"),
        ({"level": pd.Categorical(["low", "high"] * 300)}, "no order"),
        ({"flow": 1}, "column flow: all rows are in one cluster"),
        ({"flow": [None, "a", "b"] * 200}, "column flow: 200 rows belong to no cluster"),
        ({"sender": [None, "a"] * 300}, "factor sender: 300 rows have no level"),
        ({"sender": pd.Series([1, "1"] * 300, dtype=object)}, "factor sender: two levels read the same"),
    ],
)
def test_wrong_values_say_what_is_wrong(data, changed, message):
    with pytest.raises(DataError, match=message):
        clm(FORMULA, data.assign(**changed), cluster="flow")


# --- clustered errors ------------------------------------------------------------


def test_clustered_errors_are_the_sandwich(data):
    fit = clm(FORMULA, data, cluster="flow")
    plain = clm(FORMULA, data)
    at = values(plain)
    np.testing.assert_allclose(values(fit), at, atol=1e-8)
    rows, n = dense_log_likelihood(data, FACTORS, "logit")
    scores = np.array([(rows(at + h) - rows(at - h)) / 2e-5 for h in 1e-5 * np.eye(n)]).T
    by_flow = pd.DataFrame(scores).groupby(data["flow"].to_numpy()).sum().to_numpy()

    def gradient(parameters: np.ndarray) -> np.ndarray:
        return optimize.approx_fprime(parameters, lambda p: rows(p).sum(), 1e-6)

    hessian = np.array([(gradient(at + h) - gradient(at - h)) / 2e-3 for h in 1e-3 * np.eye(n)])
    bread = np.linalg.inv(-(hessian + hessian.T) / 2)
    # A threshold and the five terms of the factors that are the same within a flow are one estimate each of 60 flows.
    free = np.where(np.arange(n) < 9, 60 - 6, 60 - 1)
    expected = np.sqrt(np.diag(bread @ by_flow.T @ by_flow @ bread) * 60 / free)
    found = np.concatenate([fit.thresholds["std_err"], fit.coefficients["std_err"]])
    np.testing.assert_allclose(found, expected, rtol=2e-3)
    assert fit.n_clusters == {"flow": 60}
    # flows differ, so that the naive errors of what varies between flows are too small
    assert (found[4:9] > 1.2 * plain.coefficients["std_err"][:5]).all()


def test_clusters_that_cross_add_up_less_their_cells(data):
    frame = data.assign(cell=data["flow"].astype(str) + data["variant"].astype(str))
    one_way = [clm(FORMULA, frame, cluster=name) for name in ("flow", "variant", "cell")]
    first, second, cells = (fit.coefficients["std_err"] ** 2 for fit in one_way)
    expected = np.maximum(first + second - cells, np.maximum(first, second))
    # The order is the same within a variant, the other factors within a flow.
    order = (one_way[0].coefficients["factor"] == "order").to_numpy()
    by_flow, by_variant = np.where(order, 60 - 1, 60 - 6), np.where(order, 10 - 3, 10 - 1)
    turned, both = (clm(FORMULA, data, cluster=names) for names in (["variant", "flow"], ("flow", "variant")))
    for fit in (turned, both):
        np.testing.assert_allclose(fit.coefficients["std_err"] ** 2, expected)
    assert both.n_clusters == {"flow": 60, "variant": 10}
    freedom = expected**2 / (first**2 / by_flow + second**2 / by_variant)
    half = stats.t.ppf(0.975, freedom) * both.coefficients["std_err"]
    np.testing.assert_allclose(both.coefficients["conf_high"] - both.coefficients["estimate"], half)
    p = 2 * stats.t.sf(abs(both.coefficients["statistic"]), freedom)
    np.testing.assert_allclose(both.coefficients["p"], p)


def test_clusters_with_as_many_terms_as_themselves_give_no_errors(data):
    level = np.random.default_rng(1).integers(3, size=len(data))
    frame = data.assign(level=level, sender=data["flow"].astype(str))
    fit = clm("level ~ sender + order", frame, cluster="flow")
    errors = fit.coefficients.groupby("factor", sort=False)["std_err"].agg(["count", "size"])
    assert errors.to_numpy().tolist() == [[0, 59], [2, 2]]
    assert fit.coefficients["estimate"].notna().all()
    assert [*fit.coefficients["status"].unique()] == ["few_clusters", "ok"]
    assert fit.reason.startswith(
        "without errors: too few clusters for the terms that are the same within one: sender"
    )
    assert clm("level ~ sender + order", frame).coefficients["std_err"].notna().all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "by_item", "least"),
    [
        (5, 0.1, {}),
        (5, 0.3, {"by subject": 0.15, "power": 0.25}),
        (5, 0.6, {"by subject": 0.15}),
        (11, 0.3, {"by subject": 0.15, "power": 0.7}),
        (30, 0.1, {"power": 0.7}),
        (30, 0.3, {"by subject": 0.15, "power": 0.95}),
        (30, 0.6, {"by subject": 0.15}),
    ],
)
def test_size_of_comparing_two_conditions_by_subject_and_item(items, by_item, least):
    """What one way of clustering leaves out, and the power of both, too. With 0.3: the table of README."""
    rng, runs, formula = np.random.default_rng(1), 400, "level ~ kind + condition"
    p: dict[str, list[float]] = {name: [] for name in ("size", *least)}
    for _ in range(runs):
        equal, other = two_conditions(rng, items, by_item), two_conditions(rng, items, by_item, shift=0.4)
        fits = {
            "size": (equal, ("subject", "item")),
            "by subject": (equal, "subject"),
            "power": (other, ("subject", "item")),
        }
        for name in p:
            frame, cluster = fits[name]
            p[name].append(p_of_condition(clm(formula, frame, cluster=cluster)))
    share = {name: float(np.mean(np.array(values) < 0.05)) for name, values in p.items()}
    print(f"{items} items, sd {by_item}: {share}")
    assert share["size"] <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / runs)
    assert all(share[name] > bound for name, bound in least.items())


@pytest.mark.slow
def test_intervals_cover_and_tests_hold_their_size():
    """300 simulated data sets of 400 rows."""
    rng = np.random.default_rng(8)
    truth = {("a", "1"): 0.8, ("a", "2"): -1.2, ("b", "1"): 0.0}
    covered, false_alarms = dict.fromkeys(truth, 0), 0
    for _ in range(300):
        frame = simulated(rng, 400, {"a": [0.0, 0.8, -1.2], "b": [0.0, 0.0]}, [-1.5, 0.0, 1.0])
        fit = clm("level ~ a + b", frame)
        rows = fit.coefficients.set_index(["factor", "level"])
        for name, value in truth.items():
            covered[name] += rows.loc[name, "conf_low"] <= value <= rows.loc[name, "conf_high"]
        false_alarms += rows.loc[("b", "1"), "p"] < 0.05
    assert all(0.92 <= hits / 300 <= 0.98 for hits in covered.values()), covered
    assert 0.02 <= false_alarms / 300 <= 0.08


# --- statsmodels ------------------------------------------------------------


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_statsmodels_estimator_is_statsmodels(data, link):
    OrderedModel = pytest.importorskip("statsmodels.miscmodels.ordinal_model").OrderedModel
    fit = clm(FORMULA, data, baselines=BASELINES, link=link, estimator="statsmodels")
    parts = [pd.get_dummies(data[f], dtype=float) for f in FACTORS]
    x = pd.concat([parts[0].drop(columns="lock"), *(part.iloc[:, 1:] for part in parts[1:])], axis=1)
    result = OrderedModel(data["level"], x, distr=link).fit(method="bfgs", disp=False)
    np.testing.assert_allclose(fit.coefficients["estimate"], result.params[:7], atol=1e-9)
    np.testing.assert_allclose(fit.coefficients["std_err"], result.bse[:7], atol=1e-7)
    newton = clm(FORMULA, data, baselines=BASELINES, link=link)
    np.testing.assert_allclose(values(fit), values(newton), atol=5e-3)
    np.testing.assert_allclose(fit.thresholds["std_err"], newton.thresholds["std_err"], rtol=1e-2)
    assert fit.log_likelihood <= newton.log_likelihood


def test_statsmodels_estimator_shows_no_number_for_separated_terms(separated):
    pytest.importorskip("statsmodels")
    lost = term(clm(FORMULA, separated, baselines=BASELINES, estimator="statsmodels"), "sender", "meter")
    assert lost["status"] in ("separated", "not_estimated")
    assert np.isnan(lost["estimate"])
