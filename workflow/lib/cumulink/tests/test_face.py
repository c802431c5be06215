"""What a user meets: formulas, results, the examples of docstrings and README, and a light import."""

import doctest
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import cumulink
from cumulink import DataError, ModelError, clm, clmm, tails
from cumulink.formula import parse

from .conftest import REFERENCE

LIBRARY = Path(__file__).parents[1]  # installed alone, the package is elsewhere and has no README
README = (LIBRARY / "README.md").read_text(encoding="utf-8")
MODULES = sorted(path.stem for path in LIBRARY.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_print_what_they_show(module):
    found = doctest.testmod(importlib.import_module(f"cumulink.{module}"))
    assert found.failed == 0
    assert found.attempted or module not in ("model", "mixed", "results", "arrays", "tails")


def test_the_examples_of_the_readme_print_what_they_show(capsys):
    names: dict[str, object] = {}
    examples = re.findall(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", README, flags=re.DOTALL)
    assert len(examples) > 2
    for code, shown in examples:
        exec(compile(code, "README.md", "exec"), names)
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == shown.splitlines()


def test_the_readme_names_all_that_is_public_and_every_status():
    for name in cumulink.__all__:
        assert hasattr(cumulink, name)
        assert f"`{name}" in README, name
    code = "".join(path.read_text(encoding="utf-8") for path in LIBRARY.glob("*.py"))
    words = ["ok", "separated", "aliased", "constant_factor"]
    words += ["not_estimated", "not_converged", "one_level", "no_data", "unidentified"]
    for status in words:
        assert f'"{status}"' in code
        assert f"`{status}`" in README, status


def test_the_numbers_of_the_readme_are_those_of_r_and_of_this_package(data):
    plain, mixed = (
        pd.read_csv(REFERENCE / f"{file}.csv").query("model == @model").set_index("parameter")
        for file, model in (("clm_reference", "logit"), ("clmm_reference", "laplace"))
    )
    formula, baselines = "level ~ sender + recipient + order", {"sender": "lock"}
    fits = clm(formula, data, baselines=baselines), clmm(f"{formula} + (1 | flow)", data, baselines=baselines)
    rows = re.findall(r"^\| `(\w+)` (\w+) \|(.*)\|$", README, flags=re.MULTILINE)
    assert len(rows) == 7
    for factor, level, cells in rows:
        shown = [float(cell) for cell in cells.split("|")]
        of_r = [
            table.loc[factor + level, name] for table in (plain, mixed) for name in ("estimate", "std_err")
        ]
        own = [column[f"{factor}[T.{level}]"] for fit in fits for column in (fit.params, fit.bse)]
        assert shown == pytest.approx(of_r, abs=6e-7)
        assert shown == pytest.approx(own, abs=1e-4)


def test_importing_it_loads_no_part_of_scipy_until_a_model_is_used():
    loaded = "'scipy.special' in sys.modules"
    code = f"import sys, cumulink; print({loaded}, end=' '); cumulink.clm; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False True\n"
    with pytest.raises(AttributeError, match="no attribute 'clmmm'"):
        cumulink.clmmm  # noqa: B018


@pytest.mark.parametrize(
    ("formula", "outcome", "factors", "categorical", "groups"),
    [
        ("y ~ a", "y", ["a"], set(), ()),
        ("y~C(a)+b", "y", ["a", "b"], {"a"}, ()),
        (
            "`my y` ~ `a + b` + C( n ) + C(`ü ~ (1 | x)`)",
            "my y",
            ["a + b", "n", "ü ~ (1 | x)"],
            {"n", "ü ~ (1 | x)"},
            (),
        ),
        ("y ~ (1|g) + a.b\n  + ( 1 | `h h` )", "y", ["a.b"], set(), ("g", "h h")),
    ],
)
def test_a_formula_names_columns(formula, outcome, factors, categorical, groups):
    assert parse(formula) == (formula, outcome, factors, categorical, groups)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("y", "does not begin with a column and ~"),
        ("~ a", "does not begin with"),
        ("y ~ ", "cannot read ''"),
        ("y ~ a +", "cannot read ''"),
        ("y ~ a * b", r"cannot read 'a \* b'; .*combine two columns"),
        ("y ~ a + b:c", "cannot read 'b:c'"),
        ("y ~ a + (a | g)", r"cannot read '\(a \| g\)'"),
        ("y ~ a + a", "factors are named twice"),
        ("y ~ a + (1 | g) + (1 | g)", "random intercepts are named twice"),
        ("y ~ (1 | g)", "has no factor"),
    ],
)
def test_a_formula_that_cannot_be_read_is_quoted(formula, message):
    with pytest.raises(ModelError, match=message):
        parse(formula)


def test_an_ordered_categorical_is_the_numbers_of_its_categories(data):
    words = ["never", "worst", "bad", "so-so", "good", "best"]
    named = pd.Categorical([words[level + 3] for level in data["level"]], words, ordered=True)
    fit, numbers = (clm("level ~ sender", frame) for frame in (data.assign(level=named), data))
    assert fit.levels == tuple(words[1:])
    assert fit.thresholds["threshold"].tolist()[0] == "worst|bad"
    assert fit.params.to_list() == numbers.params.to_list()
    some = data.assign(level=pd.Categorical(named).set_categories(words[2:], ordered=True))
    assert clm("level ~ sender", some).n_missing == (data["level"] == -2).sum() > 0


def test_truth_values_are_a_factor_and_a_factor_of_numbers_is_asked_for(data):
    fit = clm("level ~ sunny + C(variant)", data.assign(sunny=data["flow"] > 30))
    assert fit.params.index[0] == "sunny[T.True]"
    assert fit.params.index[9] == "variant[T.10]"


# --- results


def test_params_errors_p_values_and_intervals_are_those_of_the_tables(data):
    fit = clm("level ~ sender + order", data, cluster="flow")
    assert fit.params.index.tolist() == [
        *("sender[T.lock]", "sender[T.meter]", "sender[T.watch]", "order[T.second]", "order[T.third]"),
        *("-2|-1", "-1|0", "0|1", "1|2"),
    ]
    table, terms = fit.coefficients, slice(5)
    for found, column in ((fit.params, "estimate"), (fit.bse, "std_err"), (fit.pvalues, "p")):
        assert found.iloc[terms].to_list() == table[column].to_list()
    interval = fit.conf_int()
    assert interval["lower"].iloc[terms].to_list() == table["conf_low"].to_list()
    assert interval["upper"].iloc[terms].to_list() == table["conf_high"].to_list()
    wide = fit.conf_int(alpha=0.01)
    assert ((wide["lower"] < interval["lower"]) & (wide["upper"] > interval["upper"])).all()


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_predictions_are_the_likelihood_of_what_was_observed(data, link):
    fit = clm("level ~ sender + order", data, link=link)
    shares = fit.predict(data)
    assert list(shares) == [-2, -1, 0, 1, 2]
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    observed = shares.to_numpy()[np.arange(len(data)), data["level"] + 2]
    assert np.log(observed).sum() == pytest.approx(fit.log_likelihood)


def test_predictions_are_missing_where_no_estimate_exists_and_refuse_what_the_fit_has_not_seen(separated):
    frame = separated.assign(twin=separated["sender"] + "'s", one="x")
    fit = clm("level ~ sender + twin + one", frame)
    shares = fit.predict(frame)
    np.testing.assert_array_equal(shares.isna().all(axis=1), frame["sender"] == "meter")
    with pytest.raises(ModelError, match="no level of sender in the fit 'toaster'"):
        fit.predict(frame.assign(sender="toaster"))
    with pytest.raises(ModelError, match="no column 'twin'"):
        fit.predict(frame[["sender", "one"]])
    with pytest.raises(DataError, match="one_level"):
        clm("level ~ sender", frame.assign(level=1)).predict(frame)


@pytest.mark.parametrize(
    ("fit", "settings"),
    [(clm, {}), (clm, {"cluster": "flow"}), (clm, {"estimator": "statsmodels"}), (clmm, {})],
)
def test_the_covariance_is_that_of_the_errors_and_of_any_difference(data, fit, settings):
    if "estimator" in settings:
        pytest.importorskip("statsmodels")
    formula = "level ~ sender + order" + " + (1 | flow)" * (fit is clmm)
    one, other = (fit(formula, data, baselines={"sender": name}, **settings) for name in ("camera", "lock"))
    covariance = one.cov_params()
    assert [*covariance.index] == [*covariance.columns] == [*one.params.index]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), one.bse)
    pair = covariance.loc[["sender[T.watch]", "sender[T.lock]"], ["sender[T.watch]", "sender[T.lock]"]]
    variance = np.diag(pair).sum() - 2 * pair.iloc[0, 1]
    assert np.sqrt(variance) == pytest.approx(other.bse["sender[T.watch]"], rel=2e-3)


def test_a_covariance_is_missing_where_an_estimate_is(data, separated):
    for fit in (
        clm("level ~ sender + order", separated),
        clmm("level ~ sender + order + (1 | flow)", separated),
    ):
        lost = fit.cov_params().isna()
        assert (lost.to_numpy() == fit.params.isna().to_numpy()[:, None] | fit.params.isna().to_numpy()).all()
        assert lost.any(axis=None)
    with pytest.raises(DataError, match="clustered by flow and variant only variances exist"):
        clm("level ~ sender", data, cluster=("flow", "variant")).cov_params()
    with pytest.raises(DataError, match="one_level"):
        clm("level ~ sender", data.assign(level=1)).cov_params()


def test_likelihoods_have_the_names_of_statsmodels_and_its_criteria(data):
    fit = clm("level ~ sender + order", data)
    k = len(fit.params)
    assert (fit.llf, fit.nobs) == (fit.log_likelihood, len(data))
    assert fit.bic == pytest.approx(fit.aic - 2 * k + k * np.log(600))
    assert clm("level ~ sender", data.assign(level=1)).bic is None
    statsmodels = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    x = pd.get_dummies(data[["sender", "order"]], drop_first=True, dtype=float)
    theirs = statsmodels.OrderedModel(data["level"], x, distr="logit").fit(method="bfgs", disp=False)
    assert (fit.llf, fit.aic, fit.bic) == pytest.approx((theirs.llf, theirs.aic, theirs.bic), abs=1e-4)


def test_two_fits_are_compared_by_their_likelihoods(data):
    small, large = clm("level ~ order", data), clm("level ~ order + sender", data)
    test = large.compare_lr_test(small)
    assert test.statistic == pytest.approx(2 * (large.llf - small.llf))
    assert (test.df, test.edges) == (3, 0)
    assert test.p == pytest.approx(stats.chi2.sf(test.statistic, 3))
    assert test.log10_p == pytest.approx(np.log10(test.p))
    # A standard deviation of 0 is an edge: half the chance that it is 0.
    mixed, crossed = (
        clmm(f"level ~ order{more}", data) for more in (" + (1 | flow)", " + (1 | flow) + (1 | variant)")
    )
    test = mixed.compare_lr_test(small)
    assert (test.df, test.edges) == (1, 1)
    assert test.log10_p == pytest.approx(np.log10(0.5) + tails.log10_p(test.statistic, 1))
    both = crossed.compare_lr_test(clm("level ~ order", data))
    parts = [0.5 * stats.chi2.sf(both.statistic, 1), 0.25 * stats.chi2.sf(both.statistic, 2)]
    assert both.p == pytest.approx(sum(parts))
    copies = pd.concat([data.assign(copy=name) for name in "abc"])
    alike = clmm("level ~ order + (1 | copy)", copies)
    assert alike.compare_lr_test(clm("level ~ order", copies)).p > 0.45


@pytest.mark.parametrize(
    ("formula", "settings", "message"),
    [
        ("level ~ recipient", {}, "is not a part of 'level ~ sender"),
        ("level ~ sender + order", {}, "is not a part of"),
        ("level ~ sender", {"link": "probit"}, "their links differ"),
        ("level ~ sender", {"cluster": "flow"}, "errors are clustered"),
        ("level ~ sender", {"rows": 599}, "not of the same rows"),
        ("level ~ sender", {"level": 1}, "one_level and ok"),
    ],
)
def test_fits_that_are_not_nested_are_not_compared(data, formula, settings, message):
    rows = data.iloc[: settings.pop("rows", 600)]
    rows = rows.assign(level=settings.pop("level", rows["level"]))
    with pytest.raises(ModelError, match=message):
        clm("level ~ sender + order", data).compare_lr_test(clm(formula, rows, **settings))


def test_a_fit_can_be_pickled(data):
    for fit in (
        clm("level ~ sender", data, link="probit", cluster="flow"),
        clmm("level ~ order + (1 | flow)", data),
    ):
        again = pickle.loads(pickle.dumps(fit))
        assert repr(again.summary()) == repr(fit.summary())
        pd.testing.assert_frame_equal(again.predict(data), fit.predict(data))


def test_a_mixed_model_predicts_for_a_group_in_the_middle(data):
    mixed, plain = clmm("level ~ sender + (1 | flow)", data), clm("level ~ sender", data)
    difference = mixed.predict(data) - plain.predict(data)
    assert 0 < difference.abs().max(axis=None) < 0.1


def test_a_summary_has_the_facts_of_the_fit_and_a_row_per_parameter(data, separated):
    some = data.assign(level=data["level"].astype("Int8").where(data["level"] != 0))
    text = repr(clm("level ~ sender", some, cluster=("flow", "variant")).summary())
    assert text.count("\n") == 5 + 1 + 3 + 3
    for shown in (
        "516 rows (84 more have no outcome), log-likelihood -",
        "standard errors clustered by flow (60) and variant (10)",
        "status: ok",
        "baselines: sender = camera",
    ):
        assert shown in text
    for fit, shown in (
        (clmm("level ~ order + (1 | flow)", data), "random intercept of flow: sd 1."),
        (clm("level ~ sender", separated), "separated, so without a finite estimate: sender = meter)"),
        (clm("level ~ sender", data.assign(level=1)), "status: one_level"),
    ):
        assert shown in fit.summary()
        assert "clustered" not in fit.summary()
    assert "n = 600, ok" in repr(clm("level ~ sender", data))
