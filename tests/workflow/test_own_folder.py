"""A folder of one's own with datasets, prompt sets and models; and a study of a model next to planted respondents."""

import json
from pathlib import Path
from typing import Any

import pytest

from ..faults.server import Endpoint
from ..snakemake_runs import write_yaml
from ..unit.human.surveys import DATASET
from .conftest import PROMPTS, Project

MIXED = "(no model gave their answers): planted-uniform. The others are models."


def make_study(folder: Path, url: str) -> dict[str, Any]:
    """Write the user's folder, and return a study of a model of theirs next to a planted respondent."""
    write_yaml(folder / "vignettes/doors.yaml", {**DATASET, "scale": "acceptability"})
    write_yaml(folder / "prompts/two.yaml", PROMPTS)
    entry = {"engine": "openai", "source": "m", "family": "f", "base_url": url}
    write_yaml(folder / "models.yaml", {"my-endpoint": entry})
    return {
        "study": "doors",
        "resources": ["../mine"],
        "models": ["my-endpoint", "planted-uniform"],
        "arms": {"main": {"dataset": "doors", "prompts": "two", "orders": {"count": 2}}},
        "norms": {"t_val": 2, "grid": {"t_val": [2]}},
        "analyses": {
            "answers": {"kind": "answer_counts", "arms": ["main"]},
            "lost": {"kind": "discarded", "arms": ["main"]},
            "endpoint": {"kind": "answer_counts", "arms": ["main"], "models": ["my-endpoint"]},
        },
        "figures": {"distribution": {"kind": "distribution", "arms": ["main"]}},
        "printed": {"lost": {"kind": "discarded", "from": ["lost"]}, "models": {"kind": "models"}},
    }


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, str]:
    """Return a project in which the study has been run, and what it printed."""
    folder = tmp_path_factory.mktemp("mixed")
    project = Project(folder / "project")
    with Endpoint() as endpoint:
        project.write("doors.yaml", make_study(folder / "mine", endpoint.url))
        printed = project.run("--configfile", "doors.yaml")
        assert endpoint.answered.total() == 6 * 4
    return project, printed


def test_datasets_prompts_and_models_of_ones_own_are_used(mixed):
    project, _ = mixed
    facts = json.loads((project.folder / "results/doors/provenance.json").read_text(encoding="utf-8"))
    assert {one["model"] for one in facts["asked"]} == {"my-endpoint", "planted-uniform"}
    preview = (project.folder / "results/doors/prompts/main.preview.csv").read_text(encoding="utf-8")
    assert "a door tells its owner who is at home" in preview
    assert "Nothing to be done" in project.run("--configfile", "doors.yaml")


@pytest.mark.parametrize(
    "file",
    [
        "figures/distribution.txt",
        "figures/distribution.svg",
        "printed/lost.tex",
        "printed/lost.html",
        "printed/models.html",
        "report/index.html",
    ],
)
def test_a_mixed_study_names_the_planted_and_does_not_deny_the_model(mixed, file):
    text = (mixed[0].folder / "results/doors" / file).read_text(encoding="utf-8")
    text = " ".join(text.replace("</text>", " ").split())
    # Pages, figures and printed tables call it by its label.
    called = (
        "simulated: at random" if file.startswith(("figures", "printed", "report")) else "planted-uniform"
    )
    assert f"{called}. The others are models." in text, file
    assert "Simulated respondents: no model gave their answers" not in text


def test_the_terminal_names_them_and_what_is_not_planted_is_not_marked(mixed):
    project, printed = mixed
    assert MIXED in " ".join(printed.split())
    assert "Simulated respondents: no model gave their answers" not in printed
    results = project.folder / "results/doors"
    assert "lanted" not in (results / "cards/my-endpoint.md").read_text(encoding="utf-8")
    card = (results / "cards/planted-uniform.md").read_text(encoding="utf-8")
    assert "Simulated respondents: no model gave their answers" in card
