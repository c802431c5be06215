"""A whole planted study through the profile, and one figure of it again."""

import re

import pytest

from ..faults.server import Endpoint
from ..snakemake_runs import write_yaml
from .cluster import Cluster
from .project import Project

MODELS = ["planted-gpt-4o-mini", "planted-llama-3.1-8b", "planted-tulu-2-7b"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> Project:
    return Project(tmp_path_factory.mktemp("study") / "project", cluster, {}, models=MODELS)


def test_a_planted_study_comes_to_its_report_with_a_job_for_each_respondent(project, cluster):
    before = len(cluster.jobs())
    printed = project.run()
    assert re.search(r"Report +results/trial/report/index.html", printed)
    submitted = cluster.jobs()[before:]
    assert [job["Comment"].partition("_wildcards_")[0] for job in submitted] == ["rule_ask_planted"] * len(
        MODELS
    )


def test_a_partition_that_does_not_exist_is_refused_before_anything_is_submitted(cluster, tmp_path):
    before = cluster.last_job()
    with Endpoint() as endpoint:
        entry = {"engine": "openai", "source": "gpt-planted", "family": "api", "base_url": endpoint.url}
        project = Project(tmp_path / "project", cluster, {"asked": entry})
        again = ["--default-resources", "slurm_partition=nosuch", "--", "results/trial/provenance.json"]
        printed = project.start(*again).end(1)
    assert (
        "error    slurm        ask_openai asked 1-of-1: SLURM would refuse it: "
        "invalid partition specified: nosuch; Invalid partition name" in printed
    )
    assert "Nothing was asked." in printed
    assert cluster.last_job() == before


def test_the_status_is_read_on_the_machine_that_submitted(project):
    about = ("--configfile", "trial.yaml")
    assert "Study trial: 3 done" in project.call("cinorms.run.status", *about)
    checked = project.call("cinorms.run.check", *about, "--profile", "profiles/slurm")
    assert "skipped  slurm        nothing to check" in checked


def test_a_figure_alone_submits_no_job(project, cluster):
    before = cluster.last_job()
    project.study["figures"]["distribution"]["title"] = "Another title"
    write_yaml(project.folder / "trial.yaml", project.study)
    printed = project.run("--", "results/trial/figures/distribution.png")
    assert "draw_figure" in printed
    assert cluster.last_job() == before
    caption = project.folder / "results/trial/figures/distribution.txt"
    assert caption.stat().st_mtime > (project.folder / "trial.yaml").stat().st_mtime
