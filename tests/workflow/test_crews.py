"""Jobs that need the same engine start it once: the first asks for the others, which then only collect."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from ..snakemake_runs import add_model
from .conftest import MAIN, SMALL, Project

#: An engine that takes long to start: it notes every start, and what it is asked.
SLOW = """
'''The engine slow: always neutral. It notes its starts and the arms that it is asked.'''

import os
from pathlib import Path

import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.inference import job_state
from cinorms.inference.engine_kind import EngineKind, Needs, always, stated

LOADED = []


class SlowEngine:
    def ask(self, questions, todo, keep):
        arm = job_state.current().state.arm
        if arm == "refused":
            raise ConfigError("a mistake in this arm")
        if not LOADED:
            LOADED.append("engine")
            note("starts", arm)
        for first in range(0, len(todo), 50):
            at = todo[first : first + 50]
            note("asked", *[f"{arm} {questions.spec.model} {bytes(questions.prompts[a]).hex()}" for a in at])
            keep(pd.DataFrame({"at": at, "text": "neutral", "finish_reason": "stop"}))
            if (Path("kill").exists() and arm == Path("kill").read_text()):
                os.kill(os.getpid(), 9)

    def facts(self):
        return {"device": "none"}


def note(name, *lines):
    with Path(name + ".txt").open("a") as file:
        file.write("".join(line + "\\n" for line in lines))


ENGINE = EngineKind(
    name="slow",
    make=lambda spec, tuning, key: SlowEngine(),
    needs=Needs(memory_mb=always(1000), minutes=always(50), start_minutes=30),
    identity=stated("family", "dtype"),
    loads=lambda spec, tuning: spec.identity,
)
"""

ARM = {**MAIN, "templates": 2}
N = 216 * 2


class Slow(Project):
    """A project with the engine and two models that it asks, each in two shards."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        engines = folder / "workflow/lib/cinorms/inference/engines"
        (engines / "slow.py").write_text(SLOW, encoding="utf-8")
        models = {"one": {"family": "first", "shards": 2}, "two": {"family": "second"}}
        add_model(folder, **{name: {"engine": "slow", **entry} for name, entry in models.items()})
        self.arms: dict[str, Any] = {f"arm{i}": {**ARM, "max_tokens": 10 + i} for i in range(3)}

    def ask(self, *targets: str, ok: bool = True, study: str = "s", more: tuple[str, ...] = ()) -> str:
        """Run up to the responses, or to ``targets``, and return what was printed."""
        stated = {"study": study, "models": ["one", "two"], "arms": self.arms, "analyses": {}, "figures": {}}
        self.write("s.yaml", {"norms": SMALL["norms"], **stated})
        wanted = targets or (f"results/{study}/provenance.json",)
        return self.run("--configfile", "s.yaml", *more, "--", *wanted, ok=ok)

    def noted(self, name: str) -> list[str]:
        path = self.folder / f"{name}.txt"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def forget(self) -> None:
        for name in ("starts", "asked"):
            (self.folder / f"{name}.txt").unlink(missing_ok=True)


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    return Slow(tmp_path / "project")


def test_a_model_starts_once_for_all_arms_and_shards(slow, tmp_path):
    slow.ask()
    assert len(slow.noted("starts")) == 2
    asked = Counter(slow.noted("asked"))
    assert len(asked) == 2 * 3 * N
    assert set(asked.values()) == {1}
    files = list(slow.folder.glob("results/s/responses/*/*/*.parquet"))
    assert len(files) == 3 * 2 + 3
    assert "Nothing to be done" in slow.ask(more=("-n",))
    found = json.loads((slow.folder / "results/s/provenance.json").read_text())
    assert all(each["responses"] == each["replies_kept"] == N for each in found["asked"])

    # Without hooks every job starts for itself, and gives the same.
    other = Slow(tmp_path / "other")
    other.ask(more=("--no-hooks",))
    assert len(other.noted("starts")) == 9
    for path in files:
        assert (other.folder / path.relative_to(slow.folder)).read_bytes() == path.read_bytes()

    # Another arm asks that arm; deleted files are collected again; a single file asks for nothing else.
    slow.forget()
    slow.arms["arm3"] = {**ARM, "max_tokens": 20}
    for path in files:
        path.unlink()
    slow.arms["arm4"] = {**ARM, "max_tokens": 21}
    slow.ask("results/s/responses/arm4/two/1-of-1.parquet")
    assert slow.noted("starts") == ["arm4"]
    assert {line.split()[0] for line in slow.noted("asked")} == {"arm4"}
    slow.forget()
    slow.ask()
    assert len(slow.noted("starts")) == 2
    assert Counter(line.split()[0] for line in slow.noted("asked")) == {"arm3": 2 * N, "arm4": N}
    assert "Nothing to be done" in slow.ask(more=("-n",))

    # The same arms in another study start nothing.
    slow.forget()
    slow.ask(study="again")
    assert slow.noted("starts") == slow.noted("asked") == []

    # Prompts that the run makes anew are not asked from the old file.
    words = yaml.safe_load((slow.folder / "resources/prompts/chatgpt.yaml").read_text(encoding="utf-8"))
    words["templates"] = [text.replace("{scenario}", "{scenario} ") for text in words["templates"]]
    slow.write("resources/prompts/chatgpt.yaml", words)
    slow.ask(study="again")
    asked = Counter(slow.noted("asked"))
    assert len(asked) == 2 * 5 * N
    assert set(asked.values()) == {1}


def test_a_leader_that_is_killed_goes_on_where_it_was(slow):
    """In the middle of another job's questions, too."""
    (slow.folder / "kill").write_text("arm1")
    slow.ask(ok=False)
    (slow.folder / "kill").unlink()
    slow.ask()
    asked = Counter(slow.noted("asked"))
    assert len(asked) == 2 * 3 * N
    assert set(asked.values()) == {1}, "what was handed over is asked once"


def test_a_mistake_in_one_arm_keeps_no_other_from_being_asked(slow):
    slow.arms = {"refused": {**ARM, "max_tokens": 9}, **slow.arms}
    for _ in range(2):  # its job led the first run, and leads none after it failed
        printed = slow.ask(ok=False, more=("--keep-going",))
        assert "a mistake in this arm" in printed
    files = slow.folder.glob("results/s/responses/*/*/*.parquet")
    assert {path.parent.parent.name for path in files} == {"arm0", "arm1", "arm2"}
    assert len(slow.noted("starts")) == 2
