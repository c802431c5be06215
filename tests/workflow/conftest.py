"""Workflow tests run real Snakemake on a copy of the project, on a study of a few hundred flows."""

import os
from pathlib import Path

import pytest

from ..snakemake_runs import copy_project, snakemake, write_yaml

SELECT = {"sender": ["a fitness tracker"], "recipient": ["its manufacturer", "the local police"]}
MAIN = {"dataset": "iot", "prompts": "chatgpt", "select": SELECT, "templates": 5, "orders": {"count": 1}}
SMALL = {
    "study": "tiny",
    "models": ["planted-gpt-4o-mini", "planted-constant-position"],
    "arms": {"main": MAIN},
    "norms": {"t_val": 3, "grid": {"t_val": [3]}},
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["main"]},
        "regression": {"kind": "ordinal_regression", "arms": ["main"], "factors": ["transmission_principle"]},
    },
    "figures": {"distribution": {"kind": "distribution", "arms": ["main"]}},
}
#: The prompt set of a user's own.
PROMPTS = {
    "title": "Two wordings",
    "paraphraser": "me",
    "scale": "acceptability",
    "origin": {"citation": "made for these tests", "licence": "none"},
    "templates": [
        "How acceptable is this: {scenario}? Answer with one of {options}.",
        "Judge this with one of {options}: {scenario}.",
    ],
}


class Project:
    """A copy of the project in a folder of its own."""

    #: What its first run printed, where that counts.
    printed = ""

    def __init__(self, folder: Path) -> None:
        self.folder = copy_project(folder)

    def write(self, name: str, content: object) -> str:
        """Write a YAML file into the project and return its name."""
        write_yaml(self.folder / name, content)
        return name

    def run(self, *arguments: str, ok: bool = True) -> str:
        """Run Snakemake with ``arguments`` and return what it printed; ``ok=False`` expects exit code 1."""
        environment = {k: v for k, v in os.environ.items() if k != "CINORMS_MIRROR"}
        return snakemake(self.folder, *arguments, code=0 if ok else 1, environment=environment)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a fresh copy of the project with the study ``tiny.yaml``."""
    fresh = Project(tmp_path / "project")
    fresh.write("tiny.yaml", SMALL)
    return fresh


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy in which ``tiny.yaml`` has been run as `make run` does; tests leave ``results/tiny`` as it was."""
    done = Project(tmp_path_factory.mktemp("finished") / "project")
    done.write("tiny.yaml", SMALL)
    environment = {**os.environ, "PYTHONPATH": str(done.folder / "workflow/lib")}
    done.printed = snakemake(
        done.folder, "--logger", "cinorms", "--configfile", "tiny.yaml", environment=environment
    )
    return done
