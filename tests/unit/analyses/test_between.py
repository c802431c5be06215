"""Differences between models and arms, and how far they agree: which test, on what, corrected over what."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats import agreement, hypotheses
from cinorms.stats.wordings import level_counts, template_numbers

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, USUAL, VIGNETTES, entry_for, in_two_arms, norms_of, run


def test_model_tests_are_friedmans_test_of_the_norms_side_by_side():
    row, frames = run("model_tests", test="rank").iloc[0], {m: norms_of(a) for m, a in ANSWERS.items()}
    expected = hypotheses.friedman(hypotheses.pair_norms(frames, dict.fromkeys(frames, USUAL))).iloc[0]
    assert row["statistic"] == expected["statistic"]
    assert row["effect_size"] == expected["effect_size"]
    assert row["compared"] == "small, large, large-q"


def test_model_pairs_correct_over_all_rows_of_the_table():
    table, capacity = run("model_pairs", test="rank"), run("model_pairs", test="rank", factor="capacity")
    assert len(table) == 3
    np.testing.assert_allclose(table["p_bonferroni"], np.minimum(table["p"] * 3, 1))
    (row,) = capacity[["model_a", "model_b", "level_a", "level_b", "p_bonferroni"]].to_numpy().tolist()
    assert row == ["small", "large", "7", "13", capacity["p"].iloc[0]]


def test_arms_are_what_is_compared_under_an_attribute_of_the_arm():
    entry = entry_for("model_pairs", ["small"], factor="temperature", test="rank")
    entry = in_two_arms(entry, "hot", conditions={**entry.conditions["main"], "temperature": 1})
    both = [Selected(arm, "small", norms_of(ANSWERS[m])) for arm, m in (("main", "small"), ("hot", "large"))]
    table = call(entry, both, {"vignettes": dict.fromkeys(entry.arms, VIGNETTES)})
    assert table[["arm_a", "level_a", "arm_b", "level_b"]].to_numpy().tolist() == [["main", "0", "hot", "1"]]
    assert table["effect_size"].iloc[0] < 0  # the shifted answers are the higher ones
    within = replace(entry, options=entry.options.model_copy(update={"factor": None}))
    assert call(within, both, {"vignettes": {}})["status"].tolist() == ["one_model"]


@pytest.mark.parametrize("kind", ["model_pairs", "model_tests", "model_contrasts", "agreement_pairs"])
def test_flows_of_two_datasets_are_not_matched_by_their_number(kind):
    """The study's check cannot know the levels of a dataset whose file is not here yet."""
    entry = entry_for(kind, ["small"], factor="dataset")
    other = replace(entry.factors_of["main"], dataset="e")
    entry = in_two_arms(entry, conditions={**entry.conditions["main"], "dataset": "e"}, factors_of=other)
    answers = [Selected(arm, "small", ANSWERS["small"]) for arm in entry.arms]
    norms = [one._replace(frame=norms_of(one.frame)) for one in answers]
    further = {"answers": answers, "prompts": dict.fromkeys(entry.arms, PROMPTS)}

    def made(other: pd.DataFrame) -> pd.DataFrame:
        selected = answers if entry.declared.reads == "answers" else norms
        return call(entry, selected, {**further, "vignettes": {"main": VIGNETTES, "other": other}})

    assert made(VIGNETTES)["status"].iloc[0] != "one_model"
    message = r"analyses.it: arms 'main' and 'other': dataset 'd' does not have the flows of 'e': recipient of its flow"
    with pytest.raises(ConfigError, match=message):
        made(VIGNETTES.assign(recipient=VIGNETTES["recipient"].to_numpy()[::-1]))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("model_pairs", {"factor": "scale"}), ("ordinal_regression", {"factors": ["recipient", "arm"]})],
)
def test_levels_of_two_scales_are_neither_compared_nor_pooled(kind, options):
    entry = in_two_arms(entry_for(kind, ["small"], **options), scales=replace(ACCEPTABILITY, name="other"))
    selected = [Selected(arm, "small", norms_of(ANSWERS["small"])) for arm in entry.arms]
    with pytest.raises(ConfigError, match=r"different scales \(acceptability and other\)"):
        call(entry, selected, {"vignettes": dict.fromkeys(entry.arms, VIGNETTES)})


def test_equivalence_is_claimed_only_where_a_margin_is_stated():
    few = run("model_contrasts", margin=0.9)
    assert few["conclusion"].tolist() == ["undecided"] * 3  # four templates cannot show it
    assert {"margin", "conclusion", "p_equivalent_holm"}.isdisjoint(run("model_contrasts"))


# --- Agreement


def held(model: str) -> np.ndarray:
    """Return the norm of each flow, NaN where the model holds none."""
    return assessment.held(norms_of(ANSWERS[model]), USUAL)["value"].to_numpy(dtype=float, na_value=np.nan)


def halves_of(model: str) -> pd.DataFrame:
    counts = level_counts(level_matrix(ANSWERS[model]), template_numbers(PROMPTS), ACCEPTABILITY)
    return agreement.halves(counts, USUAL, ACCEPTABILITY.levels)


def reworded(model: str) -> pd.Series:
    return agreement.pairs(halves_of(model)).iloc[0]


def test_a_pair_agrees_where_both_hold_the_same_norm():
    table = run("agreement_pairs").set_index(["model_a", "model_b"])
    a, b = held("small"), held("large-q")
    both, row = ~np.isnan(a) & ~np.isnan(b), table.loc[("small", "large-q")]
    assert len(table) == 3
    assert row["n_flows"] == both.sum() > 0
    assert row["agreement"] == pytest.approx((a == b)[both].mean())
    assert row["mean_difference"] == pytest.approx((a - b)[both].mean())
    own = [reworded("small"), reworded("large-q")]
    assert row["agreement_reworded"] == pytest.approx(np.mean([each["agreement"] for each in own]))
    assert row["kappa_reworded"] == pytest.approx(np.mean([each["kappa_quadratic"] for each in own]))
    assert row["opposed"] == pytest.approx((a * b < 0)[both].mean())
    for side, model in (("a", "small"), ("b", "large-q")):
        halved = (halves_of(model).prod(axis=1) < 0).mean()
        assert row[f"opposed_{side}"] == pytest.approx(halved)
    (sides,) = run("agreement_pairs", factor="quantisation")[
        ["model_a", "level_a", "model_b", "level_b"]
    ].to_numpy()
    assert sides.tolist() == ["large", "none", "large-q", "awq"]


def test_sets_are_counted_by_name_and_all_models_without_any():
    everyone = run("agreement_sets")
    assert everyone[["arm", "set", "models"]].to_numpy().tolist() == [["main", "all", 3]]
    table = run("agreement_sets", sets={"two": ["small", "large"], "one": ["large"]}).set_index("set")
    same = held("small") == held("large")
    assert table.loc["two", "n_same"] == same.sum() > everyone["n_same"].iloc[0]
    assert table["status"].to_dict() == {"two": "ok", "one": "one_model"}
