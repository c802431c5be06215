"""Differences between models and arms: which test, on what, corrected over what."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cinorms.analyses.between import model_pairs
from cinorms.entries.entry import Selected
from cinorms.stats import hypotheses

from ...scales import ACCEPTABILITY
from .made import ANSWERS, USUAL, VIGNETTES, entry_for, norms_of, run


def test_model_tests_are_friedmans_test_of_the_norms_side_by_side() -> None:
    table = run("model_tests", test="rank")
    frames = {m: norms_of(a) for m, a in ANSWERS.items()}
    expected = hypotheses.friedman(hypotheses.pair_norms(frames, dict.fromkeys(frames, USUAL)))
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
    frames = [norms_of(ANSWERS[m]) for m in ("small", "large")]
    entry = entry_for("model_pairs", ["small"], factor="temperature", test="rank")
    hot = {**entry.conditions["main"], "temperature": 1}
    options = entry.options.model_copy(update={"arms": ("main", "hot")})
    entry = replace(
        entry,
        options=options,
        conditions={**entry.conditions, "hot": hot},
        scales={**entry.scales, "hot": ACCEPTABILITY},
    )
    both = [Selected("main", "small", frames[0]), Selected("hot", "small", frames[1])]
    table = model_pairs(both, entry, vignettes=dict.fromkeys(["main", "hot"], VIGNETTES), repeats={})
    assert table[["arm_a", "level_a", "arm_b", "level_b"]].to_numpy().tolist() == [["main", "0", "hot", "1"]]
    assert table["effect_size"].iloc[0] < 0  # the shifted answers are the higher ones


def test_model_contrasts_find_the_planted_shift() -> None:
    table = run("model_contrasts", factor="capacity")
    row = table.iloc[0]
    assert row["n_templates"] == 4  # templates, not variants
    assert row["conf_low"] < row["estimate"] < row["conf_high"] < 0
    assert -0.65 < row["estimate"] < -0.3
