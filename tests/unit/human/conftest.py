"""A survey in the layout of ConfAIde's files, with ids that are found again wherever they leak to."""

from pathlib import Path

import pytest

from ...snakemake_runs import write_yaml
from .surveys import DATASET, SURVEY, as_csv


@pytest.fixture
def folder_of_survey(tmp_path: Path) -> Path:
    """Return a folder with the dataset ``doors`` and the survey ``doors_survey`` of it, as a user has them."""
    write_yaml(tmp_path / "vignettes/doors.yaml", DATASET)
    write_yaml(tmp_path / "ratings/doors_survey.yaml", SURVEY)
    (tmp_path / "ratings/doors.csv").write_text(as_csv(), encoding="utf-8")
    return tmp_path
