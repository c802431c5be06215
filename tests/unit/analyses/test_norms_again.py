"""How many wordings are enough: norms under other wordings, and the templates needed."""

import numpy as np
import pandas as pd
import pytest

from cinorms.norms.assessment import level_matrix
from cinorms.stats import again
from cinorms.stats.generalizability import DesignSize, coefficients
from cinorms.stats.wordings import template_numbers

from . import made
from .made import ANSWERS, PROMPTS, VIGNETTES, run


def test_two_models_differ_in_flows_as_their_difference_does():
    table = run("generalizability", {m: ANSWERS[m] for m in ("small", "large")})
    assert sorted(set(table["measure"])) == ["difference", "mean", "norm"]
    asked = table[table["asked"]].set_index(["model", "other", "measure"])
    levels = [level_matrix(ANSWERS[m]) for m in ("small", "large")]
    templates = template_numbers(PROMPTS)
    for (model, other, measure), x in {
        ("small", "", "mean"): levels[0],
        ("large", "", "mean"): levels[1],
        ("small", "large", "difference"): levels[0] - levels[1],
    }.items():
        assert asked.loc[(model, other, measure), "g"] == coefficients(x, templates, [DesignSize(4, 2)])[0].g


def test_the_design_of_a_model_is_the_one_in_which_it_was_asked():
    own = ANSWERS["large"]
    few = own[own["variant"].astype(str).str.startswith(("0_", "1_"))]
    table = run("generalizability", {"small": ANSWERS["small"], "large": few})
    asked = table[table["asked"] & (table["measure"] != "norm")].set_index(["model", "other"])["templates"]
    assert asked.to_dict() == {("small", ""): 4, ("large", ""): 2, ("small", "large"): 2}


def many_templates(monkeypatch, templates, same=0.8):
    """Return answers of a model to so many templates: copies of its answers, of which a share is the ``same``."""
    own, rng = ANSWERS["small"], np.random.default_rng(1)
    answers, prompts = [], []
    for template in range(templates):
        new = {f"{template % 4}_{order}": f"{template}_{order}" for order in range(2)}
        copy = own[own["variant"].astype(str).isin(new)]
        level = copy["level"].where(rng.random(len(copy)) < same, -2)
        answers.append(copy.assign(variant=copy["variant"].astype(str).map(new), level=level))
        copy = PROMPTS[PROMPTS["variant"].isin(new)]
        prompts.append(copy.assign(variant=copy["variant"].map(new), template_no=template))
    monkeypatch.setattr(made, "PROMPTS", pd.concat(prompts))
    return {"small": pd.concat(answers)}


def test_norms_recur_as_the_table_of_flows_expects_them_to(monkeypatch):
    answers = many_templates(monkeypatch, 8)
    monkeypatch.setattr(again, "WHOLE", again.HALF)  # how near the numbers are is tested in stats
    row, flows = run("norms_again", answers).iloc[0], run("flow_norms", answers)
    assert (row["flows"], row["norms"]) == (len(VIGNETTES), (flows["status"] == "kept").sum())
    assert row["again"] == pytest.approx(flows["p_again"].sum())
    assert (flows["p_again"].notna() == (flows["status"] == "kept")).all()
    assert 0 < row["low"] < row["again"] < row["high"] < row["norms"]
    assert row["templates"] == 8
    assert row["status"] in ("ok", "wide")


@pytest.mark.parametrize(("same", "status"), [(0.6, "ok"), (1.0, "alike_templates")])
def test_wordings_that_are_copies_are_told_wherever_intervals_are_over_wordings(monkeypatch, same, status):
    copies = many_templates(monkeypatch, 8, same)
    of_alpha = run("reliability", copies).set_index("measure").loc["alpha", "status"]
    coefficients_of = run("generalizability", copies)
    asked = coefficients_of[coefficients_of["asked"] & (coefficients_of["measure"] == "mean")]["status"]
    regression = run("answer_regression", copies)
    assert [of_alpha, *asked, *set(regression["fit_status"])] == [status] * 3
    assert set(run("marginal_means", copies)["status"]) == {status}
    assert run("flow_dependence", copies)["status"].tolist() == [status]
    assert ("worth" in regression["fit_reason"].iloc[0]) == (status != "ok")
