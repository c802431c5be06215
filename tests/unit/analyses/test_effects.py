"""Marginal means: linked factors, those with one level, and the interval."""

from cinorms.analyses.shared import usual_factors

from .made import DATASET, SMALL, VIGNETTES, run


def test_marginal_means_join_linked_factors():
    linked = "place + inference"
    assert set(run("marginal_means", SMALL)["factor"]) == {"all flows", "sender", linked, "recipient"}
    assert set(run("marginal_means", SMALL, factors=["place"])["factor"]) == {"all flows", linked}


def test_a_factor_with_one_level_is_left_out_unless_all_have_one():
    doll = VIGNETTES[VIGNETTES["sender"] == "doll"]
    assert usual_factors(doll, DATASET) == ["place + inference", "recipient"]
    assert usual_factors(doll.head(1), DATASET) == ["sender", "place + inference", "recipient"]


def test_what_the_flows_are_changes_the_intervals_and_not_the_means():
    usual, drawn, fixed = (
        run("marginal_means", SMALL, **o) for o in ({}, {"flows": "sample"}, {"flows": "fixed"})
    )
    assert usual.equals(fixed)  # every combination is asked: none is drawn
    assert drawn["mean"].equals(usual["mean"])
    assert (drawn["std_err"] != usual["std_err"]).all()
