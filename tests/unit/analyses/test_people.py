"""Kinds that compare models with people: baselines, units, and flows that differ."""

from dataclasses import replace

import pandas as pd
import pytest

from cinorms.core.errors import ConfigError
from cinorms.entries.entry import Selected
from cinorms.entries.files import call
from cinorms.prompts.variants import list_variants
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry
from .made import PROMPTS, VIGNETTES, make_answers

#: Raters take the place of templates: one variant each.
RATERS = list_variants("people", ["text"] * 9, 9, 1)


def ratings(seed, shift=0.0):
    answers = make_answers(seed, shift)
    rows = answers.groupby("flow", sort=False).head(9)
    rows = pd.concat([rows, answers.groupby("flow", sort=False).tail(1)], ignore_index=True)
    names = rows.groupby("flow").cumcount().astype(str) + "_0"
    return rows.assign(variant=pd.Categorical(names)).sort_values(["flow", "variant"], ignore_index=True)


def compare(kind, between=(-100.0, 100.0), rated=VIGNETTES, **options):
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


@pytest.mark.parametrize("kind", ["people_distances", "people_flows"])
def test_ratings_of_other_flows_are_refused(kind):
    same, other = VIGNETTES.assign(vignette="a story"), VIGNETTES.assign(sender="toy")
    assert len(compare(kind, people=["people-arm"], rated=same)) == len(compare(kind, people=["people-arm"]))
    with pytest.raises(ConfigError, match="dataset 'd' does not have the flows of 'e': sender of its flow 0"):
        compare(kind, people=["people-arm"], rated=other)


def test_distances_are_in_the_units_of_the_dataset():
    options = {"people": ["people-arm"], "with_expected": False}
    points = compare("people_distances", (-100.0, 100.0), **options)
    levels = compare("people_distances", (-2.0, 2.0), **options)
    assert points["observed"].to_numpy() == pytest.approx(50 * levels["observed"].to_numpy())


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
