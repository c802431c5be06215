"""Asking in the workflow: one file adds an engine, whose jobs start it once for all arms of what it loads."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from cinorms.core.tables import metadata

from ..snakemake_runs import add_model
from .conftest import MAIN, SMALL, Project

#: A whole engine: it answers with the option that is shown first, and notes its starts and what it is asked.
FIRST = """
'''The engine first: a respondent that always gives the option which is shown first.'''

import os
from pathlib import Path

from cinorms.inference.engine_kind import EngineKind, Needs, stated
from cinorms.prompts.orders import options_shown


class FirstEngine:
    def __init__(self):
        note("starts", "start")

    def ask(self, questions, rows, keep):
        request = questions.request
        shown = options_shown(request.answer_scale)
        for number, at in enumerate(rows.tolist()):
            note("asked", f"{request.max_tokens} {request.model} {questions.keys[at].tobytes().hex()}")
            if number % 9 == 0 and Path("down").exists():
                keep(at, {"finish_reason": "error", "error": "503", "failed": True})
                continue
            first = shown[questions.grid["order_code"][at]].strip("[]").split(", ")[0]
            keep(at, {"text": first, "finish_reason": "stop"})
            if number == 100 and Path("kill").exists() and str(request.max_tokens) == Path("kill").read_text():
                os.kill(os.getpid(), 9)

    def metadata(self):
        return {"device": "none"}


def note(name, line):
    with Path(name + ".txt").open("a") as file:
        file.write(line + "\\n")


ENGINE = EngineKind(
    name="first",
    make=lambda runtime, key: FirstEngine(),
    needs=Needs(
        memory_mb=lambda settings, attempt: 1000,
        minutes=lambda settings, attempt: 50,
        start_minutes=30,
        gpus=lambda settings: 1,
    ),
    request=stated("family"),
    loads=lambda settings: settings.dtype,
)
"""

ARM = {**MAIN, "templates": 2}
N = 216 * 2


class Asked(Project):
    """A project with the engine and three models: two load the same, one of them in two shards."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        engines = folder / "workflow/lib/cinorms/inference/engines"
        (engines / "first.py").write_text(FIRST, encoding="utf-8")
        models = {
            "one": {"family": "a", "dtype": "auto", "shards": 2},
            "adapter": {"family": "b", "dtype": "auto"},
            "two": {"family": "c", "dtype": "float32"},
        }
        add_model(folder, **{name: {"engine": "first", **entry} for name, entry in models.items()})
        self.models = list(models)
        self.arms: dict[str, Any] = {f"arm{i}": {**ARM, "max_tokens": 10 + i} for i in range(2)}

    def ask(self, *more: str, ok: bool = True, study: str = "s", target: str = "provenance.json") -> str:
        """Run up to the provenance, or to another ``target``, and return what was printed."""
        stated = {"study": study, "models": self.models, "arms": self.arms, "analyses": {}, "figures": {}}
        self.write("s.yaml", {"norms": SMALL["norms"], **stated})
        return self.run("--configfile", "s.yaml", *more, "--", f"results/{study}/{target}", ok=ok)

    def noted(self) -> tuple[int, Counter[str]]:
        """Return the number of starts and what was asked since the last call."""
        found = []
        for name in ("starts", "asked"):
            path = self.folder / f"{name}.txt"
            found.append(path.read_text().split("\n")[:-1] if path.exists() else [])
            path.unlink(missing_ok=True)
        return len(found[0]), Counter(found[1])

    def responses(self) -> dict[str, bytes]:
        """Return the files of responses by arm and model."""
        files = (self.folder / "results/s/responses").glob("*/*.parquet")
        return {f"{path.parent.name}/{path.stem}": path.read_bytes() for path in files}


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    return Asked(tmp_path / "project")


def test_an_engine_starts_once_for_all_arms_of_what_it_loads(asked):
    asked.ask()
    starts, questions = asked.noted()
    assert (starts, len(questions), set(questions.values())) == (3, 2 * 3 * N, {1})
    first = asked.responses()
    assert len(first) == 2 * 3
    assert "Nothing to be done" in asked.ask("-n")
    found = json.loads((asked.folder / "results/s/provenance.json").read_text())["asked"]
    assert {(each["engine"], each["planted"], each["responses"], each["replies"]) for each in found} == {
        ("first", False, N, N)
    }

    # Another arm, with a second sample of the prompts of one: only those are asked.
    asked.arms["again"] = {**asked.arms["arm0"], "sample": 2}
    asked.ask()
    starts, questions = asked.noted()
    assert (starts, len(questions)) == (3, 3 * N)

    # Deleted responses are collected, the same again: nobody asks for an engine.
    for path in (asked.folder / "results/s/responses").glob("arm*/*.parquet"):
        path.unlink()
    assert "rule ask_first" not in asked.ask("--forcerun", "gather_provenance")
    assert {name: asked.responses()[name] for name in first} == first

    # Neither another study, nor other shards, nor force asks anything again.
    asked.ask(study="other")
    add_model(asked.folder, two={"engine": "first", "family": "c", "dtype": "float32", "shards": 3})
    printed = asked.ask("--forceall")
    assert printed.count("rule ask_first:") == 2 + 3
    assert "gpu=1" not in printed
    assert asked.noted() == (0, Counter())
    assert {name: asked.responses()[name] for name in first} == first

    # What one run asks, it collects: also where only a setting has changed.
    asked.arms["again"]["temperature"] = 0.5
    asked.ask()
    assert len(asked.noted()[1]) == 3 * N
    path = asked.folder / "results/s/responses/again/two.parquet"
    assert json.loads(metadata(path)["request"])["temperature"] == 0.5

    # Other words are asked; a GPU is requested for them.
    path = asked.folder / "resources/prompts/chatgpt.yaml"
    words = yaml.safe_load(path.read_text(encoding="utf-8"))
    words["templates"] = [text.replace("{scenario}", "{scenario} ") for text in words["templates"]]
    asked.write("resources/prompts/chatgpt.yaml", words)
    assert "gpu=1" in asked.ask()
    assert len(asked.noted()[1]) == 3 * 3 * N


def test_a_killed_job_goes_on_where_it_was(asked):
    (asked.folder / "kill").write_text("11")
    asked.ask(ok=False)
    (asked.folder / "kill").unlink()
    asked.ask()
    starts, questions = asked.noted()
    assert (len(questions), set(questions.values())) == (2 * 3 * N, {1}), "what was handed over is asked once"
    assert starts > 3


def test_what_failed_is_asked_again_by_the_next_run_until_it_is_answered(asked):
    asked.models, asked.arms = ["two"], {"arm0": asked.arms["arm0"]}
    down = asked.folder / "down"
    down.touch()
    failed, left = [N // 9, N // 9 // 9 + 1], N
    for expected in failed:
        asked.ask()
        assert asked.noted()[1].total() == left, "each is asked once by a run"
        metadata_of = json.loads((asked.folder / "results/s/responses/arm0/two.json").read_text())
        assert (metadata_of["failed"], metadata_of["errors"]) == (expected, {"503": expected})
        left = expected
        assert "rule ask_first" in asked.ask("-n")
    down.unlink()
    asked.ask()
    assert asked.noted()[1].total() == left
    assert "Nothing to be done" in asked.ask()
    whole = pd.read_parquet(asked.folder / "results/s/responses/arm0/two.parquet")
    assert (len(whole), set(whole["finish_reason"])) == (N, {"stop"})


def test_one_file_adds_an_engine(asked):
    asked.models = ["two"]
    asked.write("s.yaml", {**SMALL, "models": ["two"], "printed": {"models": {"kind": "models"}}})
    asked.run("--configfile", "s.yaml")
    results = asked.folder / "results/tiny"
    responses = pd.read_parquet(results / "responses/main/two.parquet")
    assert (len(responses), responses["text"].nunique()) == (216 * 5, 5)
    assert "two" in (results / "report/index.html").read_text(encoding="utf-8")
    assert "first" in (results / "printed/models.csv").read_text(encoding="utf-8")
    assert "two" in asked.run("plan", "--configfile", "s.yaml")


def test_a_second_sample_shows_what_the_engine_changes(project):
    """A planted respondent gives another level in a tenth of its answers when it is asked again; another does not."""
    planted = yaml.safe_load((project.folder / "config/models.yaml").read_text(encoding="utf-8"))
    base = planted["planted-gpt-4o-mini"]
    add_model(project.folder, wavering={**base, "planted": {**base["planted"], "unrepeatable": 0.1}})
    arms = {"main": MAIN, "again": {**MAIN, "sample": 2}}
    analyses = {"again": {"kind": "model_contrasts", "arms": ["main", "again"], "factor": "sample"}}
    models = ["wavering", "planted-gpt-4o-mini"]
    project.write("tiny.yaml", {**SMALL, "models": models, "arms": arms, "analyses": analyses, "figures": {}})
    project.run("--configfile", "tiny.yaml", "--", "results/tiny/tables/again.csv")
    table = pd.read_csv(project.folder / "results/tiny/tables/again.csv").set_index("model_a")["differ"]
    assert table["wavering"] == pytest.approx(0.1, abs=0.02)
    assert table["planted-gpt-4o-mini"] == 0
