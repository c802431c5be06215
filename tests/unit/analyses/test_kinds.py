"""Answers, norms and their distances: the numbers of each kind on answers made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.norms import assessment
from cinorms.stats import reliability

from .made import ANSWERS, PROMPTS, USUAL, VIGNETTES, norms_of, run

# --- Privacy bias and delta


def test_privacy_bias_is_a_row_per_flow_with_what_is_expected(tmp_path: Path) -> None:
    stated = tmp_path / "expected.csv"
    stated.write_text("recipient,sender,expected,note\npolice,,-2,law\npolice,robot,1,\n", encoding="utf-8")
    table = run("privacy_bias", expected=str(stated))
    assert len(table) == len(ANSWERS) * len(VIGNETTES)
    ours = table[table["model"] == "small"].set_index("flow")
    found = norms_of(ANSWERS["small"]).set_index("flow")
    held = found["value"].where(assessment.status(found, USUAL) == "kept").reindex(ours.index)
    assert ours["value"].isna().tolist() == held.isna().tolist()
    assert ours["value"].dropna().astype(int).tolist() == held.dropna().astype(int).tolist()
    by_rule = VIGNETTES.set_index("flow").apply(
        lambda row: (1.0 if row["sender"] == "robot" else -2.0) if row["recipient"] == "police" else np.nan,
        axis=1,
    )
    assert ours["expected"].isna().tolist() == by_rule.reindex(ours.index).isna().tolist()
    assert ours["expected"].dropna().tolist() == by_rule.reindex(ours.index).dropna().tolist()
    both = ours.dropna(subset=["value", "expected"])
    assert (both["delta"] == both["value"] - both["expected"]).all()
    assert len(both)
    assert set(ours.loc[ours["recipient"] == "maker", "delta_status"]) <= {
        "no_expected",
        "no_majority",
        "tie",
        "below_t_val",
    }


def test_delta_is_a_row_per_slice_and_metric() -> None:
    table = run("delta", by=["sender", "recipient"], of="means", embedding=[-100, -50, 0, 50, 100])
    first = table[(table["model"] == "large") & (table["sender"] == "doll") & (table["recipient"] == "maker")]
    assert first["metric"].is_unique
    answers = ANSWERS["large"][ANSWERS["large"]["status"] == "ok"]
    flows = VIGNETTES[(VIGNETTES["sender"] == "doll") & (VIGNETTES["recipient"] == "maker")]["flow"]
    means = answers[answers["flow"].isin(flows)].groupby("flow")["level"].mean().astype(float) * 50
    metric = first.set_index("metric")["value"]
    assert metric["mean_signed"] == pytest.approx(means.mean())  # expected is 0 everywhere
    assert metric["std_signed"] == pytest.approx(means.std(ddof=0))
    assert first["unit"].iloc[0] == "points (-100 to 100)"
    assert len(table) == 3 * 3 * 2 * len(first)


def test_delta_of_norms_knows_fewer_flows_than_delta_of_means() -> None:
    of_norms, of_means = run("delta"), run("delta", of="means")
    assert (of_norms["n"] < of_means["n"]).all()
    assert (of_norms["n"] + of_norms["n_missing"]).eq(len(VIGNETTES)).all()


# --- Answers


def test_missing_answers_add_up_in_every_view() -> None:
    table = run("missing_answers", {"small": ANSWERS["small"]})
    refused = int((ANSWERS["small"]["status"] == "refusal").sum())
    assert table.groupby("by")["n"].sum().to_dict() == dict.fromkeys(
        ["order_no", "status", "template_no", "variant"], refused
    )
    assert (table["share"] == table["n"] / table["of"]).all()


def test_marginal_means_draw_templates_and_join_linked_factors() -> None:
    table = run("marginal_means", {"small": ANSWERS["small"]}, draws=200)
    assert set(table["factor"]) == {"sender", "place + inference", "recipient"}
    asked = run("marginal_means", {"small": ANSWERS["small"]}, draws=200, factors=["place"])
    assert set(asked["factor"]) == {"place + inference"}
    effects = run("amce", {"small": ANSWERS["small"]}, draws=200, baselines={"recipient": "police"})
    gone = run("amce", select={"recipient": ["maker"]}, baselines={"recipient": "police"})
    assert set(gone["status"]) == {"no_baseline"}
    row = effects[effects["factor"] == "recipient"].iloc[0]
    means = table[table["factor"] == "recipient"].set_index("level")["mean"]
    assert row["estimate"] == pytest.approx(means["maker"] - means["police"])


def test_reliability_is_the_panel_of_each_model() -> None:
    table = run("reliability")
    frame = norms_of(ANSWERS["large"])
    panel = reliability.panel(ANSWERS["large"], frame, PROMPTS, 7)
    ours = table[table["model"] == "large"].drop(columns=["arm", "model"]).reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, panel)


def test_stability_counts_the_norms_that_hold() -> None:
    flows = run("norm_intervals", {"small": ANSWERS["small"]}, draws=200)
    row = run("stability", {"small": ANSWERS["small"]}, draws=200).iloc[0]
    kept = flows[flows["norm_status"] == "kept"]
    assert len(flows) == len(VIGNETTES)
    assert row["norms"] == len(kept)
    assert row["share_stable"] == pytest.approx((kept["stability"].dropna() >= 0.95).mean())


def test_the_budget_stops_short_of_all_variants() -> None:
    table = run("budget", {"small": ANSWERS["small"]})
    assert table["k"].tolist() == [1, 2, 3, 5]
    assert table["predicted"].is_monotonic_decreasing
    np.testing.assert_allclose(table["predicted"], table["observed"], rtol=0.25)


def test_minority_is_about_flows_that_hold_a_norm() -> None:
    table = run("minority", {"small": ANSWERS["small"]})
    held = norms_of(ANSWERS["small"])
    held = held[assessment.status(held, USUAL) == "kept"]
    assert set(table["flows"]) == {len(held)}
    counts = held[tables.COUNT_COLUMNS].to_numpy()
    row = table.set_index("measure").loc["n_minority"]
    assert row["mean"] == pytest.approx((counts.sum(axis=1) - counts.max(axis=1)).mean())
