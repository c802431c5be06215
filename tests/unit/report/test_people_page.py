"""The page on people and models: what it says, and that text from data cannot become HTML."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cinorms.analyses.people import EXPECTED
from cinorms.report import people_page
from cinorms.report.description import people_tables
from cinorms.report.people_page import standing_section
from cinorms.stats.ceilings import distances, flow_differences
from cinorms.stats.samples import Sample

FACTS = {
    "study": "s",
    "people": {"survey": {"title": "A <b>survey</b>", "people": "12 people", "question": "Is it kind?"}},
    "labels": {},
    "models": {"main": {"question": "Rate it: {scenario}", "wordings": 8, "models": 2}},
    "mark": "planted",
    "simulated": False,
    "scale": {
        "lowest": -100,
        "highest": 100,
        "ends": ["wholly unkind", "wholly kind"],
        "measure": "kindness",
        "more": "more kind",
        "less": "less kind",
    },
}


@pytest.fixture(scope="module")
def made() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return distances, flows and vignettes of people and two models."""
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
    vignettes = pd.DataFrame({"flow": range(12), "vignette": [f"A flow <i>{i}</i>" for i in range(12)]})
    return table, pd.concat(flows, ignore_index=True), vignettes


@pytest.fixture(scope="module")
def page(made) -> str:
    return people_page.render(FACTS, *made)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("What is measured is kindness.", 1),
        ("from −100 (wholly unkind) to 100 (wholly kind); a higher number is more kind", 1),
        ("Rate it: {scenario} (the first of 8 wordings)", 1),
        ("a model that answers lower (less kind), beyond noise", 1),
        ("<span>wholly unkind</span>", 1),
        ("accept", 0),
        ("Of 2 models, 1 is farther from people than another group of the same size would be", 1),
        ('<p class="planted"><strong>planted</strong></p>', 1),
        ('class="number">12<', 3),
        ("band: another group of people:", 1),  # a band for people, none for expected values
        (">People rated some uses of personal information", 1),
        ("<b>survey</b>", 0),
        ("<i>3</i>", 0),
        ("A flow &lt;i&gt;3&lt;/i&gt;", 1),
    ],
)
def test_it_says_in_the_words_of_the_scale_what_was_found_and_escapes_data(page, text, times):
    assert " ".join(page.split()).count(text) == times


def test_it_warns_where_most_flows_have_one_rating_and_draws_no_single_flows(page, made):
    distances, flows, vignettes = made
    assert "one rating for most flows" not in page
    assert 'id="flows-survey"' in page
    alone = flows.assign(n_raters=np.where(flows["flow"] < 8, 1, flows["n_raters"]))
    text = " ".join(people_page.render(FACTS, distances, alone, vignettes).split())
    for said in (
        "Most flows have one rating (8 of the 12 that people rated).",
        "One person's answer is not what people think",
        "which single flow people find more kind or less kind",
        "known only from the 4 flows with more ratings",
        "a mark in the band does not mean that the model is near to people",
    ):
        assert said in text
    assert 'id="flows-survey"' not in text
    assert "nearer than other people" not in text


def test_a_model_without_a_distance_is_named_and_moves_no_axis(page, made):
    distances, *others = made
    row = distances.query("model == 'far' and baseline == 'survey' and metric == 'rms'")
    odd = row.assign(model="odd", status="one_template", conf_high=9000.0)
    found = people_page.render(FACTS, pd.concat([distances, odd], ignore_index=True), *others)
    assert "odd" in found
    assert "odd" not in page
    marks, found_marks = (re.findall(r'x[12]?="[\d.]+%"', text) for text in (page, found))
    assert len(marks) > 20
    assert marks == found_marks


def test_an_axis_has_round_numbers_within_the_drawing():
    axis = people_page.NumberLine(0.0, 93.0)
    assert [text for _, text in axis.ticks] == ["0", "20", "40", "60", "80"]
    assert (axis.at(-5.0), axis.at(500.0)) == (0, 100)


def test_a_study_without_the_tables_has_none_to_name():
    kinds = {"a": "people_flows", "b": "people_distances", "c": "people_flows"}
    analyses = {name: SimpleNamespace(kind=kind) for name, kind in kinds.items()}
    assert people_tables(analyses) == {"tables": ["b", "a"], "standing": [], "groups": []}
    assert people_tables({})["tables"] == []


def test_where_models_stand_is_said_in_words():
    rows = [
        ("mean", None, 0.16, 0.11, 0.22),
        ("weight", "told", 0.4, 0.3, 0.5),
        ("weight", "permission", 0.92, 0.9, 0.95),
    ]
    table = pd.DataFrame(rows, columns=["what", "level", "share", "conf_low", "conf_high"])
    table = table.assign(arm="main", model="m", people="p", n_people=494, status="ok")
    metadata = {"factor": "principle", "people": "494 people"}
    scale = {"more": "more acceptable", "less": "less acceptable"}
    section = standing_section(metadata, table, scale)
    assert section["models"][0]["sentences"] == [
        "answers lower (less acceptable) than 84% [78%, 89%] of people",
        "gives \u2018permission\u2019 more weight than 92% [90%, 95%] of people",
    ]
    assert section["rows"][0] == {"level": "told", "cells": ["40% [30%, 50%]"]}
    unsure = standing_section(metadata, table.head(2), scale)["models"][0]["sentences"][1]
    assert unsure == "gives no level a weight that clearly differs from that of the person in the middle"


def test_flows_are_told_by_what_differs_and_what_all_have_in_common_is_said_once(made):
    distances, flows, vignettes = made
    factors = {"sender": "a tracker", "recipient": [f"somebody {i}" for i in range(12)]}
    page = people_page.render(FACTS, distances, flows, vignettes.assign(**factors))
    assert page.count("All flows: sender a tracker.") == 1
    assert '<th scope="col">to whom</th>' in page
    assert "<td>somebody 3</td>" in page
    assert "A flow" not in page


def test_undecided_models_are_below_a_rule_and_the_surest_difference_is_last_of_the_others(made):
    distances, flows, vignettes = made
    near = (distances["model"] == "near") & (distances["baseline"] != EXPECTED)
    unsure = distances.assign(verdict=distances["verdict"].mask(near, "undecided"))
    page = people_page.render(FACTS, unsure, flows, vignettes)
    assert page.index("<span>far</span>") < page.index(">Undecided</p>") < page.index("<span>near</span>")
    assert page.count('class="m-undecided"') == 1
    few = people_page.render(
        FACTS, unsure.assign(status=unsure["status"].mask(near, "few")), flows, vignettes
    )
    assert "Left out, because too few answers are valid: near." in few
