"""Regressions: which fit they are of, what is pooled, and a status where there is no fit."""

from __future__ import annotations

import numpy as np

from cinorms.norms import assessment
from cinorms.stats.clm import fit_clm

from .made import ANSWERS, USUAL, VIGNETTES, norms_of, run


def test_ordinal_regression_is_the_fit_of_the_norms_held() -> None:
    table = run("ordinal_regression", factors=["sender", "recipient"], baselines={"sender": "watch"})
    found = norms_of(ANSWERS["small"])
    frame = VIGNETTES.assign(value=found["value"].where(assessment.status(found, USUAL) == "kept"))
    fit = fit_clm(frame, "value", ["sender", "recipient"], {"sender": "watch"})
    ours = table[table["model"] == "small"]
    np.testing.assert_allclose(ours["estimate"], [*fit.coefficients["estimate"], *fit.thresholds["estimate"]])
    assert list(ours["term"].unique()) == ["sender", "recipient", "threshold"]
    assert set(ours["baseline"].dropna()) == {"watch", "maker"}
    assert ours["n"].eq(fit.n).all()
    assert ours["log_likelihood"].eq(fit.log_likelihood).all()


def test_linked_factors_are_one_factor_where_none_are_named() -> None:
    table = run("ordinal_regression")
    assert set(table["term"]) == {"sender", "place + inference", "recipient", "threshold"}
    named = run("ordinal_regression", factors=["place", "inference"])
    assert set(named.loc[named["term"] == "inference", "status"]) == {"aliased"}


def test_naming_the_model_or_an_attribute_of_it_pools_the_models() -> None:
    table = run("ordinal_regression", factors=["recipient", "model"], baselines={"model": "small"})
    assert set(table["model"]) == {"pooled"}
    rows = table[table["term"] == "model"].set_index("level")
    assert (rows["baseline"] == "small").all()
    assert rows.loc["large", "estimate"] > 0
    capacity = run("ordinal_regression", factors=["capacity"], baselines={"capacity": 7})
    assert capacity.iloc[0][["term", "level", "baseline"]].tolist() == ["capacity", "13", "7"]
    assert capacity["n"].iloc[0] + capacity["n_missing"].iloc[0] == 3 * len(VIGNETTES)


def test_a_baseline_without_a_norm_is_a_status() -> None:
    table = run("ordinal_regression", select={"sender": ["doll", "robot"]}, baselines={"sender": "watch"})
    assert set(table["fit_status"]) == {"no_baseline"}
    assert table["fit_reason"].str.contains("sender = watch").all()


def test_response_regression_has_template_and_position_and_counts_flows_as_clusters() -> None:
    table = run("response_regression", {"small": ANSWERS["small"]})
    assert {"template", "position"} < set(table["term"])
    assert table["n"].iloc[0] == (ANSWERS["small"]["status"] == "ok").sum()
    assert set(table["n_clusters"]) == {len(VIGNETTES)}
    # the highest option (4) stands at place 5, 1 and 2 in the three orders
    position = table[table["term"] == "position"]
    assert [*position["baseline"].unique(), *position["level"]] == ["1", "2", "5"]


def test_the_mixed_model_has_the_spread_of_the_flows() -> None:
    table = run(
        "response_regression", {"small": ANSWERS["small"]}, errors="flow_intercept", factors=["recipient"]
    )
    assert set(table["fit_status"]) == {"ok"}
    assert table["sd_flow"].iloc[0] > 1
    assert table["sd_variant"].isna().all()


def test_crossed_intercepts_leave_template_and_position_to_the_variants_intercept() -> None:
    table = run("response_regression", {"small": ANSWERS["small"]}, errors="crossed_intercepts")
    assert set(table["fit_status"]) == {"ok"}
    assert set(table["term"]) == {"sender", "place + inference", "recipient", "threshold"}
    assert table["sd_flow"].iloc[0] > table["sd_variant"].iloc[0] >= 0
    one = ANSWERS["small"][ANSWERS["small"]["variant"] == "0_0"]
    assert set(run("response_regression", {"small": one}, errors="crossed_intercepts")["fit_status"]) == {
        "one_group"
    }
