"""May I rely on it? The answer follows the tables, and what is not known is not passed over."""

import re
from dataclasses import replace

import pandas as pd
import pytest

from cinorms.report.reliance import is_asked_again, reliance
from cinorms.report.results import StudyResults

from ...study_facts import changed
from ...study_folder import folder_of, make_results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    return make_results(tmp_path_factory.mktemp("study"), models=["model-a", "model-b"])


def with_tables(results: StudyResults, **columns: dict[str, object]) -> StudyResults:
    """Return the study with a table of each kind, with these columns for model-a."""
    analyses, files = results.study.plain()["analyses"], dict(results.files["tables"])
    for kind, values in columns.items():
        files[kind] = folder_of(results) / f"tables/{kind}.csv"
        pd.DataFrame({"arm": ["main"], "model": ["model-a"], **values}).to_csv(files[kind], index=False)
        analyses[kind] = {**analyses["counts"], "kind": kind, "arms": list(results.study.arms)}
    study = changed(results.study, analyses=analyses)
    return replace(results, study=study, files={**results.files, "tables": files})


def test_without_the_tables_it_is_not_known(results):
    first, second = reliance(results)
    assert (first.model, first.answer, second.answer) == ("model-a", "Not known", "Not known")
    assert "did not compute how many norms other wordings would change (add" in first.text
    assert not is_asked_again(results)


@pytest.mark.parametrize(
    ("stable", "answer", "words"),
    [
        (0.8, "Mostly", "For 80% of its norms (80 of 100), the probability"),
        (0.796, "In part", "79.6% of its norms (80 of 100)"),
        (0.79, "In part", "79% of its norms (79 of 100)"),
        (0.2, "In part", "20% of its norms (20 of 100)"),
        (0.19, "Hardly", "19% of its norms (19 of 100)"),
        (0.0, "Hardly", "0% of its norms (0 of 100)"),
    ],
)
def test_the_answer_is_the_share_of_norms_that_hold_in_other_wordings(results, stable, answer, words):
    tables = with_tables(results, stability={"share_stable": stable, "norms": 100})
    first, second = reliance(tables)
    assert first.answer == answer
    assert words in first.text
    assert re.search(r"It holds a norm on \d+ of \d+ flows \(\d+%\)\. For ", first.text)
    assert second.answer == "Not known"


def test_of_too_few_wordings_for_any_stable_norm_it_is_not_known(results):
    first = reliance(with_tables(results, stability={"share_stable": float("nan"), "norms": 100}))[0]
    assert first.answer == "Not known"
    assert "too few wordings to show how many norms others would change: that takes at least 6." in first.text


@pytest.mark.parametrize(("verdict", "answer"), [("one_answer", "No"), ("depends_few", "Mostly")])
def test_answers_that_ignore_the_flow_are_no_norms_about_it(results, verdict, answer):
    tables = with_tables(
        results, flow_dependence={"verdict": verdict}, stability={"share_stable": 1.0, "norms": 100}
    )
    first = reliance(tables)[0]
    assert first.answer == answer
    assert ("other wordings give the same" in first.text) == (answer != "No")


def test_what_a_second_asking_changes_is_said_if_there_was_one(results):
    tables = with_tables(results, repeatability={"answers_differ": 0.021})
    assert (
        "Asked the same again, it changed 2.1% of its answers to another level." in reliance(tables)[0].text
    )
    assert is_asked_again(tables)
    assert not is_asked_again(with_tables(results, repeatability={"answers_differ": float("nan")}))
