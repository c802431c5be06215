"""Agreement of models: in pairs, and of sets, on the norms that they hold."""

import numpy as np
import pytest

from cinorms.norms import assessment
from cinorms.norms.assessment import level_matrix
from cinorms.stats import agreement
from cinorms.stats.wordings import level_counts, template_numbers

from ...scales import ACCEPTABILITY
from .made import ANSWERS, PROMPTS, USUAL, norms_of, run


def held(model: str) -> np.ndarray:
    """Return the norm of each flow, NaN where the model holds none."""
    norms = norms_of(ANSWERS[model])
    kept = assessment.status(norms, USUAL) == "kept"
    return norms["value"].where(kept).to_numpy(dtype=float, na_value=np.nan)


def test_a_pair_agrees_where_both_hold_the_same_norm():
    table = run("agreement_pairs").set_index(["model_a", "model_b"])
    a, b = held("small"), held("large-q")
    both = ~np.isnan(a) & ~np.isnan(b)
    row = table.loc[("small", "large-q")]
    assert len(table) == 3
    assert row["n_flows"] == both.sum() > 0
    assert row["agreement"] == pytest.approx((a == b)[both].mean())
    assert row["mean_difference"] == pytest.approx((a - b)[both].mean())
    counts = [
        level_counts(level_matrix(ANSWERS[m]), template_numbers(PROMPTS), ACCEPTABILITY)
        for m in ("small", "large-q")
    ]
    own = [agreement.pairs(agreement.halves(of, USUAL, ACCEPTABILITY.levels)) for of in counts]
    for column, measure in (("agreement_reworded", "agreement"), ("kappa_reworded", "kappa_quadratic")):
        assert row[column] == pytest.approx(np.mean([table[measure].iloc[0] for table in own]))


def test_a_factor_compares_the_models_that_differ_in_it_only():
    table = run("agreement_pairs", factor="quantisation")
    (sides,) = table[["model_a", "level_a", "model_b", "level_b"]].to_numpy().tolist()
    assert sides == ["large", "none", "large-q", "awq"]


def test_sets_are_counted_by_name_and_all_models_without_any():
    everyone = run("agreement_sets")
    assert everyone[["arm", "set", "models"]].to_numpy().tolist() == [["main", "all", 3]]
    table = run("agreement_sets", sets={"two": ["small", "large"], "one": ["large"]}).set_index("set")
    same = held("small") == held("large")
    assert table.loc["two", "n_same"] == same.sum() > everyone["n_same"].iloc[0]
    assert table["status"].to_dict() == {"two": "ok", "one": "one_model"}
