"""Marginal means and component effects: linked factors, baselines, the interval, and nothing to average."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.registry import kinds

from .made import ANSWERS, run

SMALL = {"small": ANSWERS["small"]}


def test_marginal_means_join_linked_factors() -> None:
    table = run("marginal_means", SMALL)
    assert set(table["factor"]) == {"sender", "place + inference", "recipient"}
    asked = run("marginal_means", SMALL, factors=["place"])
    assert set(asked["factor"]) == {"place + inference"}
    effects = run("amce", SMALL, baselines={"recipient": "police"})
    row = effects[effects["factor"] == "recipient"].iloc[0]
    means = table[table["factor"] == "recipient"].set_index("level")["mean"]
    assert row["estimate"] == pytest.approx(means["maker"] - means["police"])


def test_a_baseline_that_no_flow_has_is_a_status() -> None:
    gone = run("amce", select={"recipient": ["maker"]}, baselines={"recipient": "police"})
    assert set(gone["status"]) == {"no_baseline"}
    assert gone["reason"].eq("no flow has the baseline recipient = police").all()


@pytest.mark.parametrize("kind", ["marginal_means", "amce"])
def test_a_table_without_numbers_has_the_columns_of_one_with_numbers(kind: str) -> None:
    declared = list(kinds("analyses")[kind].columns)
    assert list(run(kind, SMALL).columns) == declared
    nothing = run(kind, SMALL, select={"sender": ["nobody"]})
    assert list(nothing.columns) == declared
    assert nothing["status"].tolist() == ["no_flows"]


def test_what_the_flows_are_changes_the_intervals_and_not_the_means() -> None:
    usual, fixed = run("marginal_means", SMALL), run("marginal_means", SMALL, flows="fixed")
    assert usual.equals(run("marginal_means", SMALL, flows="sample"))
    assert fixed["mean"].equals(usual["mean"])
    assert (fixed["std_err"] != usual["std_err"]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"draws": 100}, "draws: there is no such key here"),
        ({"flows": "variants"}, "flows: 'variants' is not allowed; allowed: fixed, sample"),
        ({"factors": ["model"]}, "factors: 'model' is not a factor for arm 'main'"),
        (
            {"factors": ["sender"], "baselines": {"recipient": "x"}},
            "baselines: 'recipient' is not a factor of this analysis; allowed: sender",
        ),
    ],
)
def test_what_an_entry_cannot_name_is_refused(
    build_study: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        build_study({"analyses": {"it": {"kind": "amce", "arms": ["main"]} | options}, "figures": {}})
    assert str(error.value).startswith(f"study.yaml: analyses.it.{message}")
