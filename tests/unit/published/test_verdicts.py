"""Published answers by letter and verdicts on items become answers, joined to flows by the records' numbers."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.core.yaml_files import load_yaml
from cinorms.prompts.variants import list_variants
from cinorms.published.releases import import_answers, load_release, read_letters, read_verdicts
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...agents import FOLDER, ITEMS, flows, needs_agents
from ...scales import shipped
from ...snakemake_runs import write_yaml

TWO, DISCLOSURE = shipped("acceptability_2"), shipped("disclosure")
LETTERS = {"A": "acceptable", "B": "unacceptable"}


def letters(folder: Path, text: str) -> Any:
    (folder / "said.csv").write_text(text, encoding="utf-8")
    return read_letters(folder / "said.csv", "answer", LETTERS, flows(folder), TWO)


def verdicts(folder: Path, document: Any) -> Any:
    (folder / "done.json").write_text(json.dumps(document), encoding="utf-8")
    return read_verdicts(folder / "done.json", flows(folder, 2), DISCLOSURE)


def judged(*leaks: bool) -> dict[str, Any]:
    return {"secret_judgment": list(zip(ITEMS, leaks, strict=True))}


def test_letters_in_every_spelling(tmp_path):
    found = letters(tmp_path, "name,answer\nmain3,(A)\nmain1,(B) No\nmain2,Both\n")
    low, high = TWO.levels
    shown = found[["flow", "level", "status"]].to_numpy().tolist()
    assert shown == [[0, low, "ok"], [1, pd.NA, "invalid"], [2, high, "ok"]]
    tables.write(found, tmp_path / "a.parquet", tables.ANSWERS)
    with pytest.raises(DataError, match="no column 'answer'"):
        letters(tmp_path, "name,other\nmain1,(A)\n")
    with pytest.raises(DataError, match="a letter stands for 'fine', no option"):
        read_letters(tmp_path / "said.csv", "other", {"A": "fine"}, flows(tmp_path), TWO)


def test_verdicts_are_levels_and_items(tmp_path):
    found = verdicts(tmp_path, {"main2": judged(False, True), "main1": judged(False, False)})
    assert found["sensitive"].tolist() == [[0, 0], [0, 2]]
    assert found["level"].tolist() == [-1, 1]
    tables.write(found, tmp_path / "a.parquet", tables.ANSWERS)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"main9": judged(True, True)}, "flow 8 is none of the dataset's 2 flows"),
        ({"a": judged(True, True)}, "has no number of its own at its end"),
        ({"main1": judged(True, True), "other1": judged(True, True)}, "has no number of its own at its end"),
        ({"main1": {"secret_judgment": [["other", True]]}}, "the items of flow 0 are not those"),
        ([1], "is not a file of verdicts"),
    ],
)
def test_what_is_wrong_with_verdicts(tmp_path, document, message):
    with pytest.raises(DataError, match=message):
        verdicts(tmp_path, document)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"file": "said_{model}", "format": "letters"}, "needs the keys 'column' and 'options'"),
        ({"file": "told_{model}", "format": "verdicts"}, "'told_gpt4_o_mini' is not a file"),
    ],
)
def test_what_is_wrong_with_a_release(folder, tmp_path, frame, message):
    stated = load_yaml(folder / "resources/published/agents2025.yaml")
    stated["frames"]["sentence"], stated["numbers"] = frame, []
    write_yaml(tmp_path / "r.yaml", stated)
    with pytest.raises(ConfigError, match=message):
        load_release(tmp_path / "r.yaml")


@pytest.mark.slow
@needs_agents
@pytest.mark.parametrize(
    ("frame", "model", "high"),
    [
        ("sentence", "gpt-4o-mini", 36),
        ("story", "gpt-4o", 12),
        ("actions", "gpt-4o", 224),
        ("actions", "gpt-4o-mini", 259),
    ],
)
def test_the_published_release(folder, tmp_path, frame, model, high):
    mirror, scale = FOLDER.parent / "published", DISCLOSURE if frame == "actions" else TWO
    dataset = load_dataset(folder / "resources/vignettes/privacylens_trajectory.yaml")
    release = load_release(folder / "resources/published/agents2025.yaml")
    arm = read_vignettes(dataset, tmp_path, mirror), list_variants("p", ["t"], 1, 1)
    ((name, answers),) = import_answers(release, frame, [model], *arm, tmp_path, mirror, scale)
    assert name == model
    assert len(answers) == 493
    assert (answers["level"] == scale.levels[-1]).sum() == high
