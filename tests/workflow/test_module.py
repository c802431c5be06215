"""Used by another workflow: each form of a module gets its own study, and never the demo in silence."""

import copy
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from ..snakemake_runs import ROOT, run, snakemake
from ..wheel import install_wheel
from .conftest import MAIN, SMALL, Project

#: What snakedeploy writes, with a name for the rules and the caller's own default target.
CALLER = """
{configfile}

module cinorms:
    snakefile: {snakefile}
{more}

use rule * from cinorms as cinorms_*

rule mine:
    default_target: True
    input: rules.cinorms_all.input
    output: "done.txt"
    shell: "echo '{{input}}' >{{output}}; ! command -v nosuch"
"""
#: A rule of the caller's own that takes one table.
MINE = """
rule first:
    input: "results/tiny/tables/answers.csv"
    output: "first.txt"
    shell: "head -2 {input} >{output}"
"""
LOCAL = repr(str(ROOT / "workflow/Snakefile"))


class Caller:
    """Another workflow, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder.parent / "cache"
        (folder / "config").mkdir(parents=True)

    def write(self, study: dict[str, Any], snakefile: str = LOCAL, **directives: str) -> None:
        """Write the caller's Snakefile and its config; ``directives`` are further ones of the module."""
        (self.folder / "config/study.yaml").write_text(yaml.safe_dump(study), encoding="utf-8")
        stated = {"config": "config", **directives}
        more = "\n".join(f"    {name}: {value}" for name, value in stated.items() if value)
        text = CALLER.format(configfile='configfile: "config/study.yaml"', snakefile=snakefile, more=more)
        (self.folder / "Snakefile").write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of Snakemake: it has a cache of its own and no network."""
        kept = {k: v for k, v in os.environ.items() if k not in ("CINORMS_MIRROR", "PYTHONPATH")}
        return kept | {"XDG_CACHE_HOME": str(self.cache), "https_proxy": "http://127.0.0.1:9"}

    def run(self, *arguments: str, cwd: Path | None = None, ok: bool = True) -> str:
        """Run Snakemake and return what it printed."""
        return snakemake(cwd or self.folder, *arguments, code=0 if ok else 1, environment=self.environment)


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """Return another workflow."""
    return Caller(tmp_path / "caller")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with what is here now, as tag v7; the branch has gone on and cannot run."""
    folder = Project(tmp_path_factory.mktemp("repository") / "cinorms").folder
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "What is here")
    git(folder, "tag", "v7")
    git(folder, "rm", "-r", "--quiet", "workflow/lib", "config", "resources")
    git(folder, "commit", "--quiet", "--message", "Nothing that can run")
    return folder


def git(folder: Path, *arguments: str) -> None:
    identity = {f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **identity}, check=True)


def github(repository: Path, caller: Caller) -> str:
    """Return the form of GitHub, whose repository Snakemake has cloned before."""
    clone = caller.cache / "snakemake/snakemake/source-cache/snakemake-git-cache/github.com/owner/cinorms"
    git(repository, "clone", "--quiet", "--bare", str(repository), str(clone))
    return 'github("owner/cinorms", path="workflow/Snakefile", tag="v7")'


def check_study(results: Path) -> None:
    """Check that the study SMALL has been run to its end in ``results``."""
    counts = pd.read_csv(results / "tables/answers.csv")
    assert sorted(counts["model"].unique()) == sorted(SMALL["models"])
    assert counts["count"].sum() == 2 * 216 * 5
    assert (results / "figures/distribution.pdf").stat().st_size > 5_000
    assert "study tiny" in (results / "report/index.html").read_text(encoding="utf-8")


def test_with_a_prefix_everything_is_below_it(caller):
    caller.write(SMALL, prefix='"audit"')
    caller.run()
    check_study(caller.folder / "audit/results/tiny")
    made = {path.name for path in caller.folder.iterdir()}
    assert made == {".snakemake", "Snakefile", "audit", "config", "done.txt"}
    report = (caller.folder / "audit/results/tiny/report/appendix.html").read_text(encoding="utf-8")
    assert "--force -- audit/results/tiny/tables/answers.csv" in report
    assert "Nothing to be done" in caller.run()
    planned = caller.run("--", "audit/results/tiny/plan.csv")
    assert "planted-constant-position" in planned
    assert "in the store: nothing is left to ask." in planned


def test_in_another_directory_a_single_target_is_made_there(caller, tmp_path):
    """The target is of a kind of the user's own, which the page on own folders shows."""
    elsewhere = tmp_path / "elsewhere"
    page = (ROOT / "config/README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(# mine/analyses/ends.py: .*?)```", page, re.DOTALL)
    (elsewhere / "mine/analyses").mkdir(parents=True)
    (elsewhere / "mine/analyses/ends.py").write_text(code, encoding="utf-8")
    caller.write({**SMALL, "resources": ["mine"], "analyses": {"ends": {"kind": "ends", "arms": ["main"]}}})
    shutil.copytree(caller.folder / "config", elsewhere / "config")
    target = "results/tiny/tables/ends.csv"
    caller.run("--snakefile", "caller/Snakefile", "--directory", "elsewhere", "--", target, cwd=tmp_path)
    made = pd.read_csv(elsewhere / target).set_index("model")["share"]
    assert set(made.index) == set(SMALL["models"])
    assert 0 < made["planted-gpt-4o-mini"] < 1
    assert not (elsewhere / "results/tiny/report").exists()
    assert not (caller.folder / "results").exists()


def test_fetched_from_git_it_is_the_tag_with_all_its_files(caller, repository):
    caller.write(SMALL, github(repository, caller))
    caller.run("--", "cinorms_all")
    check_study(caller.folder / "results/tiny")
    assert "Nothing to be done" in caller.run("-n", "--", "cinorms_all")
    (unpacked,) = (caller.cache / "snakemake/snakemake/source-cache/cinorms").iterdir()
    assert (unpacked / "workflow/lib/cinorms/__init__.py").is_file()
    assert len(unpacked.name) == 40


@pytest.mark.slow
def test_beside_an_installed_wheel_a_rule_of_ones_own_takes_one_table_of_the_tag(
    caller, repository, tmp_path
):
    """Which cinorms is installed makes no difference: here it is one that cannot be imported."""
    programs, site = install_wheel(tmp_path / "wheel")
    (site / "cinorms/__init__.py").write_text("raise ImportError('the installed one')", encoding="utf-8")
    caller.write(SMALL, repr(f"git+file://{repository}/workflow/Snakefile@v7"))
    with (caller.folder / "Snakefile").open("a", encoding="utf-8") as file:
        file.write(MINE)
    environment = {**caller.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
    command = [programs / "python", "-m", "snakemake", "--cores", "2", "--", "first.txt"]
    run(command, caller.folder, environment=environment)
    assert len((caller.folder / "first.txt").read_text(encoding="utf-8").splitlines()) == 2
    assert not (caller.folder / "results/tiny/report").exists()
    assert "Nothing to be done" in run(command, caller.folder, environment=environment)


def test_the_command_line_changes_the_study_of_a_module(caller):
    caller.write(SMALL)
    printed = caller.run("-n", "--config", "study=other")
    assert "results/other/report/index.html" in printed
    assert "results/tiny" not in printed


def test_two_modules_have_two_studies(caller):
    caller.write({"one": {**SMALL, "study": "one"}, "two": {**SMALL, "study": "two"}}, config='config["one"]')
    text = (caller.folder / "Snakefile").read_text(encoding="utf-8")
    second = text[text.index("module cinorms") : text.index("rule mine")].replace('"one"', '"two"')
    for words in ("cinorms:", "from cinorms", "as cinorms_"):
        second = second.replace(words, words.replace("cinorms", "second"))
    text = text.replace("rule mine", f"{second}\nrule mine")
    (caller.folder / "Snakefile").write_text(text, encoding="utf-8")
    printed = caller.run("-n", "--", "cinorms_all", "second_all")
    for study in ("one", "two"):
        assert f"results/{study}/report/index.html" in printed


def test_a_snakefile_that_includes_it_has_its_own_config(caller):
    caller.write(SMALL)
    text = f'configfile: "config/study.yaml"\ninclude: {LOCAL}\n'
    (caller.folder / "Snakefile").write_text(text, encoding="utf-8")
    assert "results/tiny/report/index.html" in caller.run("-n", "--", "all")
    assert "results/other/report/index.html" in caller.run("-n", "--config", "study=other", "--", "all")


@pytest.mark.parametrize(
    ("study", "directives", "message"),
    [
        (SMALL, {"config": ""}, "key 'study' is missing; the module has nothing."),
        ({"samples": 1}, {}, "key 'study' is missing; the module has samples."),
        (
            {**SMALL, "models": ["gpt"]},
            {},
            "config of module 'cinorms' (config/study.yaml): models: 'gpt' is not a model",
        ),
    ],
)
def test_a_module_without_its_study_is_refused(caller, study, directives, message):
    caller.write(copy.deepcopy(study), **directives)
    printed = caller.run("-n", ok=False)
    assert message in printed
    assert "Traceback" not in printed
    assert "results/demo" not in printed


def test_paraphrases_are_not_made_where_nobody_finds_them(caller, repository):
    arm = {**MAIN, "prompts": "planted_paraphrases"}
    clone = repr(f"git+file://{repository}/workflow/Snakefile@v7")
    caller.write({**SMALL, "arms": {"main": arm}}, clone)
    printed = caller.run("-n", ok=False)
    assert "resources/prompts/planted_paraphrases.yaml: its paraphrases do not exist yet" in printed
    mine = caller.folder / "mine/prompts"
    mine.mkdir(parents=True)
    shutil.copy(ROOT / "resources/prompts/planted_paraphrases.yaml", mine)
    study = {**SMALL, "arms": {"main": arm}, "resources": ["mine"]}
    caller.write(study, clone, prefix='"audit"')
    caller.run("--", "audit/results/tiny/prompts/main.parquet")
    assert (mine / "frozen/planted_paraphrases.yaml").is_file()
    assert "Nothing to be done" in caller.run("--", "audit/results/tiny/prompts/main.parquet")


def test_a_missing_package_is_one_message(caller, tmp_path):
    caller.write(SMALL)
    hiding = tmp_path / "hiding"
    hiding.mkdir()
    (hiding / "sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n", encoding="utf-8")
    printed = snakemake(caller.folder, "-n", code=1, environment={**os.environ, "PYTHONPATH": str(hiding)})
    assert "The package 'pyarrow' is not installed" in printed
    assert "-m pip install -r" in printed
    assert "Traceback" not in printed


def test_what_snakedeploy_writes_plans_the_config_of_its_folder(caller):
    shutil.copytree(ROOT / "config", caller.folder / "config", dirs_exist_ok=True)
    (caller.folder / "workflow").mkdir()
    (caller.folder / "workflow/Snakefile").write_text(
        f'configfile: "config/config.yaml"\n\nmodule cinorms:\n    snakefile: {LOCAL}\n    config: config\n\n'
        "use rule * from cinorms\n",
        encoding="utf-8",
    )
    config = caller.folder / "config/config.yaml"
    assert "results/demo/report/index.html" in caller.run("-n")
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    registry = {"my-own": {"engine": "planted", "family": "mine", "planted": {"noise": 1}}}
    (caller.folder / "config/models.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
    settings |= {**SMALL, "models": ["my-own"], "resources": ["config"]}
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")
    printed = caller.run("-n")
    assert "results/tiny/responses/main/my-own.parquet" in printed
    assert "results/demo" not in printed
