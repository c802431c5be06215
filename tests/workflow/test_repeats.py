"""A study that asks an arm again: its tables recover the planted share, and only what was added is ever asked."""

import copy
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import MAIN, SMALL, Project

SHARE = 0.1
RESPONDENT = {
    "engine": "planted",
    "family": "planted",
    "alignment": "none",
    "planted": {"norms": "gpt-4o-mini", "noise": 0.4, "invalid": {"refusal": 0.02}, "unrepeatable": SHARE},
}
STUDY: dict[str, Any] = {
    **SMALL,
    "resources": ["own"],
    "models": ["wavering", "planted-gpt-4o-mini"],
    "arms": {
        "main": {**MAIN, "repeat": 3},
        "hot": {**MAIN, "temperature": 0.05},
    },
    "analyses": {
        "answers": {"kind": "answer_counts", "arms": ["main"]},
        "again": {"kind": "repeatability", "arms": ["main", "hot"]},
        "contrasts": {"kind": "model_contrasts", "arms": ["main", "hot"], "factor": "temperature"},
    },
    "figures": {"distribution": {"kind": "distribution", "arms": ["main"]}},
}


def table(project: Project, name: str) -> list[dict[str, str]]:
    with (project.folder / f"results/tiny/tables/{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bytes_of(project: Project, *patterns: str) -> dict[str, bytes]:
    results = project.folder / "results/tiny"
    return {str(path): path.read_bytes() for pattern in patterns for path in sorted(results.glob(pattern))}


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project in which the study was run with one asking."""
    project = Project(tmp_path_factory.mktemp("repeats") / "project")
    (project.folder / "own").mkdir()
    project.write("own/models.yaml", {"wavering": RESPONDENT})
    once = copy.deepcopy(STUDY)
    del once["arms"]["main"]["repeat"]
    project.write("tiny.yaml", once)
    project.run("--configfile", "tiny.yaml")
    return project


def test_repeats_are_asked_and_read_and_nothing_else_of_the_arm_changes(asked_once):
    project = asked_once
    rows = {row["model"]: row for row in table(project, "again") if row["arm"] == "main"}
    assert {row["status"] for row in rows.values()} == {"not_repeated"}
    assert {row["answers_differ"] for row in rows.values()} == {""}
    assert {row["engine_status"] for row in table(project, "contrasts")} == {"not_repeated"}
    kept = ("responses/*/*/1-of-1.parquet", "answers/*/*.parquet", "norms/*/*.parquet", "tables/answers.csv")
    before = bytes_of(project, *kept)

    project.write("tiny.yaml", STUDY)
    output = project.run("--configfile", "tiny.yaml")
    assert bytes_of(project, *kept) == before
    files = sorted(path.name for path in responses(project) if path.parts[-3:-1] == ("main", "wavering"))
    assert files == ["1-of-1-repeat-2.parquet", "1-of-1-repeat-3.parquet", "1-of-1.parquet"], output

    rows = {(row["arm"], row["model"]): row for row in table(project, "again")}
    wavering, steady = rows["main", "wavering"], rows["main", "planted-gpt-4o-mini"]
    assert (wavering["what"], wavering["askings"], wavering["status"]) == ("engine", "3", "ok")
    assert float(wavering["conf_low"]) < SHARE < float(wavering["conf_high"])
    assert abs(float(wavering["answers_differ"]) - SHARE) < 0.02
    assert float(wavering["statuses_differ"]) == 0
    assert {float(steady[f"{what}_differ"]) for what in ("answers", "replies", "norms")} == {0}
    assert rows["hot", "wavering"]["status"] == "not_repeated"

    contrasts = {row["model_a"]: row for row in table(project, "contrasts")}
    # So little temperature moves fewer answers than the engine alone does.
    assert contrasts["wavering"]["engine_status"] == "not_above"
    assert contrasts["planted-gpt-4o-mini"]["engine_status"] == "one_side_repeated"

    provenance = json.loads((project.folder / "results/tiny/provenance.json").read_text(encoding="utf-8"))
    listed = {
        (asked["arm"], asked["model"]): [again["shard"] for again in asked.get("repeats", [])]
        for asked in provenance["asked"]
    }
    assert listed["main", "wavering"] == ["1-of-1-repeat-2", "1-of-1-repeat-3"]
    assert listed["hot", "wavering"] == []


def test_one_more_repeat_asks_the_added_asking_only(asked_once):
    project = asked_once
    more = copy.deepcopy(STUDY)
    more["arms"]["main"]["repeat"] = 4
    project.write("tiny.yaml", more)
    before = {path: path.stat().st_mtime_ns for path in responses(project)}
    project.run("--configfile", "tiny.yaml")
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert {path.name for path in responses(project)} - {path.name for path in before} == {
        "1-of-1-repeat-4.parquet"
    }
    assert {row["askings"] for row in table(project, "again") if row["arm"] == "main"} == {"4"}


def responses(project: Project) -> list[Path]:
    return sorted((project.folder / "results/tiny/responses").glob("*/*/*.parquet"))
