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
from .made import LEVELS, PROMPTS, VIGNETTES, make_answers

PAIRS = [("main", "small"), ("main", "large"), ("people-arm", "people")]


def ratings():
    """Return ratings of nine people: raters take the place of templates, one variant each."""
    answers = make_answers(7).groupby("flow", sort=False)
    rows = pd.concat([answers.head(9), answers.tail(1)], ignore_index=True)
    names = rows.groupby("flow").cumcount().astype(str) + "_0"
    return rows.assign(variant=pd.Categorical(names)).sort_values(["flow", "variant"], ignore_index=True)


SELECTED = [
    Selected(*pair, frame)
    for pair, frame in zip(PAIRS, (make_answers(2), make_answers(3, 1.2), ratings()), strict=True)
]


def compare(kind, between=(-100.0, 100.0), rated=VIGNETTES, **options):
    dataset = DatasetFactors("d", tuple(LEVELS), expected_range=between)
    factors_of = {"main": dataset, "people-arm": replace(dataset, dataset="d" if rated is VIGNETTES else "e")}
    options = {"arms": ["main", "people-arm"], "people": ["people-arm"], **options}
    entry = make_entry("analyses", kind, options, PAIRS, factors_of=factors_of)
    prompts = {"main": PROMPTS, "people-arm": list_variants("people", ["text"] * 9, 9, 1)}
    return call(entry, SELECTED, {"vignettes": {"main": VIGNETTES, "people-arm": rated}, "prompts": prompts})


def test_every_model_is_compared_with_every_baseline():
    table = compare("people_distances")
    assert set(table["model"]) == {"small", "large"}
    assert set(table["baseline"]) == {"expected", "people-arm"}
    people = table[table["baseline"] == "people-arm"].set_index(["model", "metric"])
    assert people.loc[("large", "mean_signed"), "observed"] > people.loc[("small", "mean_signed"), "observed"]
    assert people.loc[("small", "rms"), "nearest"] == 1
    assert people.loc[("large", "rms"), "verdict"] == "farther"
    assert table.loc[table["baseline"] == "expected", "ceiling"].isna().all()


@pytest.mark.parametrize("kind", ["people_distances", "people_flows"])
def test_ratings_of_other_flows_are_refused(kind):
    assert len(compare(kind, rated=VIGNETTES.assign(vignette="a story"))) == len(compare(kind))
    with pytest.raises(ConfigError, match="dataset 'd' does not have the flows of 'e': sender of its flow 0"):
        compare(kind, rated=VIGNETTES.assign(sender="toy"))


def test_distances_are_in_the_units_of_the_dataset():
    points = compare("people_distances")
    levels = compare("people_distances", (-2.0, 2.0))
    assert points["observed"].to_numpy() == pytest.approx(50 * levels["observed"].to_numpy())


def test_flows_that_differ_are_marked_after_the_correction():
    table = compare("people_flows")
    assert len(table) == 2 * 2 * len(VIGNETTES)  # people, and the expected values
    assert ((table["verdict"] != "no difference shown") == (table["p_bh"] < 0.05)).all()
    assert (table["p_bh"] >= table["p"]).all()
    assert (table["p_bh"] > table["p"]).any()
    more = table["verdict"] == "model higher"
    assert more[table["model"] == "large"].sum() > more[table["model"] == "small"].sum()
    assert (table.loc[more, "difference"] > 0).all()
