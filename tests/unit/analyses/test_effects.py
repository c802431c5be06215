"""Marginal means and component effects: linked factors, baselines, the interval, and nothing to average."""

import pytest

from cinorms.entries.kind import kinds

from .made import SMALL, run


def test_marginal_means_join_linked_factors():
    table = run("marginal_means", SMALL)
    assert set(table["factor"]) == {"sender", "place + inference", "recipient"}
    asked = run("marginal_means", SMALL, factors=["place"])
    assert set(asked["factor"]) == {"place + inference"}
    effects = run("amce", SMALL, baselines={"recipient": "police"})
    row = effects[effects["factor"] == "recipient"].iloc[0]
    means = table[table["factor"] == "recipient"].set_index("level")["mean"]
    assert row["estimate"] == pytest.approx(means["maker"] - means["police"])


def test_a_baseline_that_no_flow_has_is_a_status():
    gone = run("amce", select={"recipient": ["maker"]}, baselines={"recipient": "police"})
    assert set(gone["status"]) == {"no_baseline"}
    assert gone["reason"].eq("no flow has the baseline recipient = police").all()


@pytest.mark.parametrize("kind", ["marginal_means", "amce"])
def test_a_table_without_numbers_has_the_columns_of_one_with_numbers(kind):
    declared = list(kinds("analyses")[kind].columns)
    assert list(run(kind, SMALL).columns) == declared
    nothing = run(kind, SMALL, select={"sender": ["nobody"]})
    assert list(nothing.columns) == declared
    assert nothing["status"].tolist() == ["no_flows"]


def test_what_the_flows_are_changes_the_intervals_and_not_the_means():
    usual, fixed = run("marginal_means", SMALL), run("marginal_means", SMALL, flows="fixed")
    assert usual.equals(run("marginal_means", SMALL, flows="sample"))
    assert fixed["mean"].equals(usual["mean"])
    assert (fixed["std_err"] != usual["std_err"]).all()
