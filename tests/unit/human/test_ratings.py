"""What is read from a survey's file, and that nothing of it names a person."""

import copy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.human.ratings import Ratings, list_raters, read_ratings
from cinorms.human.survey import load_survey, split_name
from cinorms.norms.assessment import level_matrix
from cinorms.stats.reliability import intraclass
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...shared_ratings import FOLDER, needs_ratings
from ...snakemake_runs import write_yaml
from .surveys import IDS, SURVEY, as_csv, rows

LEVELS = (-2, -1, 0, 1, 2)


def read(folder: Path, question: str = "", select: Any = None, **changes: Any) -> Ratings:
    survey = {key: value for key, value in {**copy.deepcopy(SURVEY), **changes}.items() if value is not None}
    write_yaml(folder / "ratings/doors_survey.yaml", survey)
    found = load_survey(folder / "ratings/doors_survey.yaml")
    flows = read_vignettes(load_dataset(folder / "vignettes/doors.yaml"), folder)
    people = folder / "ratings/first.csv" if found.numbered_as else None
    return read_ratings(
        found, question, folder / "ratings/doors.csv", flows, LEVELS, select or {}, people=people
    )


def with_rows(folder: Path, changed: list[dict[str, object]] | None = None) -> Path:
    (folder / "ratings/doors.csv").write_text(as_csv(changed), encoding="utf-8")
    return folder


def test_raters_become_variants_and_ratings_levels(folder_of_survey, tmp_path):
    answers = read(folder_of_survey).answers
    tables.write(answers, tmp_path / "answers.parquet", tables.ANSWERS)
    assert len(answers) == 54
    at = answers.set_index(["flow", answers["variant"].astype(str)])
    assert at.loc[(2, "4_0"), "level"] == (2 + 4) % 5 - 2
    # The same person about the same flow: what was rated first is the variant of its own.
    assert at.loc[(4, "3_0"), "level"] == (4 + 3) % 5 - 2
    assert at.loc[(4, "3_1"), "level"] == (5 + 3) % 5 - 2
    assert set(answers["status"]) == {"ok"}
    assert answers["order"].isna().all()
    prompts = list_raters(answers, "doors_survey", "Would people agree?")
    tables.write(prompts, tmp_path / "prompts.parquet", tables.PROMPTS)
    assert list(prompts["template_no"].unique()) == list(range(9))
    assert list(prompts.loc[prompts["order_no"] == 1, "variant"]) == ["3_1"]


def test_the_second_question_and_what_was_not_answered(folder_of_survey):
    assert split_name("doors_survey/personal") == ("doors_survey", "personal")
    answers = read(folder_of_survey, "personal").answers
    at = answers.set_index(["flow", answers["variant"].astype(str)])
    assert at.loc[(2, "4_0"), "level"] == -((2 + 4) % 5 - 2)
    assert at.loc[(2, "8_0"), "status"] == "empty"
    assert pd.isna(at.loc[(2, "8_0"), "level"])


@pytest.mark.parametrize(
    ("then", "n", "n_ok"),
    [("keep", 54, 54), ("no_answer", 54, 52), ("leave_out", 52, 52), ("leave_out_rater", 42, 42)],
)
def test_what_checks_do(folder_of_survey, then, n, n_ok):
    ratings = read(folder_of_survey, checks=[{"column": "Answer.coherency", "values": ["1"], "then": then}])
    assert len(ratings.answers) == n
    assert (ratings.answers["status"] == "ok").sum() == n_ok
    assert ratings.notes[1].startswith("Answer.coherency 1: ")


def test_flows_by_their_factors_in_the_file_s_own_spelling(folder_of_survey):
    changed = []
    for row in rows():
        flow = int(str(row["Input.idx"]))
        changed.append({**row, "HITId": ("A door", "a window")[flow // 3], "Input.idx": flow % 3})
    factors = {
        "sender": {"column": "HITId", "levels": {"A door": "a door"}},
        "recipient": {
            "column": "Input.idx",
            "levels": {"0": "its owner", "1": "a passer-by", "2": "the police"},
        },
    }
    by_factors = read(with_rows(folder_of_survey, changed), flow=None, factors=factors).answers
    pd.testing.assert_frame_equal(by_factors, read(with_rows(folder_of_survey)).answers)
    with pytest.raises(ConfigError, match="has both; name either the column"):
        read(folder_of_survey, factors=factors)
    del factors["recipient"]
    with pytest.raises(DataError, match="do not tell all flows of dataset 'doors' apart; add recipient"):
        read(folder_of_survey, flow=None, factors=factors)


def test_ratings_that_were_pasted_twice_are_refused_unless_people_rated_repeatedly(folder_of_survey):
    with pytest.raises(DataError) as caught:
        read(with_rows(folder_of_survey, [*rows(), *rows()]), ratings=None)
    message = str(caught.value)
    assert (
        "doors.csv: line 56 repeats an earlier one: the same person, flow and answer (54 such rows)"
        in message
    )
    assert "repeated: true" in message
    assert not any(name in message for name in IDS)
    assert len(read(folder_of_survey, ratings=None, repeated=True).answers) == 108
    other = {**rows()[0], "Answer.people": 100}  # another answer is another rating
    assert len(read(with_rows(folder_of_survey, [*rows(), other]), ratings=55).answers) == 55


def test_selected_flows_and_rows(folder_of_survey):
    answers = read(folder_of_survey, select={"sender": ["a window"]}).answers
    assert sorted(answers["flow"].unique()) == [3, 4, 5]
    some = read(folder_of_survey, where={"HITId": "HIT1"}, ratings=9).answers
    assert sorted(some["flow"].unique()) == [1]


@pytest.mark.parametrize(
    ("changes", "cells", "message"),
    [
        ({"flow": "Input.id"}, {}, "has no column 'Input.id', which .*; did you mean 'Input.idx'"),
        ({}, {"Input.idx": 6}, "column 'Input.idx' has no flow of dataset 'doors'; allowed: 0 to 5"),
        ({}, {"Answer.people": 75}, "'Answer.people' has no rating; allowed: -100, -50, 0, 50, 100"),
        ({}, {"WorkerId": " "}, "the column 'WorkerId' is empty"),
        ({"ratings": 60}, {}, "ratings: 60 is stated, but .* has 54"),
        ({"where": {"HITId": "HIT9"}}, {}, "where.HITId: no row of .* has 'HIT9'"),
        (
            {"checks": [{"column": "Answer.coherency", "values": [0, 1], "then": "leave_out"}]},
            {},
            "no rating is left",
        ),
        # A survey that names the wrong column must not show what is in it.
        ({"flow": "WorkerId"}, {}, "the column 'WorkerId' has no flow"),
        (
            {"questions": {"q": {"text": "t", "column": "WorkerId", "values": [1, 2, 3, 4, 5]}}},
            {},
            "the column 'WorkerId' has no rating",
        ),
    ],
)
def test_what_is_refused(folder_of_survey, changes, cells, message):
    first, *others = rows()
    with pytest.raises(DataError, match=message) as caught:
        read(with_rows(folder_of_survey, [{**first, **cells}, *others]), **changes)
    assert "the column" not in message or "doors.csv: line 2: " in str(caught.value)
    assert not any(name in str(caught.value) for name in IDS)


def test_running_numbers_follow_the_file_and_not_the_ids(folder_of_survey):
    """Other ids in the same places give the same tables: nothing of an id is in them, not even a hash."""
    before = read(folder_of_survey).answers
    other = {name: f"{i * 7919 % 97}-other" for i, name in enumerate(IDS)}
    changed = [{**row, "WorkerId": other[str(row["WorkerId"])]} for row in rows()]
    pd.testing.assert_frame_equal(read(with_rows(folder_of_survey, changed)).answers, before)


def test_people_of_another_file_have_its_numbers_or_are_left_out(folder_of_survey):
    first = [row for row in reversed(rows()) if row["WorkerId"] in IDS[3:7]]
    (folder_of_survey / "ratings/first.csv").write_text(as_csv(first), encoding="utf-8")
    numbered = {"url": "first.csv", "column": "WorkerId"}
    kept = read(folder_of_survey, numbered_as=numbered)
    assert "in the file of numbered_as too: 4 people, keep" in kept.notes
    at = kept.answers.set_index(["flow", kept.answers["variant"].astype(str)])
    assert at.loc[(2, "0_0"), "level"] == (2 + 6) % 5 - 2
    others = read(folder_of_survey, numbered_as={**numbered, "then": "leave_out"}).answers
    assert set(list_raters(others, "s", "q")["template_no"]) == set(range(4, 9))


@pytest.mark.slow
@needs_ratings
@pytest.mark.parametrize(
    ("tier", "raters", "ratings", "reliability"), [("2a", 26, 490, 0.583), ("2b", 46, 1960, 0.927)]
)
def test_confaide_s_ratings(folder, tmp_path, tier, raters, ratings, reliability):
    """The counts and reliabilities of ConfAIde's two surveys, from the ratings without ids."""
    declared = load_survey(folder / f"resources/ratings/confaide_{tier}.yaml")
    assert (declared.raters, declared.ratings) == (raters, ratings)
    survey = {**SURVEY, "dataset": f"confaide_{tier}", "raters": raters, "ratings": ratings}
    survey |= {"rater": {"column": "rater"}, "flow": "flow", "where": {"tier": tier}}
    survey |= {"file": {"url": str(FOLDER / "confaide_ratings.csv")}}
    survey["checks"] = [{"column": "incoherent", "values": [1], "then": "keep"}]
    survey["questions"] = {
        name: {**SURVEY["questions"][name], "column": name} for name in ("people", "personal")
    }
    write_yaml(tmp_path / "s.yaml", survey)
    flows = pd.DataFrame({"flow": range(98)})
    read_it = read_ratings(
        load_survey(tmp_path / "s.yaml"), "", FOLDER / "confaide_ratings.csv", flows, LEVELS, {}
    )
    assert len(read_it.answers) == ratings
    assert read_it.answers["flow"].nunique() == 98
    assert len(list_raters(read_it.answers, "s", "q")) == raters
    # What is published is of the mean of a flow's ratings.
    one, each = intraclass(level_matrix(read_it.answers)).estimate, ratings / 98
    assert each * one / (1 + (each - 1) * one) == pytest.approx(reliability, abs=5e-4)
