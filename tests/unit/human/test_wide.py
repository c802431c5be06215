"""Surveys with a row per person: what is read from them, and the numbers of the survey on students' data."""

import copy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.human.ratings import Ratings, read_ratings
from cinorms.human.survey import load_survey
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...shared_ratings import FOLDER, needs_ratings
from ...snakemake_runs import write_yaml
from .surveys import IDS, WIDE, wide_csv, write_wide

LEVELS = (-2, -1, 0, 1, 2)


def read(folder: Path, texts: dict[str, str] | None = None, **changes: Any) -> Ratings:
    """Return the ratings of the wide survey, with ``changes`` of what it declares, and other ``texts`` of its files."""
    write_wide(folder / "ratings", **(texts or {}))
    survey = {key: value for key, value in {**copy.deepcopy(WIDE), **changes}.items() if value is not None}
    write_yaml(folder / "ratings/wide.yaml", survey)
    flows = read_vignettes(load_dataset(folder / "vignettes/doors.yaml"), folder)
    at = folder / "ratings"
    return read_ratings(
        load_survey(at / "wide.yaml"), "", at / "wide.zip", flows, LEVELS, {}, at / "asked.csv"
    )


def test_a_row_per_person_becomes_a_row_per_rating(folder_of_survey, tmp_path):
    ratings = read(folder_of_survey)
    answers = ratings.answers
    tables.write(answers, tmp_path / "answers.parquet", tables.ANSWERS)
    # Four people of the first file about three flows, and four of the second about four; who answered nothing is none.
    assert len(answers) == 4 * 3 + 4 * 4
    at = answers.set_index(["flow", answers["variant"].astype(str)])
    assert at.loc[(2, "0_0"), "level"] == 2 - 2
    assert at.loc[(5, "4_0"), "level"] == (5 + 4) % 5 - 2  # the fifth person is the first of the second file
    assert at.loc[(0, "1_0"), "status"] == "empty"
    assert at.loc[(1, "3_0"), ["status", "rule"]].tolist() == ["not_a_rating", "don't know"]
    assert pd.isna(at.loc[(1, "3_0"), "level"])
    assert "people who answered nothing, left out: 2" in ratings.notes
    assert "no rating (don't know): 2" in ratings.notes
    assert not any(name in answers.to_csv() + "".join(ratings.notes) for name in IDS)


def test_who_gave_one_answer_throughout(folder_of_survey, monkeypatch):
    monkeypatch.setattr("cinorms.human.ratings.MANY", 3)
    same = wide_csv(range(3), range(5)).replace(f"{IDS[2]},3,4,5", f"{IDS[2]},4,4,4")
    for then, n in (("keep", 28), ("leave_out", 25)):
        ratings = read(folder_of_survey, {"a": same}, one_answer=then)
        assert len(ratings.answers) == n
        assert f"one answer throughout: 1 people, {then}" in ratings.notes


@pytest.mark.parametrize(
    ("texts", "changes", "message"),
    [
        # The header, texts of questions with three line breaks, one person: the second is on line 7.
        ({"a": wide_csv(range(3), range(5)).replace(",,3,4", ",,7,4")}, {}, "wide.zip/a.csv: line 7: .*8, 9"),
        ({"b": "V1,Y\n,\n"}, {}, "b.csv: none of its columns is a question of .*asked.csv"),
        ({}, {"files": ["a.csv", "c.csv"]}, "has no file 'c.csv'"),
        ({}, {"raters": 9}, "raters: 9 is stated, but .* has 8"),
        ({}, {"ratings": 28}, "ratings: 28 is stated, but .* has 27"),
        ({}, {"rater": {"column": "V2"}}, "a.csv: has no column 'V2'"),
    ],
)
def test_what_is_refused(folder_of_survey, texts, changes, message):
    with pytest.raises(DataError, match=message) as caught:
        read(folder_of_survey, texts, **changes)
    assert not any(name in str(caught.value) for name in IDS)


def test_keys_that_do_not_fit_the_layout(folder_of_survey):
    with pytest.raises(ConfigError, match="questions_file: is missing; layout: wide needs it"):
        read(folder_of_survey, questions_file=None)
    with pytest.raises(ConfigError, match="questions_file: is only for layout: wide"):
        read(folder_of_survey, layout="long")
    asked = {"people": {**WIDE["questions"]["people"], "column": "Answer"}}
    with pytest.raises(ConfigError, match=r"questions.people.column: is 'Answer'; allowed .*: 'answer'"):
        read(folder_of_survey, questions=asked)
    asked = {"people": {**WIDE["questions"]["people"], "not_ratings": {"5": "both"}}}
    with pytest.raises(ConfigError, match="not_ratings: '5' is among the values too"):
        read(folder_of_survey, questions=asked)


@pytest.mark.slow
@needs_ratings
def test_the_survey_on_students_data(folder, tmp_path):
    """The numbers of ../shared/human/README.md, from the original archive."""
    flows = read_vignettes(load_dataset(folder / "resources/vignettes/education.yaml"), tmp_path)
    survey, here = load_survey(folder / "resources/ratings/education.yaml"), FOLDER / "hcomp2016"
    archive, asked = here / "surveys.zip", here / "survey_questions.csv"
    answers, notes = read_ratings(survey, "", archive, flows, (0, 1), {}, asked)[:2]
    said = answers.loc[answers["status"] == "not_a_rating", "rule"].value_counts()
    assert sorted(said[said > 0]) == [671, 2604, 4458]
    ratings = answers[answers["status"] == "ok"]
    assert ratings["level"].value_counts().to_dict() == {0: 20313, 1: 14892}
    assert (answers["status"] == "empty").sum() == 43561 - 42938
    by = ratings.groupby("variant", observed=True)["level"].agg(["nunique", "size"])
    alike = by.loc[by["nunique"] == 1, "size"]
    assert (len(alike), sorted(alike)[0]) == (32, 8)
    assert any("one answer throughout: 31 people" in note for note in notes)
    assert ratings["flow"].nunique() == 1411
    # Every question of the survey is a flow of the dataset, in the survey's words.
    texts = pd.read_csv(asked)["QText"]
    assert set(texts) <= {f"Is it acceptable for {flow}?" for flow in flows["vignette"]}


def test_a_damaged_or_encrypted_archive_gets_one_message(folder_of_survey):
    at = folder_of_survey / "ratings"
    read(folder_of_survey)
    survey = load_survey(at / "wide.yaml")
    flows = read_vignettes(load_dataset(at / "../vignettes/doors.yaml"), at)
    whole = (at / "wide.zip").read_bytes()
    encrypted = bytearray(whole)
    for flags in (6, whole.index(b"PK\1\2") + 8):  # of the file and of the list of files
        encrypted[flags] = 1
    for data in (bytes(encrypted), b"", whole[:1], whole[: len(whole) // 2], whole[:-1]):
        (at / "wide.zip").write_bytes(data)
        with pytest.raises(
            DataError, match=r"wide\.zip: cannot be read .*; give a zip archive without a pass"
        ):
            read_ratings(survey, "", at / "wide.zip", flows, LEVELS, {}, at / "asked.csv")
