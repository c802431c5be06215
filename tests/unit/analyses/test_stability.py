"""How many wordings are enough: norms under other wordings, and the templates needed."""

from __future__ import annotations

import numpy as np
import pytest

from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats.wordings import flow_intervals, held_share, level_counts, template_numbers

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, SMALL, USUAL, VIGNETTES, norms_of, run


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


def test_the_share_of_norms_has_an_interval_where_every_flow_has_every_template() -> None:
    row = run("stability", SMALL).iloc[0]
    assert row["share_norms"] == row["norms"] / row["flows"]
    counts = level_counts(level_matrix(ANSWERS["small"]), template_numbers(PROMPTS), ACCEPTABILITY)
    whole = held_share(counts, USUAL)[0]
    assert whole.value == row["share_norms"]
    np.testing.assert_equal((row["norms_low"], row["norms_high"]), (whole.low, whole.high))
