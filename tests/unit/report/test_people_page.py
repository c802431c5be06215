"""The page on people and models: what it says, and that text from data cannot become HTML."""

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.people_norms import EXPECTED
from cinorms.report import people_page
from cinorms.stats.ceilings import distances
from cinorms.stats.flow_differences import flow_differences
from cinorms.stats.samples import Sample

PEOPLE = {"survey": {"title": "A <b>survey</b>", "people": "12 people"}}


@pytest.fixture(scope="module")
def page() -> str:
    rng = np.random.default_rng(1)
    norms = rng.uniform(-80, 80, 12)
    people = Sample(norms[:, None] + rng.normal(0, 30, (12, 12)))
    tables, flows = [], []
    for name, shift in (("near", 0.0), ("far", 90.0)):
        model = Sample(norms[:, None] + shift + rng.normal(0, 5, (12, 8)))
        for baseline, sample in (("survey", people), (EXPECTED, Sample.given(norms))):
            names = {"arm": "main", "model": name, "baseline": baseline}
            tables.append(distances(model, sample).assign(**names))
            table = flow_differences(model, sample).rename(
                columns={"people": "people_mean", "model": "model_mean"}
            )
            verdict = "model higher" if shift else "no difference shown"
            flows.append(table.assign(**names, flow=range(12), verdict=verdict))
    table = pd.concat(tables, ignore_index=True)
    table["nearest"] = 1 + (table["model"] == "far")
    vignettes = pd.DataFrame({"flow": range(12), "vignette": [f"A flow <i>{i}</i>" for i in range(12)]})
    return people_page.render(
        "s", table, pd.concat(flows, ignore_index=True), vignettes, PEOPLE, "planted", (-100.0, 100.0)
    )


def test_it_says_who_is_farther_than_other_people_and_marks_planted_models(page):
    assert "Of 2 models,\n  1 is farther from people than another group of as many people would be" in page
    assert "farther than other people" in page
    assert '<p class="mark">planted</p>' in page
    assert page.count('class="number">12<') >= 2


def test_it_has_a_band_for_people_and_none_for_expected_values(page):
    assert page.count("another group of people:") == 1
    assert "Nobody drew these numbers" in page
    assert "What these numbers do not show" in page


def test_text_from_data_is_escaped(page):
    assert "<b>survey</b>" not in page
    assert "<i>3</i>" not in page
    assert "… &lt;i&gt;3&lt;/i&gt;" in page


def test_an_axis_has_round_numbers_within_the_drawing():
    axis = people_page.Axis(0.0, 93.0)
    assert [text for _, text in axis.ticks] == ["0", "20", "40", "60", "80"]
    assert axis.at(-5.0) == axis.left
    assert axis.at(500.0) == axis.right


def test_a_study_without_the_tables_has_none_to_name():
    analyses = {
        "a": {"kind": "people_flows"},
        "b": {"kind": "people_distances"},
        "c": {"kind": "people_flows"},
    }
    assert people_page.tables_of(analyses) == ["b", "a"]
    assert people_page.tables_of({}) == []
