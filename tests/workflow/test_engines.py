"""Engines in the workflow: one file adds one."""

import json

import pandas as pd
import pytest

from ..snakemake_runs import add_model
from .conftest import SMALL, Project

#: A whole engine: it answers with the option that is shown first.
FIRST = """
'''The engine first: a respondent that always gives the option which is shown first.'''

import pandas as pd

from cinorms.inference.engine_kind import EngineKind, Needs, always, stated
from cinorms.prompts.orders import options_shown


class FirstEngine:
    def ask(self, questions, todo, keep):
        shown = options_shown(questions.spec.answer_scale)
        texts = [shown[code].strip("[]").split(", ")[0] for code in questions.grid["order_code"].iloc[todo]]
        keep(pd.DataFrame({"at": todo, "text": texts, "finish_reason": "stop"}))

    def facts(self):
        return {"device": "none"}


ENGINE = EngineKind(
    name="first",
    make=lambda spec, tuning, key: FirstEngine(),
    needs=Needs(memory_mb=always(1000), minutes=always(5)),
    identity=stated("family"),
    environment="core",
)
"""


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project with one more engine, and a study of a model that it asks, run to its end."""
    project = Project(tmp_path_factory.mktemp("extended") / "project")
    (project.folder / "workflow/lib/cinorms/inference/engines/first.py").write_text(FIRST, encoding="utf-8")
    add_model(project.folder, **{"first-option": {"engine": "first", "family": "mine"}})
    table = {"models": {"kind": "models"}}
    project.write("tiny.yaml", {**SMALL, "models": ["first-option"], "printed": table})
    project.run("--configfile", "tiny.yaml")
    return project


def test_one_file_adds_an_engine(extended):
    results = extended.folder / "results/tiny"
    responses = pd.read_parquet(results / "responses/main/first-option/1-of-1.parquet")
    assert len(responses) == 216 * 5
    assert responses["text"].nunique() == 5
    (asked,) = json.loads((results / "provenance.json").read_text(encoding="utf-8"))["asked"]
    assert (asked["engine"], asked["planted"], asked["replies_kept"]) == ("first", False, 216 * 5)
    assert "first-option" in (results / "report/index.html").read_text(encoding="utf-8")
    assert "first" in (results / "printed/models.csv").read_text(encoding="utf-8")


def test_another_engine_has_its_own_rule_and_journal(extended):
    assert (extended.folder / "logs/tiny/ask_first/main/first-option/1-of-1.log").is_file()
    (journal,) = (extended.folder / "results/.journal").glob("first-option.*")
    assert list((journal / "parts").glob("*.parquet"))
    out = extended.run("plan", "--configfile", "tiny.yaml")
    assert "first-option" in out
    assert "Nothing to be done" in extended.run("--configfile", "tiny.yaml", "-n")
