"""How good answers are, and how many wordings are enough: panels of reliability, norms under other wordings."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from cinorms.stats import reliability

from ...scales import ACCEPTABILITY
from . import made
from .made import ANSWERS, PROMPTS, VIGNETTES, run


def test_reliability_is_the_panel_of_each_model():
    table = run("reliability").set_index("model").loc["large"].drop(columns="arm").reset_index(drop=True)
    pd.testing.assert_frame_equal(table, reliability.panel(ANSWERS["large"], PROMPTS, ACCEPTABILITY))


def many_templates(monkeypatch, same=0.8):
    """Return answers of a model to 8 templates: its answers to 4, twice, of which a share is the ``same``."""
    own, rng = ANSWERS["small"], np.random.default_rng(1)
    answers, prompts = [], []
    for template in range(8):
        new = {f"{template % 4}_{order}": f"{template}_{order}" for order in range(2)}
        copy = own[own["variant"].astype(str).isin(new)]
        level = copy["level"].where(rng.random(len(copy)) < same, -2)
        answers.append(copy.assign(variant=copy["variant"].astype(str).map(new), level=level))
        copy = PROMPTS[PROMPTS["variant"].isin(new)]
        prompts.append(copy.assign(variant=copy["variant"].map(new), template_no=template))
    monkeypatch.setattr(made, "PROMPTS", pd.concat(prompts))
    return {"small": pd.concat(answers)}


def test_norms_recur_as_the_table_of_flows_expects_them_to(monkeypatch):
    answers = many_templates(monkeypatch)
    module = import_module("rewordings.fresh")
    monkeypatch.setattr(module, "WHOLE", module.HALF)  # how near the numbers are is tested in stats
    row, flows = run("norms_again", answers).iloc[0], run("flow_norms", answers)
    assert (row["flows"], row["norms"]) == (len(VIGNETTES), (flows["status"] == "kept").sum())
    assert row["again"] == pytest.approx(flows["p_again"].sum())
    assert (flows["p_again"].notna() == (flows["status"] == "kept")).all()
    assert 0 < row["low"] < row["again"] < row["high"] < row["norms"]
    assert row["templates"] == 8
    assert row["status"] in ("ok", "wide")


@pytest.mark.parametrize(("same", "status"), [(0.6, "ok"), (1.0, "alike_templates")])
def test_wordings_that_are_copies_are_told_wherever_intervals_are_over_wordings(monkeypatch, same, status):
    copies = many_templates(monkeypatch, same)
    of_alpha = run("reliability", copies).set_index("measure").loc["alpha", "status"]
    regression = run("answer_regression", copies)
    assert [of_alpha, *set(regression["fit_status"])] == [status] * 2
    assert set(run("marginal_means", copies)["status"]) == {status}
    assert run("flow_dependence", copies)["status"].tolist() == [status]
    assert ("worth" in regression["fit_reason"].iloc[0]) == (status != "ok")
