"""Regressions: which fit they are of, what is pooled, and a status where there is no fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.regression import answer_regression, ordinal_regression
from cinorms.entries.entry import Selected
from cinorms.norms.assessment import held
from cinorms.prompts.variants import list_variants
from cumulink import clm

from .made import ANSWERS, SMALL, USUAL, VIGNETTES, entry_for, in_two_arms, norms_of, run

WATCH = {"factors": ["sender", "recipient"], "baselines": {"sender": "watch"}}


def test_ordinal_regression_is_the_fit_of_the_norms_held():
    table = run("ordinal_regression", SMALL, **WATCH)
    frame = VIGNETTES.assign(value=held(norms_of(ANSWERS["small"]), USUAL)["value"])
    fit = clm("value ~ sender + recipient", frame, baselines={"sender": "watch"})
    np.testing.assert_allclose(
        table["estimate"], [*fit.coefficients["estimate"], *fit.thresholds["estimate"]]
    )
    assert list(table["term"].unique()) == ["sender", "recipient", "threshold"]
    assert set(table["baseline"].dropna()) == {"watch", "maker"}
    assert table["n"].eq(fit.n).all()
    assert table["log_likelihood"].eq(fit.log_likelihood).all()


def test_linked_factors_are_one_factor_where_none_are_named():
    terms = run("ordinal_regression", SMALL)["term"]
    assert set(terms) == {"sender", "place + inference", "recipient", "threshold"}
    named = run("ordinal_regression", SMALL, factors=["place", "inference"])
    assert set(named.loc[named["term"] == "inference", "status"]) == {"aliased"}


def test_naming_the_model_or_an_attribute_of_it_pools_the_models():
    table = run("ordinal_regression", factors=["recipient", "model"], baselines={"model": "small"})
    assert set(table["model"]) == {"pooled"}
    rows = table[table["term"] == "model"].set_index("level")
    assert (rows["baseline"] == "small").all()
    assert rows.loc["large", "estimate"] > 0
    capacity = run("ordinal_regression", factors=["capacity"], baselines={"capacity": 7})
    assert capacity.iloc[0][["term", "level", "baseline"]].tolist() == ["capacity", "13", "7"]
    assert capacity["n"].iloc[0] + capacity["n_missing"].iloc[0] == 3 * len(VIGNETTES)


def test_norms_of_several_models_on_one_flow_are_no_independent_norms():
    pooled = {"factors": ["recipient", "model"]}
    table = run("ordinal_regression", **pooled)
    assert table["n_flows"].notna().all()
    alone, statsmodels = (
        run("ordinal_regression", SMALL),
        run("ordinal_regression", estimator="statsmodels", **pooled),
    )
    # With independent errors the standard error of a paired comparison is larger.
    of_model = table["term"] == "model"
    assert (table["std_err"] < statsmodels["std_err"])[of_model].all()
    for without in (alone, statsmodels):
        assert without["n_flows"].isna().all()


@pytest.mark.parametrize(("dataset", "flipped", "times"), [("d", False, 1), ("e", False, 1), ("e", True, 2)])
def test_other_flows_with_the_same_numbers_are_no_cluster_together(dataset, flipped, times):
    entry = entry_for("ordinal_regression", ["small"], factors=["recipient", "arm"])
    entry = in_two_arms(entry, factors_of=replace(entry.factors_of["main"], dataset=dataset))
    other = VIGNETTES.assign(sender=VIGNETTES["sender"].to_numpy()[:: -1 if flipped else 1])
    norms = norms_of(ANSWERS["small"])
    selected = [Selected(arm, "small", norms) for arm in entry.arms]
    table = ordinal_regression(selected, entry, {"main": VIGNETTES, "other": other})
    assert table["n_flows"].iloc[0] == times * held(norms, USUAL)["value"].count()


def test_errors_of_the_answers_are_clustered_by_flow_and_by_wording():
    table, answers = run("answer_regression", SMALL, **WATCH), ANSWERS["small"]
    frame = answers[["flow", "level"]].merge(VIGNETTES, on="flow")
    frame["template"] = answers["variant"].astype(str).str[0]
    fit = clm(
        "level ~ sender + recipient", frame, baselines={"sender": "watch"}, cluster=["flow", "template"]
    )
    for name in ("estimate", "std_err"):
        np.testing.assert_allclose(table[name], [*fit.coefficients[name], *fit.thresholds[name]])
    np.testing.assert_allclose(table["p"].dropna(), fit.coefficients["p"])
    assert table["n"].eq(answers["level"].notna().sum()).all()
    assert table["n_flows"].eq(len(VIGNETTES)).all()


@pytest.mark.slow
def test_a_term_that_is_0_is_rejected_in_five_percent_where_wordings_react_to_levels():
    """Each of 11 wordings adds to each level of each factor."""
    rng, prompts = np.random.default_rng(1), list_variants("chatgpt", ["text"] * 11, 11, 1)
    entry, p = entry_for("answer_regression", ["small"], factors=["sender", "place", "recipient"]), []
    for _ in range(100):
        latent = rng.normal(0, 0.5, (len(VIGNETTES), 1)) + rng.normal(0, 0.6, (len(VIGNETTES), 11))
        for name in entry.options.factors:
            codes = VIGNETTES[name].cat.codes.to_numpy()
            latent += rng.normal(0, 0.3, (codes.max() + 1, 11))[codes]
        answers = pd.DataFrame(
            {
                "flow": np.repeat(VIGNETTES["flow"].to_numpy(), 11),
                "variant": np.tile(prompts["variant"], len(VIGNETTES)),
                "level": pd.array(np.clip(np.rint(latent), -2, 2).ravel(), dtype="Int8"),
                "status": "ok",
            }
        )
        table = answer_regression(
            [Selected("main", "small", answers)],
            entry,
            vignettes={"main": VIGNETTES},
            prompts={"main": prompts},
            coefficients={},
        )
        p += [*table.loc[table["term"] != "threshold", "p"]]
    assert 0.03 <= (np.array(p) < 0.05).mean() <= 0.08


def test_why_there_is_no_fit():
    two = {"select": {"sender": ["doll", "robot"]}, "baselines": {"sender": "watch"}}
    table = run("ordinal_regression", **two)
    assert set(table["fit_status"]) == {"no_baseline"}
    assert table["fit_reason"].str.contains("sender = watch").all()
    one = ANSWERS["small"][ANSWERS["small"]["variant"].astype(str).str.startswith("0")]
    assert set(run("answer_regression", {"small": one})["fit_status"]) == {"one_template"}
