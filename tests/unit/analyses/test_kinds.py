"""Every kind of analysis: its numbers on answers made here, and a status where there is nothing to count."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.entries.entry import Selected
from cinorms.norms import assessment
from cinorms.stats import hypotheses, reliability
from cinorms.stats.clm import fit_clm

LEVELS = {
    "sender": ["watch", "doll", "robot"],
    "place": ["school", "home"],
    "inference": ["religion", "income"],
    "recipient": ["maker", "police"],
}
MODELS = {"small": 7, "large": 13, "large-q": 13}
EFFECT = {"watch": 0.0, "doll": 0.8, "robot": -0.8, "maker": 0.0, "police": -1.2, "school": 0.0, "home": 0.5}


def make_vignettes() -> pd.DataFrame:
    """Return the flows of a design in which place and inference are linked, and senders come four times."""
    rows = [
        (sender, place, inference, recipient)
        for _ in range(4)
        for sender in LEVELS["sender"]
        for place, inference in zip(LEVELS["place"], LEVELS["inference"], strict=True)
        for recipient in LEVELS["recipient"]
    ]
    frame = pd.DataFrame(rows, columns=list(LEVELS)).astype("category")
    return frame.assign(flow=np.arange(len(frame), dtype=np.int32), vignette="text", expected=0.0)


VIGNETTES = make_vignettes()
VARIANTS = [f"{t}_{o}" for t, o in itertools.product(range(4), range(2))]
PROMPTS = pd.DataFrame(
    {
        "variant": VARIANTS,
        "template": "text",
        "prompt_set": "chatgpt",
        "template_no": [int(v[0]) for v in VARIANTS],
        "order_no": [int(v[2]) for v in VARIANTS],
    }
)
PLANTED_LEVEL = np.searchsorted(
    [-1.5, -0.5, 0.5, 1.5],
    sum(VIGNETTES[f].astype(str).map(EFFECT).astype(float) for f in ("sender", "place", "recipient"))
    + np.random.default_rng(1).logistic(size=len(VIGNETTES)),
)


def make_answers(seed: int, shift: float = 0.0, valid: float = 0.9) -> pd.DataFrame:
    """Return answers about every flow in every variant: the planted level, moved by ``shift`` and noise."""
    rng = np.random.default_rng(seed)
    flow = np.repeat(VIGNETTES["flow"].to_numpy(), len(VARIANTS))
    noisy = np.repeat(PLANTED_LEVEL, len(VARIANTS)) + shift + rng.normal(0, 0.5, len(flow))
    level = np.clip(np.rint(noisy), 0, 4).astype(np.int8) - 2
    ok = rng.random(len(flow)) < valid
    return pd.DataFrame(
        {
            "flow": flow,
            "variant": pd.Categorical(np.tile(VARIANTS, len(VIGNETTES))),
            "order": pd.Categorical(rng.choice(["01234", "43210", "34012"], len(flow))),
            "level": pd.arrays.IntegerArray(level, ~ok),
            "status": pd.Categorical(np.where(ok, "ok", "refusal")),
            "rule": pd.Categorical(["exact"] * len(flow)),
            "p_options": None,
        }
    )


ANSWERS = {"small": make_answers(2), "large": make_answers(3, 0.6), "large-q": make_answers(4, 0.4)}
REFUSED = {model: make_answers(5, valid=0.0) for model in MODELS}


USUAL = assessment.Thresholds(3, 0.5, "strict")


def make_entry(kind: str, models: list[str], **keys: Any) -> dict[str, Any]:
    """Return what `Study.entry` gives for an entry with ``keys``."""
    attributes = {
        m: {
            "family": "f",
            "capacity": MODELS[m],
            "alignment": "none",
            "quantisation": "awq" if "-q" in m else "none",
        }
        for m in models
    }
    conditions = {"dataset": "d", "paraphraser": "chatgpt", "temperature": 0, "order": "balanced"}
    conditions |= {"readout": "text", "wrapper": "registry", "layout": "single", "system": "none"}
    return {
        "kind": kind,
        "name": "it",
        "arms": ["main"],
        "seed": 7,
        "selected": [["main", m] for m in models],
        "respondents": [["main", m] for m in models],
        "scales": {"main": "acceptability"},
        "design": {
            "main": {"dataset": "d", "factors": list(LEVELS), "expected_range": None}
            | {"linked": [["place", "inference"]]}
        },
        "conditions": {"main": conditions},
        "attributes": attributes,
        "t_val": dict.fromkeys(models, 3),
        "t_maj": 0.5,
        "t_vals": [3],
        "t_majs": ["plurality", 0.5],
        "consensus": "strict",
        "planted": True,
        **keys,
    }


def run(kind: str, answers: dict[str, pd.DataFrame] = ANSWERS, **keys: Any) -> pd.DataFrame:
    """Return the table of a kind, as make_table.py makes it."""
    models = list(answers)
    entry = make_entry(kind, models, **keys)
    of = KINDS["analyses"][kind]
    stages = {
        "answers": [Selected("main", m, frame) for m, frame in answers.items()],
        "norms": [Selected("main", m, assessment.assess(frame, "strict")) for m, frame in answers.items()],
    }
    rows = [
        {"factor": f, "level": level, "coefficient": EFFECT.get(level, 0.0)}
        for f in LEVELS
        for level in LEVELS[f]
    ]
    planted = pd.DataFrame({"flow": VIGNETTES["flow"], "level": pd.array(PLANTED_LEVEL - 2, dtype="Int8")})
    further: dict[str, Any] = {
        **stages,
        "vignettes": {"main": VIGNETTES},
        "prompts": {"main": PROMPTS},
        "planted": {("main", m): planted for m in models},
        "coefficients": {("main", m): {"coefficients": rows} for m in models},
        "expected": Path(keys["expected"]) if "expected" in keys else None,
    }
    table = of.load()(stages[of.stage], entry, **{name: further[name] for name in of.also})
    assert isinstance(table, pd.DataFrame)
    return table


KIND_NAMES = sorted(KINDS["analyses"])
#: Kinds whose rows are counts: there is nothing that could fail.
COUNTS = {"answer_counts", "norm_counts", "missing_answers", "discarded_levels"}


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_every_kind_gives_rows_and_the_columns_that_are_printed(kind: str) -> None:
    table = run(kind)
    assert len(table)
    assert set(KINDS["analyses"][kind].columns) <= set(table.columns)
    assert not table.columns.duplicated().any()
    if kind not in COUNTS:
        assert table["status"].isin(["ok", "low_expected", "kept"]).any()


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_without_a_valid_answer_every_kind_says_why_there_is_no_number(kind: str) -> None:
    table = run(kind, REFUSED)
    assert len(table)
    if kind in COUNTS | {"discarded", "lost", "reliability", "norm_intervals"}:
        return  # these count or list: zeros and shares of valid answers are right here
    if kind == "calibration_coefficients":
        table = table[table["source"] == "recovered"]  # what was planted is there without any answer
    assert (table["status"] != "ok").all()
    for column in {"estimate", "mean", "p", "statistic", "agreement", "share_same"} & set(table.columns):
        assert table[column].isna().all()


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_one_model_is_enough_for_a_table(kind: str) -> None:
    table = run(kind, {"small": ANSWERS["small"]})
    assert len(table)
    if kind in {
        "model_tests",
        "model_pairs",
        "model_contrasts",
        "normality",
        "agreement_pairs",
        "agreement_sets",
    }:
        assert set(table["status"]) <= {"one_model"}


@pytest.mark.parametrize("kind", [k for k in KIND_NAMES if "vignettes" in KINDS["analyses"][k].also])
def test_a_selection_without_flows_gives_no_number_and_no_crash(kind: str) -> None:
    table = run(kind, select={"sender": ["nobody"]})
    if kind not in {
        "discarded_levels",
        "norm_intervals",
        "privacy_bias",
    }:  # a row for each level, or flow, that there is
        assert len(table)
        assert (table["status"] != "ok").all()


# --- Privacy bias and delta


def test_privacy_bias_is_a_row_per_flow_with_what_is_expected(tmp_path: Path) -> None:
    stated = tmp_path / "expected.csv"
    stated.write_text("recipient,sender,expected,note\npolice,,-2,law\npolice,robot,1,\n", encoding="utf-8")
    table = run("privacy_bias", expected=str(stated))
    assert len(table) == len(ANSWERS) * len(VIGNETTES)
    ours = table[table["model"] == "small"].set_index("flow")
    found = assessment.assess(ANSWERS["small"], "strict").set_index("flow")
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


# --- Regressions


def test_ordinal_regression_is_the_fit_of_the_norms_held() -> None:
    table = run("ordinal_regression", factors=["sender", "recipient"], baselines={"sender": "watch"})
    found = assessment.assess(ANSWERS["small"], "strict")
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


# --- Between models


def test_model_tests_are_friedmans_test_of_the_norms_side_by_side() -> None:
    table = run("model_tests", test="rank")
    frames = {m: assessment.assess(a, "strict") for m, a in ANSWERS.items()}
    expected = hypotheses.friedman(hypotheses.pair_norms(frames, USUAL))
    assert table["statistic"].iloc[0] == expected["statistic"].iloc[0]
    assert table["effect_size"].iloc[0] == expected["kendall_w"].iloc[0]
    assert table["compared"].iloc[0] == "small, large, large-q"


def test_model_pairs_correct_over_all_rows_of_the_table() -> None:
    table = run("model_pairs", test="rank")
    assert len(table) == 3
    np.testing.assert_allclose(table["p_bonferroni"], np.minimum(table["p"] * 3, 1))
    capacity = run("model_pairs", factor="capacity", test="rank")
    assert capacity[["model_a", "model_b", "level_a", "level_b"]].to_numpy().tolist() == [
        ["small", "large", "7", "13"]
    ]
    assert capacity["p_bonferroni"].iloc[0] == capacity["p"].iloc[0]


def test_arms_are_what_is_compared_under_an_attribute_of_the_arm() -> None:
    frames = [assessment.assess(ANSWERS[m], "strict") for m in ("small", "large")]
    entry = make_entry("model_pairs", ["small"], factor="temperature", test="rank")
    hot = {**entry["conditions"]["main"], "temperature": 1}
    entry |= {"arms": ["main", "hot"], "conditions": {**entry["conditions"], "hot": hot}}
    make = KINDS["analyses"]["model_pairs"].load()
    both = [Selected("main", "small", frames[0]), Selected("hot", "small", frames[1])]
    table = make(both, entry, vignettes=dict.fromkeys(["main", "hot"], VIGNETTES))
    assert table[["arm_a", "level_a", "arm_b", "level_b"]].to_numpy().tolist() == [["main", "0", "hot", "1"]]
    assert table["effect_size"].iloc[0] < 0  # the shifted answers are the higher ones


def test_model_contrasts_find_the_planted_shift() -> None:
    table = run("model_contrasts", factor="capacity")
    row = table.iloc[0]
    assert row["n_units"] == 4  # templates, not variants
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert -0.65 < row["estimate"] < -0.3


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
    frame = assessment.assess(ANSWERS["large"], "strict")
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
    held = assessment.assess(ANSWERS["small"], "strict")
    held = held[assessment.status(held, USUAL) == "kept"]
    assert set(table["flows"]) == {len(held)}
    counts = held[tables.COUNT_COLUMNS].to_numpy()
    row = table.set_index("measure").loc["n_minority"]
    assert row["mean"] == pytest.approx((counts.sum(axis=1) - counts.max(axis=1)).mean())


# --- Calibration


def test_calibration_compares_norms_and_coefficients_with_what_was_planted() -> None:
    row = run("calibration", {"small": ANSWERS["small"]}).iloc[0]
    frame = assessment.assess(ANSWERS["small"], "strict")
    kept = (assessment.status(frame, USUAL) == "kept").to_numpy()
    same = (frame["value"].astype("float64") == PLANTED_LEVEL - 2)[kept]
    assert row["kept"] == kept.sum()
    assert row["share_same"] == pytest.approx(same.mean())
    terms = run("calibration_coefficients", {"small": ANSWERS["small"]})
    planted = terms[terms["source"] == "planted"]
    assert row["terms_planted"] == len(planted) == 4
    assert row["coverage_planted"] == pytest.approx(planted["inside"].mean())


def test_a_linked_level_has_the_sum_of_its_parts_planted() -> None:
    terms = run("calibration_coefficients", {"small": ANSWERS["small"]}, baselines={"recipient": "police"})
    of = terms[terms["source"] == "planted"].set_index("factor")
    assert of.loc["place + inference", "planted"] in (0.5, -0.5)
    assert of.loc["recipient", ["level", "planted"]].tolist() == ["maker", 1.2]


def test_a_model_that_was_asked_and_a_control_have_nothing_planted() -> None:
    make = KINDS["analyses"]["calibration"].load()
    frame = [Selected("main", "small", assessment.assess(ANSWERS["small"], "strict"))]
    entry = make_entry("calibration", ["small"])
    asked = make(frame, entry, vignettes={"main": VIGNETTES}, planted={}, coefficients={})
    assert asked["status"].tolist() == ["not_planted"]
    none = pd.DataFrame(
        {"flow": VIGNETTES["flow"], "level": pd.array([pd.NA] * len(VIGNETTES), dtype="Int8")}
    )
    control = make(
        frame,
        entry,
        vignettes={"main": VIGNETTES},
        planted={("main", "small"): none},
        coefficients={("main", "small"): {"coefficients": []}},
    )
    assert control["status"].tolist() == ["none_planted"]
    assert control["coverage"].isna().all()
