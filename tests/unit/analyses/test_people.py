"""Kinds that compare models with people: baselines, units, estimates and plans."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import PROMPTS, VIGNETTES, make_answers, run

#: Raters take the place of templates: one variant each.
RATERS = pd.DataFrame({"variant": [f"{r}_0" for r in range(9)], "template_no": range(9), "order_no": 0})


def ratings(seed, shift=0.0):
    """Return ratings of every flow by nine raters, as answers."""
    answers = make_answers(seed, shift)
    rows = answers.groupby("flow", sort=False).head(9)
    rows = pd.concat([rows, answers.groupby("flow", sort=False).tail(1)], ignore_index=True)
    names = rows.groupby("flow").cumcount().astype(str) + "_0"
    return rows.assign(variant=pd.Categorical(names)).sort_values(["flow", "variant"], ignore_index=True)


def compare(kind, between=(-100.0, 100.0), rated=VIGNETTES, **options):
    """Return the table of a kind for two models and the people of an arm."""
    arms = ["main", "people-arm"]
    pairs = [("main", "small"), ("main", "large"), ("people-arm", "people")]
    dataset = DatasetFactors("d", ("sender", "place", "inference", "recipient"), expected_range=between)
    factors_of = {"main": dataset, "people-arm": replace(dataset, dataset="d" if rated is VIGNETTES else "e")}
    entry = make_entry("analyses", kind, {"arms": arms, **options}, pairs, factors_of=factors_of)
    frames = (make_answers(2), make_answers(3, 1.2), ratings(7))
    selected = [Selected(*pair, frame) for pair, frame in zip(pairs, frames, strict=True)]
    further = {
        "vignettes": {"main": VIGNETTES, "people-arm": rated},
        "prompts": {"main": PROMPTS, "people-arm": RATERS},
    }
    return call(entry, selected, further)


def test_every_model_is_compared_with_every_baseline():
    table = compare("people_distances", people=["people-arm"])
    assert set(table["model"]) == {"small", "large"}
    assert set(table["baseline"]) == {"expected", "people-arm"}
    people = table[table["baseline"] == "people-arm"].set_index(["model", "metric"])
    assert people.loc[("large", "mean_signed"), "observed"] > people.loc[("small", "mean_signed"), "observed"]
    assert people.loc[("small", "rms"), "nearest"] == 1
    assert people.loc[("large", "rms"), "verdict"] == "farther"
    assert table.loc[table["baseline"] == "expected", "ceiling"].isna().all()
    assert set(compare("people_distances", people=["people-arm"], with_expected=False)["baseline"]) == {
        "people-arm"
    }


@pytest.mark.parametrize("kind", ["people_distances", "people_flows", "people_estimates", "people_slices"])
def test_ratings_of_other_flows_are_refused(kind):
    same, other = VIGNETTES.assign(vignette="a story"), VIGNETTES.assign(sender="toy")
    assert len(compare(kind, people=["people-arm"], rated=same)) == len(compare(kind, people=["people-arm"]))
    with pytest.raises(ConfigError, match="dataset 'd' does not tell the flows of 'e': sender of its flow 0"):
        compare(kind, people=["people-arm"], rated=other)


def test_distances_are_in_the_units_of_the_dataset():
    points, levels = (compare("people_distances", between, people=["people-arm"], with_expected=False) for between in
                      ((-100.0, 100.0), (-2.0, 2.0)))  # fmt: skip
    assert points["observed"].to_numpy() == pytest.approx(50 * levels["observed"].to_numpy())


def test_without_expected_values_and_people_there_is_nothing_to_compare():
    assert not len(compare("people_distances", with_expected=False))
    assert not len(compare("people_flows", with_expected=False))


def test_flows_that_differ_are_marked_after_the_correction():
    table = compare("people_flows", people=["people-arm"], with_expected=False)
    assert len(table) == 2 * len(VIGNETTES)
    found = table["verdict"] != "no difference shown"
    assert (found == (table["p_bh"] < 0.05)).all()
    more = table["verdict"] == "model higher"
    assert more[table["model"] == "large"].sum() > more[table["model"] == "small"].sum()
    assert (table.loc[more, "difference"] > 0).all()


def test_people_s_norms_are_estimated_for_every_flow():
    table = compare("people_estimates", people=["people-arm"])
    assert len(table) == 2 * len(VIGNETTES)
    assert (table["status"] == "ok").all()
    assert (table["n_effective"] >= 0.9 * table["n_raters"]).mean() > 0.9
    slices = compare("people_slices", people=["people-arm"], by=["sender"])
    assert slices["level"].nunique() == 1 + VIGNETTES["sender"].nunique()
    assert (slices["n_effective"] > 0).all()


def test_a_plan_names_the_raters_needed_for_an_error():
    table = run("survey_plan", raters=[20, 40], per_rater=[10], error=0.1)
    assert set(table["target"]) == {"flow", "overall", "level", "group"}
    flow = table[table["target"] == "flow"].set_index("raters")["std_err"]
    assert flow.loc[20].max() > flow.loc[40].max()
    assert table["needed"].notna().all()
    assert np.isfinite(table["std_err"]).all()
