"""What is read from a survey's file, a row per rating or per person, and that nothing of it names a person."""

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

from ...shared_ratings import FOLDER, ORIGINAL, confaide, needs_ratings
from ...snakemake_runs import write_yaml
from .surveys import DATASET, IDS, SURVEY, WIDE, as_csv, rows, wide_csv, write_wide

LEVELS = (-2, -1, 0, 1, 2)


@pytest.fixture
def doors(tmp_path: Path) -> Path:
    """Return a folder with the dataset ``doors`` and the ratings of it, as a user has them."""
    write_yaml(tmp_path / "vignettes/doors.yaml", DATASET)
    (tmp_path / "ratings").mkdir()
    return with_rows(tmp_path)


def read(folder, declared=SURVEY, question="", select=None, levels=LEVELS, **changes) -> Ratings:
    """Return the ratings of a survey with ``changes`` of what it declares; None leaves a key out."""
    stated = {key: value for key, value in {**declared, **changes}.items() if value is not None}
    write_yaml(folder / "ratings/s.yaml", stated)
    survey = load_survey(folder / "ratings/s.yaml")
    flows = read_vignettes(load_dataset(folder / "vignettes/doors.yaml"), folder)
    files = {name: Path(file.url) for name, file in survey.sources.items()}
    further = files.get("questions"), files.get("people")
    return read_ratings(survey, question, files["ratings"], flows, levels, select or {}, *further)


def with_rows(folder: Path, changed: list[dict[str, object]] | None = None, name: str = "doors") -> Path:
    (folder / f"ratings/{name}.csv").write_text(as_csv(changed), encoding="utf-8")
    return folder


def by_cell(ratings: Ratings) -> pd.DataFrame:
    return ratings.answers.set_index(["flow", ratings.answers["variant"].astype(str)])


def test_raters_become_variants_and_ratings_levels(doors, tmp_path):
    ratings = read(doors)
    answers, at = ratings.answers, by_cell(ratings)["level"]
    tables.write(answers, tmp_path / "answers.parquet", tables.ANSWERS)
    assert ratings.notes[0] == "54 ratings of 6 flows by 9 people; per flow 8 to 10, per person 6"
    # The same person about the same flow: what was rated first is the variant of its own.
    wanted = {(2, "4_0"): (2 + 4) % 5 - 2, (4, "3_0"): (4 + 3) % 5 - 2, (4, "3_1"): (5 + 3) % 5 - 2}
    assert at[list(wanted)].to_dict() == wanted
    assert set(answers["status"]) == {"ok"}
    assert answers["order"].isna().all()
    prompts = list_raters(answers, "doors_survey", "Would people agree?")
    tables.write(prompts, tmp_path / "prompts.parquet", tables.PROMPTS)
    assert list(prompts["template_no"].unique()) == list(range(9))
    assert list(prompts.loc[prompts["order_no"] == 1, "variant"]) == ["3_1"]


def test_the_second_question_and_what_was_not_answered(doors):
    assert split_name("doors_survey/personal") == ("doors_survey", "personal")
    ratings = read(doors, question="personal")
    at = by_cell(ratings)
    assert at.loc[(2, "4_0"), "level"] == -((2 + 4) % 5 - 2)
    assert at.loc[(2, "8_0"), ["status", "level"]].tolist() == ["empty", pd.NA]
    assert "left unanswered: 1" in ratings.notes


@pytest.mark.parametrize(
    ("then", "hit", "statuses"),
    [
        ("keep", 2, {"ok": 54}),
        ("no_answer", 2, {"ok": 52, "nonsense": 2}),
        ("leave_out", 2, {"ok": 52}),
        ("leave_out_rater", 12, {"ok": 42}),
    ],
)
def test_what_checks_do(doors, then, hit, statuses):
    answers, notes = read(doors, checks=[{"column": "Answer.coherency", "values": ["1"], "then": then}])
    assert answers["status"].value_counts().to_dict() == statuses
    assert notes[1] == f"Answer.coherency 1: {hit} ratings, {then}"


def test_flows_by_their_factors_in_the_file_s_own_spelling(doors):
    plain, changed = read(doors).answers, []
    for row in rows():
        flow = int(str(row["Input.idx"]))
        changed.append({**row, "HITId": ("A door", "a window")[flow // 3], "Input.idx": flow % 3})
    sender = {"sender": {"column": "HITId", "levels": {"A door": "a door"}}}
    levels = {"0": "its owner", "1": "a passer-by", "2": "the police"}
    factors = {**sender, "recipient": {"column": "Input.idx", "levels": levels}}
    by_factors = read(with_rows(doors, changed), flow=None, factors=factors).answers
    pd.testing.assert_frame_equal(by_factors, plain)
    with pytest.raises(ConfigError, match="has both; name either the column"):
        read(doors, factors=factors)
    with pytest.raises(DataError, match="do not tell all flows of dataset 'doors' apart; add recipient"):
        read(doors, flow=None, factors=sender)


def test_ratings_that_were_pasted_twice_are_refused_unless_people_rated_repeatedly(doors):
    with pytest.raises(DataError) as caught:
        read(with_rows(doors, [*rows(), *rows()]), ratings=None)
    message = str(caught.value)
    assert (
        "doors.csv: line 56 repeats an earlier one: the same person, flow and answer (54 such rows)"
        in message
    )
    assert "repeated: true" in message
    assert not any(name in message for name in IDS)
    assert len(read(doors, ratings=None, repeated=True).answers) == 108
    other = {**rows()[0], "Answer.people": 100}  # another answer is another rating
    assert len(read(with_rows(doors, [*rows(), other]), ratings=55).answers) == 55


def test_selected_flows_and_rows(doors):
    answers = read(doors, select={"sender": ["a window"]}).answers
    assert sorted(answers["flow"].unique()) == [3, 4, 5]
    assert set(read(doors, where={"HITId": "HIT1"}, ratings=9).answers["flow"]) == {1}


def question(**changes: Any) -> dict[str, Any]:
    return {"questions": {"people": {**WIDE["questions"]["people"], **changes}}}


CHECK = {"column": "Answer.coherency", "values": [0, 1], "then": "leave_out"}
#: A question whose answers are the levels of a long scale.
TENS = {"questions": {"people": {"text": "?", "column": "Answer.people"}}, "levels": range(-100, 101, 10)}


@pytest.mark.parametrize(
    ("changes", "cells", "message"),
    [
        ({"flow": "Input.id"}, {}, "has no column 'Input.id', which .*; did you mean 'Input.idx'"),
        ({}, {"Input.idx": 6}, "column 'Input.idx' has no flow of dataset 'doors'; allowed: 0 to 5"),
        ({}, {"Answer.people": 75}, "'Answer.people' has no rating; allowed: -100, -50, 0, 50, 100"),
        (TENS, {"Answer.people": 75}, "'Answer.people' has no rating; allowed: -100 to 100"),
        ({}, {"WorkerId": " "}, "the column 'WorkerId' is empty"),
        ({"ratings": 60}, {}, "ratings: 60 is stated, but .* has 54"),
        ({"where": {"HITId": "HIT9"}}, {}, "where.HITId: no row of .* has 'HIT9'"),
        ({"checks": [CHECK]}, {}, "no rating is left"),
        # A survey that names the wrong column must not show what is in it.
        ({"flow": "WorkerId"}, {}, "the column 'WorkerId' has no flow"),
        (question(column="WorkerId"), {}, "the column 'WorkerId' has no rating"),
    ],
)
def test_what_is_refused(doors, changes, cells, message):
    first, *others = rows()
    with pytest.raises(DataError, match=message) as caught:
        read(with_rows(doors, [{**first, **cells}, *others]), **changes)
    assert "the column" not in message or "doors.csv: line 2: " in str(caught.value)
    assert not any(name in str(caught.value) for name in IDS)


def test_running_numbers_follow_the_file_and_not_the_ids(doors):
    """Other ids in the same places give the same tables: nothing of an id is in them, not even a hash."""
    before = read(doors).answers
    other = {name: f"{i * 7919 % 97}-other" for i, name in enumerate(IDS)}
    changed = [{**row, "WorkerId": other[str(row["WorkerId"])]} for row in rows()]
    pd.testing.assert_frame_equal(read(with_rows(doors, changed)).answers, before)


def test_people_of_another_file_have_its_numbers_or_are_left_out(doors):
    with_rows(doors, [row for row in reversed(rows()) if row["WorkerId"] in IDS[3:7]], "first")
    numbered = {"url": "first.csv", "column": "WorkerId"}
    kept = read(doors, numbered_as=numbered)
    assert "in the file of numbered_as too: 4 people, keep" in kept.notes
    assert by_cell(kept).loc[(2, "0_0"), "level"] == (2 + 6) % 5 - 2
    others = read(doors, numbered_as={**numbered, "then": "leave_out"}).answers
    assert set(list_raters(others, "s", "q")["template_no"]) == set(range(4, 9))


@pytest.mark.slow
@needs_ratings
@pytest.mark.parametrize(
    ("tier", "raters", "ratings", "reliability"), [("2a", 26, 490, 0.583), ("2b", 46, 1960, 0.927)]
)
def test_confaide_s_ratings(folder, tmp_path, tier, raters, ratings, reliability):
    """The counts and reliabilities of ConfAIde's two surveys, from the ratings without ids."""
    survey, path = load_survey(folder / f"resources/ratings/confaide_{tier}.yaml"), tmp_path / "ratings.csv"
    confaide(tier).rename(columns=ORIGINAL).to_csv(path, index=False)
    answers = read_ratings(survey, "", path, pd.DataFrame({"flow": range(98)}), LEVELS, {}).answers
    assert len(answers) == ratings
    assert answers["flow"].nunique() == 98
    assert len(list_raters(answers, "s", "q")) == raters
    # What is published is of the mean of a flow's ratings.
    one, each = intraclass(level_matrix(answers)).estimate, ratings / 98
    assert each * one / (1 + (each - 1) * one) == pytest.approx(reliability, abs=5e-4)


# --- Surveys with a row per person


@pytest.fixture
def wide(doors: Path) -> Path:
    write_wide(doors / "ratings")
    return doors


def test_a_row_per_person_becomes_a_row_per_rating(wide, tmp_path):
    ratings = read(wide, WIDE)
    answers, at = ratings.answers, by_cell(ratings)
    tables.write(answers, tmp_path / "answers.parquet", tables.ANSWERS)
    # Four people of the first file about three flows, and four of the second about four; who answered nothing is none.
    assert len(answers) == 4 * 3 + 4 * 4
    assert at.loc[(2, "0_0"), "level"] == 2 - 2
    assert at.loc[(5, "4_0"), "level"] == (5 + 4) % 5 - 2  # the fifth person is the first of the second file
    assert at.loc[(0, "1_0"), "status"] == "empty"
    shown = at.loc[(1, "3_0"), ["status", "rule", "level"]].tolist()
    assert shown == ["not_a_rating", "don't know", pd.NA]
    assert "people who answered nothing, left out: 2" in ratings.notes
    assert "no rating (don't know): 2" in ratings.notes
    assert not any(name in answers.to_csv() + "".join(ratings.notes) for name in IDS)
    by_number = read(wide, WIDE, factors=None, flow="Num")  # a column of the file with the questions
    pd.testing.assert_frame_equal(by_number.answers, answers)


@pytest.mark.parametrize(("then", "n"), [("keep", 28), ("leave_out", 25)])
def test_who_gave_one_answer_throughout(wide, monkeypatch, then, n):
    monkeypatch.setattr("cinorms.human.ratings.MANY", 3)
    same = wide_csv(range(3), range(5)).replace(f"{IDS[2]},3,4,5", f"{IDS[2]},4,4,4")
    write_wide(wide / "ratings", a=same)
    ratings = read(wide, WIDE, one_answer=then)
    assert len(ratings.answers) == n
    assert f"one answer throughout: 1 people, {then}" in ratings.notes


@pytest.mark.parametrize(
    ("texts", "changes", "message"),
    [
        # The header, texts of questions with three line breaks, one person, an empty line: the second is on line 8.
        (
            {"a": wide_csv(range(3), range(5)).replace(f"{IDS[1]},,3", f"\n{IDS[1]},,7")},
            {},
            "/a.csv: line 8: .*8, 9",
        ),
        ({"b": "V1,Y\n,\n"}, {}, "b.csv: none of its columns is a question of .*asked.csv"),
        ({}, {"files": ["a.csv", "c.csv"]}, "has no file 'c.csv'"),
        ({}, {"raters": 9}, "raters: 9 is stated, but .* has 8"),
        ({}, {"ratings": 28}, "ratings: 28 is stated, but .* has 27"),
        ({}, {"rater": {"column": "V2"}}, "a.csv: has no column 'V2'"),
        ({}, {"questions_file": None}, "questions_file: is missing; layout: wide needs it"),
        ({}, {"layout": "long"}, "questions_file: is only for layout: wide"),
        ({}, question(column="Answer"), r"questions.people.column: is 'Answer'; allowed .*: 'answer'"),
        ({}, question(not_ratings={"5": "both"}), "not_ratings: '5' is among the values too"),
    ],
)
def test_what_is_refused_of_a_wide_survey(wide, texts, changes, message):
    write_wide(wide / "ratings", **texts)
    with pytest.raises((DataError, ConfigError), match=message) as caught:
        read(wide, WIDE, **changes)
    assert not any(name in str(caught.value) for name in IDS)


def test_a_damaged_or_encrypted_archive_gets_one_message(wide):
    archive = wide / "ratings/wide.zip"
    whole = archive.read_bytes()
    encrypted = bytearray(whole)
    for flags in (6, whole.index(b"PK\1\2") + 8):  # of the file and of the list of files
        encrypted[flags] = 1
    for data in (bytes(encrypted), b"", whole[:1], whole[: len(whole) // 2], whole[:-1]):
        archive.write_bytes(data)
        with pytest.raises(
            DataError, match=r"wide\.zip: cannot be read .*; give a zip archive without a pass"
        ):
            read(wide, WIDE)


def test_no_more_of_an_archive_is_unpacked_than_a_survey_has(wide, monkeypatch):
    size = len(wide_csv(range(2, 6), range(4, 9)))
    monkeypatch.setattr("cinorms.human.ratings.MOST_BYTES", size)
    read(wide, WIDE)
    monkeypatch.setattr("cinorms.human.ratings.MOST_BYTES", size - 1)
    with pytest.raises(DataError, match=r"wide\.zip/b\.csv: is larger than 0 MB; split it"):
        read(wide, WIDE)


@pytest.mark.slow
@needs_ratings
def test_the_survey_on_students_data(folder, tmp_path):
    """The numbers of ../shared/human/README.md, from the original archive."""
    flows = read_vignettes(load_dataset(folder / "resources/vignettes/education.yaml"), tmp_path)
    survey, here = load_survey(folder / "resources/ratings/education.yaml"), FOLDER / "hcomp2016"
    asked = here / "survey_questions.csv"
    answers, notes = read_ratings(survey, "", here / "surveys.zip", flows, (0, 1), {}, asked)
    said = answers.loc[answers["status"] == "not_a_rating", "rule"].value_counts()
    assert sorted(said[said > 0]) == [671, 2604, 4458]
    ratings = answers[answers["status"] == "ok"]
    assert ratings["level"].value_counts().to_dict() == {0: 20313, 1: 14892}
    assert (answers["status"] == "empty").sum() == 43561 - 42938
    by = ratings.groupby("variant", observed=True)["level"].agg(["nunique", "size"])
    alike = by.loc[by["nunique"] == 1, "size"]
    assert (len(alike), min(alike)) == (32, 8)
    assert any("one answer throughout: 31 people" in note for note in notes)
    assert ratings["flow"].nunique() == 1411
    # Every question of the survey is a flow of the dataset, in the survey's words.
    assert set(pd.read_csv(asked)["QText"]) <= {f"Is it acceptable for {flow}?" for flow in flows["vignette"]}
