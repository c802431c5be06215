"""Kinds: each has a schema and a function that takes what it declares; files are found and read by name."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from cinorms.core import tables
from cinorms.entries.kinds import KINDS, Kind, inputs_of, read_further, read_selected

SCHEMAS = Path(__file__).parents[3] / "workflow/schemas"
ENTRY: dict[str, Any] = {
    "arms": ["main", "hot"],
    "selected": [["main", "a"], ["main", "b"], ["hot", "a"]],
    "respondents": [["main", "b"]],
    "design": {"main": {"dataset": "iot"}, "hot": {"dataset": "iot"}},
}
NAMES = [(section, name) for section in KINDS for name in KINDS[section]]


def test_every_kind_has_a_schema_and_every_schema_a_kind() -> None:
    for section, kinds in KINDS.items():
        files = {path.name.removesuffix(".schema.yaml") for path in (SCHEMAS / section).glob("*.schema.yaml")}
        assert files == set(kinds)


@pytest.mark.parametrize(("section", "name"), NAMES)
def test_a_kinds_function_takes_what_the_kind_declares(section: str, name: str) -> None:
    kind = KINDS[section][name]
    assert list(inspect.signature(kind.load()).parameters) == ["selected", "entry", *kind.also]


@pytest.mark.parametrize("path", sorted((SCHEMAS / "analyses").glob("*.yaml")), ids=lambda path: path.stem)
def test_a_schema_is_closed_and_describes_every_key(path: Path) -> None:
    schema = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert schema["properties"]["kind"]["const"] == path.name.removesuffix(".schema.yaml")
    assert schema["additionalProperties"] is False
    for key, of in schema["properties"].items():
        assert of.get("description"), key
        assert "default" not in of, "defaults do not stand in schemas"


def test_inputs_are_named_by_stage_arm_and_model() -> None:
    kind = Kind("norms", "x", "y", also=("vignettes", "prompts", "answers", "planted", "coefficients"))
    assert inputs_of(kind, ENTRY, "results/it") == {
        "frames": [f"results/it/norms/{pair}.parquet" for pair in ("main/a", "main/b", "hot/a")],
        "vignettes": ["results/it/vignettes/iot.parquet"] * 2,
        "prompts": ["results/it/prompts/main.parquet", "results/it/prompts/hot.parquet"],
        "answers": [f"results/it/answers/{pair}.parquet" for pair in ("main/a", "main/b", "hot/a")],
        "planted": ["results/it/planted/main/b.parquet"],
        "coefficients": ["results/it/planted/main/b.json"],
    }


def test_further_tables_are_read_by_arm_and_what_was_planted_by_arm_and_model(tmp_path: Path) -> None:
    flows = pd.DataFrame({"flow": np.arange(2, dtype=np.int32), "vignette": ["x", "y"], "expected": np.nan})
    planted = pd.DataFrame({"flow": np.arange(2, dtype=np.int32), "linear": 0.0, "residual": 0.0})
    planted["level"] = pd.array([1, None], dtype="Int8")
    tables.write(flows, tmp_path / "vignettes.parquet", tables.VIGNETTES)
    tables.write(planted, tmp_path / "planted.parquet", tables.PLANTED)
    (tmp_path / "planted.json").write_text(json.dumps({"coefficients": [1]}), encoding="utf-8")
    kind = Kind("norms", "x", "y", also=("vignettes", "planted", "coefficients"))
    paths = {
        "vignettes": [str(tmp_path / "vignettes.parquet")] * 2,
        "planted": [str(tmp_path / "planted.parquet")],
    }
    found = read_further(kind, ENTRY, paths | {"coefficients": [str(tmp_path / "planted.json")]})
    assert list(found) == ["vignettes", "planted", "coefficients"]
    assert list(found["vignettes"]) == ["main", "hot"]
    assert found["planted"]["main", "b"]["level"].tolist() == [1, pd.NA]
    assert found["coefficients"]["main", "b"] == {"coefficients": [1]}


def test_selected_tables_carry_their_arm_and_model(tmp_path: Path) -> None:
    flows = pd.DataFrame({"flow": np.arange(2, dtype=np.int32), "vignette": ["x", "y"], "expected": np.nan})
    path = tmp_path / "table.parquet"
    tables.write(flows, path, tables.VIGNETTES)
    found = read_selected(Kind("vignettes", "x", "y"), ENTRY, [str(path)] * 3)
    assert [(one.arm, one.model) for one in found] == [tuple(pair) for pair in ENTRY["selected"]]
    assert [len(one.frame) for one in found] == [2, 2, 2]
