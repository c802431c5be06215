"""A cluster as universities have it: what it refuses, before a job and after, and a run as its users do it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..faults.server import Endpoint
from ..snakemake_runs import write_yaml
from .cluster import Site
from .project import ARM, Project

VLLM = {"engine": "vllm", "source": "org/model", "family": "f", "capacity": 8, "gpus": 1, "wrap": "none"}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def refused(site: Site, endpoint: Endpoint) -> Project:
    """Return a project whose jobs SLURM may refuse: one model behind an endpoint, and one on a GPU."""
    return project_of(site, "refused", endpoint, "remote", big=VLLM)


def project_of(site: Site, name: str, endpoint: Endpoint, *models: str, **entries: Any) -> Project:
    """Return a project with models behind an endpoint, in a folder that the user of the site can enter."""
    entry = {"engine": "openai", "source": "gpt-planted", "family": "api", "base_url": endpoint.url}
    arms = {"main": {**ARM, "templates": 3}}
    return Project(site.folder / name, site, {**dict.fromkeys(models, entry), **entries}, arms=arms)


def add_profile(folder: Path, **rules: Any) -> str:
    """Write the part of a profile that a site has of its own, and return its name."""
    usual = rules.pop("usual", {"slurm_account": "lab"})
    stated = {"default-resources": {**usual, "runtime": "60 * attempt"}}
    write_yaml(folder / "site/config.yaml", stated | ({"set-resources": rules} if rules else {}))
    return str(folder / "site")


@pytest.mark.parametrize(
    ("usual", "rules", "refusals"),
    [
        (
            {},
            {"ask_vllm": {"slurm_partition": "gpus"}},
            {
                "ask_openai": ("Job violates accounting/QOS policy", "slurm_account"),
                "ask_vllm": ("Invalid partition name", "slurm_partition"),
            },
        ),
        (
            {"slurm_account": "nope"},
            {"ask_vllm": {"slurm_partition": "gpu"}},
            {"ask_openai": ("Invalid account or account/partition", "slurm_account")},
        ),
        (
            {"slurm_account": "lab"},
            {"ask_openai": {"runtime": 1440}, "ask_vllm": {"slurm_partition": "short"}},
            {
                "ask_openai": ("Requested time limit is invalid", "runtime"),
                "ask_vllm": ("Requested node configuration is not", "gpu"),
            },
        ),
    ],
)
def test_each_refusal_is_told_before_the_first_job(site, refused, usual, rules, refusals):
    before = len(site.jobs())
    profile = add_profile(refused.folder, usual=usual, **rules)
    profiles = ("--profile", "profiles/slurm", "--profile", profile)
    lines = refused.call("cinorms.run.check", "--configfile", "trial.yaml", *profiles).splitlines()
    for rule, (reason, key) in refusals.items():
        (found,) = (at for at, line in enumerate(lines) if re.match(rf"error +slurm +{rule} ", line))
        assert "SLURM would refuse it: " in lines[found]
        assert reason in lines[found]
        assert key in lines[found + 1]
    assert len(site.jobs()) == before, "nothing is queued"


def test_a_new_study_comes_to_its_report_as_readme_says(site, endpoint):
    project = project_of(site, "whole", endpoint)
    where = ("--endpoint", endpoint.url, "--model", "remote")
    project.call("cinorms", "new", "clinic", "--context", "a public library", *where)
    project.environment["SBATCH_PARTITION"] = "short"
    before = len(endpoint.asked)
    printed = project.start("--profile", add_profile(project.folder), study="clinic/study.yaml").end()
    assert re.search(r"Report +results/clinic/report/index.html", printed)
    assert len(endpoint.asked) == before + 4 * 11 * 3
    job = site.job_of("clinic_remote")
    assert job["JobState"] == "COMPLETED"
    assert job["UserId"].startswith(site.user)
    assert (job["Account"], job["Partition"], job["TimeLimit"]) == ("lab", "short", "00:31:00")
    assert job["JobName"].startswith("cinorms_")
    assert job["Comment"] == "rule_ask_openai_wildcards_clinic_remote_1-of-1"


def test_a_refusal_after_the_checks_is_told_in_slurms_words(site, endpoint):
    """The account may have one job at a time: SLURM would take each, and refuses the second."""
    project = project_of(site, "second", endpoint, "one", "two")
    project.environment["PYTHONPATH"] = str(project.folder / "workflow/lib")
    site.ask("sacctmgr", "--immediate", "modify", "account", "lab", "set", "MaxSubmitJobs=1")
    before = len(site.jobs())
    try:
        options = ("--profile", add_profile(project.folder), "--logger", "cinorms", "--retries", "0")
        printed = project.start(*options).end(1)
    finally:
        site.ask("sacctmgr", "--immediate", "modify", "account", "lab", "set", "MaxSubmitJobs=-1")
    assert len(site.jobs()) == before + 1
    assert printed.count("SLURM refused it: ") == 1
    assert "Job violates accounting/QOS policy" in printed
    assert "slurm_account" in printed
    assert "1 job failed" in printed
