"""How many wordings are enough: norms under other wordings, and the templates needed."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import flow_intervals, template_numbers

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, USUAL, VIGNETTES, norms_of, run

SMALL = {"small": ANSWERS["small"]}


def test_stability_counts_the_norms_that_hold() -> None:
    norms = norms_of(ANSWERS["small"])
    kept = norms.loc[assessment.status(norms, USUAL) == "kept", "flow"]
    flows = flow_intervals(level_matrix(ANSWERS["small"]), template_numbers(PROMPTS), ACCEPTABILITY)
    judged = flows.loc[flows["flow"].isin(kept), "stability"].dropna()
    row = run("stability", SMALL).iloc[0]
    assert (row["flows"], row["norms"]) == (len(VIGNETTES), len(kept))
    assert row["mean_stability"] == pytest.approx(judged.mean())
    assert row["share_stable"] == pytest.approx((judged >= 0.95).mean())


def test_a_selection_counts_its_flows_only() -> None:
    row = run("stability", SMALL, select={"sender": ["doll", "robot"]}).iloc[0]
    assert row["flows"] == (VIGNETTES["sender"] != "watch").sum()


def test_targets_and_orders_are_the_ones_that_the_entry_states() -> None:
    assert run("budget_needed", SMALL)["target_se"].unique().tolist() == [0.1, 0.2, 0.3]
    assert run("budget_needed", SMALL, target_se=[1])["target_se"].unique().tolist() == [1]
    assert run("budget_needed", SMALL, orders=[2])["orders"].unique().tolist() == [2]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"kind": "budget_needed", "target_se": [0]},
            "target_se[0]: 0 is out of range; allowed: more than 0",
        ),
        ({"kind": "budget_needed", "target_se": []}, "target_se: it has 0 entries; allowed: at least 1"),
        ({"kind": "budget_needed", "orders": [0]}, "orders[0]: 0 is out of range; allowed: at least 1"),
        ({"kind": "budget_needed", "orders": [2, 2]}, "orders: an entry appears twice in [2, 2]"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(build_study: Any, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        build_study({"analyses": {"it": {"arms": ["main"]} | entry}, "figures": {}})
    assert str(error.value).startswith(f"study.yaml: analyses.it.{message}")
