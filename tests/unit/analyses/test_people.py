"""Kinds that compare models with people: baselines, units, estimates, plans, and what weighs how much."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import PROMPTS, VIGNETTES, make_answers, run

#: Raters take the place of templates: one variant each.
RATERS = list_variants("people", ["text"] * 9, 9, 1)


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
    further = {"vignettes": dict(zip(arms, (VIGNETTES, rated), strict=True))}
    return call(entry, selected, further | {"prompts": dict(zip(arms, (PROMPTS, RATERS), strict=True))})


def test_every_model_is_compared_with_every_baseline():
    table = compare("people_distances", people=["people-arm"])
    assert set(table["model"]) == {"small", "large"}
    assert set(table["baseline"]) == {"expected", "people-arm"}
    people = table[table["baseline"] == "people-arm"].set_index(["model", "metric"])
    assert people.loc[("large", "mean_signed"), "observed"] > people.loc[("small", "mean_signed"), "observed"]
    assert people.loc[("small", "rms"), "nearest"] == 1
    assert people.loc[("large", "rms"), "verdict"] == "farther"
    assert table.loc[table["baseline"] == "expected", "ceiling"].isna().all()
    without = compare("people_distances", people=["people-arm"], with_expected=False)
    assert set(without["baseline"]) == {"people-arm"}


def test_every_model_is_correlated_with_every_baseline():
    table = compare("people_correlations", people=["people-arm"])
    assert (
        table[["model", "baseline"]].drop_duplicates().shape == (4, 2) == table[["model", "baseline"]].shape
    )
    ok = table[table["status"] == "ok"]
    assert ok["estimate"].between(-1, 1).all()
    assert table.loc[table["baseline"] == "expected", "reliability_people"].eq(1).all()
    assert not len(compare("people_correlations", with_expected=False))


@pytest.mark.parametrize("kind", ["people_distances", "people_flows", "people_estimates", "people_slices"])
def test_ratings_of_other_flows_are_refused(kind):
    same, other = VIGNETTES.assign(vignette="a story"), VIGNETTES.assign(sender="toy")
    assert len(compare(kind, people=["people-arm"], rated=same)) == len(compare(kind, people=["people-arm"]))
    with pytest.raises(ConfigError, match="dataset 'd' does not tell the flows of 'e': sender of its flow 0"):
        compare(kind, people=["people-arm"], rated=other)


def test_distances_are_in_the_units_of_the_dataset():
    options = {"people": ["people-arm"], "with_expected": False}
    points = compare("people_distances", (-100.0, 100.0), **options)
    levels = compare("people_distances", (-2.0, 2.0), **options)
    assert points["observed"].to_numpy() == pytest.approx(50 * levels["observed"].to_numpy())


def test_without_expected_values_and_people_there_is_nothing_to_compare():
    assert not len(compare("people_distances", with_expected=False))
    assert not len(compare("people_flows", with_expected=False))


def test_flows_that_differ_are_marked_after_the_correction():
    table = compare("people_flows", people=["people-arm"], with_expected=False)
    assert len(table) == 2 * len(VIGNETTES)
    found = table["verdict"] != "no difference shown"
    assert (found == (table["p_bh"] < 0.05)).all()
    assert (table["p_bh"] >= table["p"]).all()
    assert (table["p_bh"] > table["p"]).any()
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


def test_a_model_that_may_have_seen_the_ratings_is_no_help():
    usual, seen = (
        compare("people_estimates", people=["people-arm"], seen=seen) for seen in ("no", "possible")
    )
    assert set(seen["status"]) == {"may_have_seen"}
    assert seen[["predicted", "estimate", "conf_low", "n_effective", "explained"]].isna().all(axis=None)
    assert seen["direct"].equals(usual["direct"])
    factors = compare("people_estimates", people=["people-arm"], seen="possible", factors=["sender"])
    assert set(factors["status"]) == {"ok"}
    # Whatever the models answer, the estimate is the same.
    assert factors.groupby("flow")["estimate"].nunique().eq(1).all()
    assert set(compare("people_slices", people=["people-arm"], seen="possible")["status"]) == {
        "may_have_seen"
    }


def test_factors_predict_people_beside_the_model(monkeypatch):
    rated = ratings(7)
    dolls = rated["flow"].isin(VIGNETTES.loc[VIGNETTES["sender"] == "doll", "flow"]) & rated["level"].notna()
    rated["level"] = rated["level"].mask(dolls & (rated["variant"] != "0_0"), -2)
    monkeypatch.setattr(f"{__name__}.ratings", lambda seed: rated)
    with_factors = compare("people_estimates", people=["people-arm"], factors=["sender", "recipient"])
    alone = compare("people_estimates", people=["people-arm"])
    assert set(with_factors["status"]) == {"ok"}
    # That people mind dolls is in no answer of the models.
    assert (with_factors["explained"] > alone["explained"] + 0.2).all()


def test_a_plan_names_the_raters_needed_for_an_error():
    table = run("survey_plan", raters=[20, 40], per_rater=[10], error=0.1)
    assert set(table["target"]) == {"flow", "overall", "level", "group"}
    flow = table[table["target"] == "flow"].set_index("raters")["std_err"]
    assert flow.loc[20].max() > flow.loc[40].max()
    assert table["needed"].notna().all()
    assert np.isfinite(table["std_err"]).all()


def planted(seed, police):
    """Return answers that weigh the sender alike: people ignore the recipient, the model rejects the police."""
    rng = np.random.default_rng(seed)
    of_flow = police * (VIGNETTES["recipient"] == "police") + 1.5 * (VIGNETTES["sender"] == "doll")
    noisy = np.repeat(of_flow.to_numpy(), len(PROMPTS)) - 0.5
    levels = np.clip(np.rint(noisy + rng.normal(0, 0.5, len(noisy))), -2, 2)
    return make_answers(seed, valid=1.0).assign(level=pd.array(levels, dtype="Int8"))


TWO = {"small": planted(1, 0.0), "large": planted(2, -1.0)}
FACTORS = ["sender", "recipient"]


def test_a_model_that_weighs_what_people_ignore_is_found():
    table = run("people_factors", TWO, factors=FACTORS).set_index("factor")
    assert set(table["model"]) == {"large"}
    assert table.loc["recipient", "finding"] == "the model weighs what people were not shown to weigh"
    assert table.loc["recipient", "model_range"] == pytest.approx(1.0, abs=0.2)
    assert table.loc["recipient", "people_p"] > 0.05
    assert table.loc["sender", "finding"] == "no difference shown"


def test_differences_have_intervals_and_are_the_model_less_people():
    table = run("people_differences", TWO, factors=FACTORS, baselines={"recipient": "maker"}).set_index(
        "level"
    )
    police = table.loc["police"]
    assert police["baseline"] == "maker"
    assert police["estimate"] == pytest.approx(police["model_estimate"] - police["people_estimate"])
    assert police["conf_low"] < -0.8 < police["conf_high"] < -0.5
    assert police["finding"] == "more by the model"
    # Three tests: Holm's smallest p-value is three times as large.
    assert police["log10_p_holm"] == pytest.approx(min(police["log10_p"] + np.log10(3), 0))
