"""Snakemake's own report has the page, the cards, figures and tables, each with its caption, category and label."""

from __future__ import annotations

import zipfile

import pytest

from .conftest import Project


@pytest.mark.slow
def test_snakemakes_report_shows_what_a_study_made(finished: Project) -> None:
    finished.run("--configfile", "tiny.yaml", "--report", "report.zip")
    with zipfile.ZipFile(finished.folder / "report.zip") as archive:
        text = archive.read("report/report.html").decode("utf-8")
        kept = {name.rpartition("/")[2] for name in archive.namelist()}
    assert {"index.html", "distribution.png", "answers.csv", "planted-gpt-4o-mini.md"} <= kept
    for category in ("Report", "Norm cards", "Figures", "Tables"):
        assert f'"{category}"' in text, category
    for caption in (
        "for readers who do not run Python",
        "Norm card of",
        "Nothing is filtered",
        "answer_counts",
    ):
        assert caption in text, caption
    assert "Planted respondents: no model gave their answers." in text
    for label in ("the whole report", "for people", "planted-gpt-4o-mini"):
        assert f'"{label}"' in text, label
