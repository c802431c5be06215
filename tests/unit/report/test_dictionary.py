"""The data dictionary: every file and column, and an error for a column that nothing describes."""

from pathlib import Path

import pytest

from cinorms.core.csv_tables import CSV_TABLES, TO_CODE
from cinorms.core.errors import DataError
from cinorms.core.tables import STAGES
from cinorms.report.description import metadata_of
from cinorms.report.dictionary import described_files, dictionary
from cinorms.study.metadata import StudyMetadata

from ...studies import Build

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def study(build_study: Build) -> StudyMetadata:
    return metadata_of(build_study())


@pytest.fixture
def headers(study: StudyMetadata) -> dict[str, list[str]]:
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


@pytest.mark.parametrize(
    "table", [table for table in CSV_TABLES if table is not TO_CODE], ids=lambda table: table.name
)
def test_a_rule_makes_every_file_for_people(table):
    """But for the sheet that a person fills in, which Snakemake would remove."""
    rules = (path.read_text(encoding="utf-8") for path in (ROOT / "workflow/rules").glob("*.smk"))
    assert f'/{table.file}"' in "".join(rules)


def test_every_file_of_the_study_is_there(study, headers):
    table = dictionary(study, headers)
    files = set(table["file"])
    assert {"norms.csv", *(f"tables/{name}.csv" for name in study.analyses)} <= files
    assert {f"figures/{name}.csv" for name in study.figures} <= files
    stages = {schema.file.removeprefix("results/{study}/") for schema in STAGES}
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
