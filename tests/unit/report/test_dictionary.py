"""The data dictionary: every file and column, and an error for a column that nothing describes."""

import pytest

from cinorms.core.csv_tables import CSV_TABLES
from cinorms.core.errors import DataError
from cinorms.core.tables import STAGES
from cinorms.report.description import facts_of
from cinorms.report.dictionary import described_files, dictionary
from cinorms.study.facts import StudyFacts

from ...studies import Build


@pytest.fixture(scope="module")
def study(build_study: Build) -> StudyFacts:
    return facts_of(build_study())


@pytest.fixture
def headers(study: StudyFacts) -> dict[str, list[str]]:
    """Return the columns that the default study's files have, as their kinds declare them."""
    found = {
        f"{folder}/{name}.csv": [column for column in entry.meanings if not column.startswith("<")]
        for folder, section in (("tables", "analyses"), ("figures", "figures"))
        for name, entry in getattr(study, section).items()
    }
    assert {*found, "norms.csv"} == set(described_files(study))
    return {
        **found,
        "norms.csv": ["model", "flow", "sender"],
        "tables/norm-regression.csv": ["term", "estimate", "any_planted"],
    }


def test_every_file_of_the_study_is_there(study, headers):
    table = dictionary(study, headers)
    files = set(table["file"])
    assert {"norms.csv", *(f"tables/{name}.csv" for name in study.analyses)} <= files
    assert {f"figures/{name}.csv" for name in study.figures} <= files
    stages = {contract.file.removeprefix("results/{study}/") for contract in STAGES}
    unmade = {"coding/codes.parquet", "coding/{scale}/readings.parquet"}
    assert stages - files == unmade
    # This study makes none of these.
    absent = {"comparison.csv", "images.csv", "sentences.csv", "answers/overrides.csv"}
    absent |= {"coding/to_code.csv", "coding/agreement.csv"}
    assert {one.file for one in CSV_TABLES} - files == absent
    assert table.loc[table["column"].notna(), "description"].str.endswith(".").all()
    regression = table[table["file"] == "tables/norm-regression.csv"].set_index("column")["description"]
    assert regression["estimate"].startswith("Change from the baseline")
    assert "planted" in regression["any_planted"]
    norms = table[table["file"] == "norms.csv"].set_index("column")["description"]
    assert norms["sender"] == "Level of each factor of the dataset, in words."
    assert "planted-gpt-4o-mini: simulated A (gpt-like); " in norms["model"]


def test_a_column_that_nothing_describes_is_an_error(study, headers):
    with pytest.raises(DataError, match=r"tables/norm-regression\.csv: nothing describes column 'new'"):
        dictionary(study, {**headers, "tables/norm-regression.csv": ["term", "new"]})
