"""Marginal means: linked factors, the interval, and nothing to average."""

from .made import SMALL, run


def test_marginal_means_join_linked_factors():
    table = run("marginal_means", SMALL)
    assert set(table["factor"]) == {"sender", "place + inference", "recipient"}
    asked = run("marginal_means", SMALL, factors=["place"])
    assert set(asked["factor"]) == {"place + inference"}


def test_what_the_flows_are_changes_the_intervals_and_not_the_means():
    usual, drawn = run("marginal_means", SMALL), run("marginal_means", SMALL, flows="sample")
    assert usual.equals(
        run("marginal_means", SMALL, flows="fixed")
    )  # every combination is asked: none is drawn
    assert drawn["mean"].equals(usual["mean"])
    assert (drawn["std_err"] != usual["std_err"]).all()
