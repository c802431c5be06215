"""Differences between models and arms: which test, on what, corrected over what."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.stats import hypotheses

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, USUAL, VIGNETTES, entry_for, in_two_arms, norms_of, run


def test_model_tests_are_friedmans_test_of_the_norms_side_by_side():
    table = run("model_tests", test="rank")
    frames = {m: norms_of(a) for m, a in ANSWERS.items()}
    expected = hypotheses.friedman(hypotheses.pair_norms(frames, dict.fromkeys(frames, USUAL)))
    assert table["statistic"].iloc[0] == expected["statistic"].iloc[0]
    assert table["effect_size"].iloc[0] == expected["effect_size"].iloc[0]
    assert table["compared"].iloc[0] == "small, large, large-q"


def test_model_pairs_correct_over_all_rows_of_the_table():
    table = run("model_pairs", test="rank")
    assert len(table) == 3
    np.testing.assert_allclose(table["p_bonferroni"], np.minimum(table["p"] * 3, 1))
    capacity = run("model_pairs", factor="capacity", test="rank")
    (sides,) = capacity[["model_a", "model_b", "level_a", "level_b"]].to_numpy().tolist()
    assert sides == ["small", "large", "7", "13"]
    assert capacity["p_bonferroni"].iloc[0] == capacity["p"].iloc[0]


def test_arms_are_what_is_compared_under_an_attribute_of_the_arm():
    entry = entry_for("model_pairs", ["small"], factor="temperature", test="rank")
    entry = in_two_arms(entry, "hot", conditions={**entry.conditions["main"], "temperature": 1})
    both = [Selected("main", "small", norms_of(ANSWERS["small"]))]
    both.append(Selected("hot", "small", norms_of(ANSWERS["large"])))
    table = call(entry, both, {"vignettes": dict.fromkeys(["main", "hot"], VIGNETTES)})
    assert table[["arm_a", "level_a", "arm_b", "level_b"]].to_numpy().tolist() == [["main", "0", "hot", "1"]]
    assert table["effect_size"].iloc[0] < 0  # the shifted answers are the higher ones
    within = replace(entry, options=entry.options.model_copy(update={"factor": None}))
    assert call(within, both, {"vignettes": {}})["status"].tolist() == ["one_model"]


@pytest.mark.parametrize(
    "kind", ["model_pairs", "model_tests", "normality", "model_contrasts", "agreement_pairs"]
)
def test_flows_of_two_datasets_are_not_matched_by_their_number(kind):
    """The study's check cannot know the levels of a dataset whose file is not here yet."""
    entry = entry_for(kind, ["small"], factor="dataset")
    other = replace(entry.factors_of["main"], dataset="e")
    entry = in_two_arms(entry, conditions={**entry.conditions["main"], "dataset": "e"}, factors_of=other)
    frame = ANSWERS["small"] if entry.declared.reads == "answers" else norms_of(ANSWERS["small"])
    selected = [Selected(arm, "small", frame) for arm in entry.arms]

    def made(other: pd.DataFrame) -> pd.DataFrame:
        answers = [one._replace(frame=ANSWERS["small"]) for one in selected]
        further = {"vignettes": {"main": VIGNETTES, "other": other}, "answers": answers}
        return call(entry, selected, further | {"prompts": dict.fromkeys(entry.arms, PROMPTS)})

    assert made(VIGNETTES)["status"].iloc[0] != "one_model"
    message = r"analyses.it: arms 'main' and 'other': dataset 'd' does not have the flows of 'e': recipient of its flow"
    with pytest.raises(ConfigError, match=message):
        made(VIGNETTES.assign(recipient=VIGNETTES["recipient"].to_numpy()[::-1]))


@pytest.mark.parametrize(
    ("kind", "options"),
    [("model_pairs", {"factor": "scale"}), ("ordinal_regression", {"factors": ["recipient", "arm"]})],
)
def test_levels_of_two_scales_are_neither_compared_nor_pooled(kind, options):
    entry = entry_for(kind, ["small"], **options)
    entry = in_two_arms(entry, scales=replace(ACCEPTABILITY, name="other"))
    selected = [Selected(arm, "small", norms_of(ANSWERS["small"])) for arm in entry.arms]
    with pytest.raises(ConfigError, match=r"different scales \(acceptability and other\)"):
        call(entry, selected, {"vignettes": dict.fromkeys(entry.arms, VIGNETTES)})


def test_equivalence_is_claimed_only_where_a_margin_is_stated():
    few = run("model_contrasts", margin=0.9)
    assert few["conclusion"].tolist() == ["undecided"] * 3  # four templates cannot show it
    assert {"margin", "conclusion", "p_equivalent_holm"}.isdisjoint(run("model_contrasts"))
