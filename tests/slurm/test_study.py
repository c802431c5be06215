"""A whole planted study through the profile, and one figure of it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from .cluster import Cluster
from .project import Project

MODELS = ["planted-gpt-4o-mini", "planted-llama-3.1-8b", "planted-tulu-2-7b"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Project:
    return Project(tmp_path_factory.mktemp("study") / "project", cluster, {}, models=MODELS)


def test_a_planted_study_gives_what_it_gives_here(project: Project, cluster: Cluster, tmp_path: Path) -> None:
    before = cluster.last_job()
    printed = project.run()
    assert "Report   results/trial/report/index.html" in printed
    jobs = [job for job in cluster.jobs() if int(job["JobId"]) > before]
    assert [job["JobState"] for job in jobs] == ["COMPLETED"] * len(MODELS), "only models are asked in jobs"
    assert all("rule_ask_planted" in job["Comment"] for job in jobs)

    here = Project(tmp_path / "here", cluster, {}, models=MODELS)
    here.run(local=True)
    for folder in ("responses", "answers", "norms", "tables"):
        assert project.content(folder) == here.content(folder)
        assert project.content(folder)


def test_a_figure_alone_submits_no_job(project: Project, cluster: Cluster) -> None:
    before = cluster.last_job()
    project.study["figures"]["distribution"]["title"] = "Another title"
    project.write("trial.yaml", project.study)
    printed = project.run("--", "results/trial/figures/distribution.png")
    assert "draw_figure" in printed
    assert cluster.last_job() == before
    caption = project.folder / "results/trial/figures/distribution.txt"
    assert caption.stat().st_mtime > (project.folder / "trial.yaml").stat().st_mtime
