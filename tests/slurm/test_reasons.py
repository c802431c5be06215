"""Why a job was refused, or ended outside of our code: the terminal shows what SLURM and the site say."""

import re
from collections.abc import Iterator

import pytest

from ..snakemake_runs import write_yaml
from .cluster import ASKED_FOR, Strict
from .project import ARM, Project

MODELS = ["planted-gpt-4o-mini", "planted-llama-3.1-8b"]


@pytest.fixture(scope="module")
def strict() -> Iterator[Strict]:
    with Strict() as running:
        yield running


@pytest.fixture
def project(strict: Strict, tmp_path_factory: pytest.TempPathFactory) -> Project:
    arms = {"main": {**ARM, "templates": 3}}
    found = Project(tmp_path_factory.mktemp("strict") / "project", strict, {}, models=MODELS, arms=arms)
    found.environment["PYTHONPATH"] = str(found.folder / "workflow/lib")
    return found


def run(project: Project, needs: dict[str, object]) -> str:
    """Run until the simulated respondents have answered, which they cannot; return what is printed."""
    write_yaml(
        project.folder / "site/config.yaml", {"set-resources": {"ask_planted": needs}} if needs else {}
    )
    options = ("--profile", "site", "--logger", "cinorms", "--", "results/trial/provenance.json")
    return project.start(*options).end(1)


def test_a_site_s_own_rule_is_shown_with_the_key_to_set(strict, project):
    before = len(strict.jobs())
    checked = project.call("cinorms.run.check", "--configfile", "trial.yaml", "--profile", "profiles/slurm")
    printed = run(project, {})
    for text in (checked, printed):
        (at,) = (at for at, line in enumerate(text.splitlines()) if ASKED_FOR in line)
        first, second = text.splitlines()[at : at + 2]
        assert "SLURM would refuse it: " in first
        assert "set slurm_partition in `set-resources: ask_planted` of your profile" in second
    assert len(strict.jobs()) == before, "nothing is queued"


def test_a_job_that_its_memory_ends_says_so_at_each_try(strict, project):
    before = len(strict.jobs())
    printed = run(project, {"slurm_partition": "cpu", "mem_mb": 20})
    tries = len(strict.jobs()) - before
    assert tries == len(MODELS) * 3, "as often as the profile says"
    for model in MODELS:
        assert printed.count(f"ask_planted main {model} is tried again: SLURM ended job ") == 2
        log = f"logs/slurm/rule_ask_planted/trial_main_{model}/"
        assert f"(SLURM's log: {log}" in printed
    assert len(re.findall("is tried again: .*: it needed more memory than it asked for", printed)) == 4
    assert "exceeded memory limit" in printed
    assert "(exit code " in printed
    assert "2 jobs failed" in printed


def test_where_srun_fails_no_job_is_tried_three_times(strict, project):
    before = len(strict.jobs())
    with strict.broken_srun() as says:
        printed = run(project, {"slurm_partition": "cpu"})
    assert says in printed
    assert "as it would in every job: none is tried again" in printed
    # What Snakemake had begun to try again when it heard of it.
    assert len(strict.jobs()) - before <= len(MODELS) * 2
