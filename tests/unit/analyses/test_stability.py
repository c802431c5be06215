"""How many wordings are enough: norms under other wordings, and the budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cinorms.core.errors import ConfigError

from .made import ANSWERS, VIGNETTES, run

SMALL = {"small": ANSWERS["small"]}


def test_stability_counts_the_norms_that_hold() -> None:
    flows = run("norm_intervals", SMALL)
    row = run("stability", SMALL).iloc[0]
    kept = flows[flows["norm_status"] == "kept"]
    assert len(flows) == len(VIGNETTES)
    assert row["norms"] == len(kept)
    assert row["share_stable"] == pytest.approx((kept["stability"].dropna() >= 0.95).mean())


def test_intervals_are_of_the_flows_that_are_selected() -> None:
    flows = run("norm_intervals", SMALL, select={"sender": ["doll", "robot"]})
    assert set(flows["flow"]) == set(VIGNETTES.loc[VIGNETTES["sender"] != "watch", "flow"])


def test_the_budget_stops_short_of_all_templates() -> None:
    table = run("budget", SMALL)
    assert table["k"].tolist() == [1, 2, 3]
    assert set(table["of"]) == {4}
    assert table["predicted"].is_monotonic_decreasing
    np.testing.assert_allclose(table["predicted"], table["observed"], rtol=0.25)


def test_targets_and_designs_are_the_ones_that_the_entry_states() -> None:
    assert run("budget_needed", SMALL)["target_se"].unique().tolist() == [0.1, 0.2, 0.3]
    assert run("budget_needed", SMALL, target_se=[1])["target_se"].unique().tolist() == [1]
    assert run("budget_needed", SMALL, orders=[2])["orders"].unique().tolist() == [2]
    usual = run("budget_design", SMALL)
    assert len(usual) == 5 * 3
    assert usual["templates"].unique().tolist() == [1, 3, 5, 11, 22]
    assert usual["orders"].unique().tolist() == [1, 3, 5]
    assert run("budget_design", SMALL, templates=[2], orders=[4])["variants"].tolist() == [8]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"kind": "budget_needed", "target_se": [0]},
            "target_se[0]: 0 is out of range; allowed: more than 0",
        ),
        ({"kind": "budget_needed", "target_se": []}, "target_se: it has 0 entries; allowed: at least 1"),
        ({"kind": "budget_design", "orders": [0]}, "orders[0]: 0 is out of range; allowed: at least 1"),
        (
            {"kind": "budget_design", "templates": [2, 2]},
            "templates: an entry appears twice in [2, 2]",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused(build_study: Any, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build_study({"analyses": {"it": {"arms": ["main"]} | entry}, "figures": {}})
    assert str(error.value).startswith(f"study.yaml: analyses.it.{message}")
