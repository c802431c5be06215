"""Files of an entry: found by name, read in the order of the entry, handed to the kind's function."""

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from cinorms.core import tables
from cinorms.core.checksums import write_tidy
from cinorms.entries.entry import ENTRIES, Entry, Selected
from cinorms.entries.files import call, inputs_of, read_further, read_selected
from cinorms.vignettes.factors import DatasetFactors

from ...entries import make_entry

PAIRS = [("main", "a"), ("main", "b"), ("hot", "a")]


def of_kind(kind: str, **options: Any) -> Entry[Any]:
    factors_of = dict.fromkeys(("main", "hot"), DatasetFactors("iot", ("sender",)))
    return make_entry("analyses", kind, options, PAIRS, respondents=(("main", "b"),), factors_of=factors_of)


def test_inputs_are_named_by_stage_arm_and_model():
    assert inputs_of(of_kind("calibration"), "results/it") == {
        "frames": [f"results/it/norms/{pair}.parquet" for pair in ("main/a", "main/b", "hot/a")],
        "vignettes": ["results/it/vignettes/iot.parquet"] * 2,
        "planted": ["results/it/planted/main/b.parquet"],
        "coefficients": ["results/it/planted/main/b.json"],
    }
    assert inputs_of(of_kind("reliability"), "results/it") == {
        "frames": [f"results/it/answers/{pair}.parquet" for pair in ("main/a", "main/b", "hot/a")],
        "prompts": ["results/it/prompts/main.parquet", "results/it/prompts/hot.parquet"],
    }
    assert inputs_of(of_kind("delta", expected="law.csv"), "results/it")["expected"] == ["law.csv"]
    assert inputs_of(of_kind("delta"), "results/it")["expected"] == []
    printed = make_entry("printed", "discarded", {"from": ["one", "two"]})
    names = ["results/it/tables/one.parquet", "results/it/tables/two.parquet"]
    assert inputs_of(printed, "results/it") == {"frames": names}
    assert inputs_of(make_entry("printed", "models", {}), "results/it") == {"frames": []}


def test_further_tables_are_read_by_arm_and_what_was_planted_by_arm_and_model(tmp_path):
    flows = pd.DataFrame({"flow": np.arange(2, dtype=np.int32), "vignette": ["x", "y"], "expected": np.nan})
    tables.write(flows, tmp_path / "v.parquet", tables.VIGNETTES)
    planted = pd.DataFrame({"flow": flows["flow"], "linear": 0.0, "residual": 0.0})
    planted["level"] = pd.array([1, None], dtype="Int8")
    tables.write(planted, tmp_path / "p.parquet", tables.PLANTED)
    (tmp_path / "p.json").write_text('{"coefficients": [1]}', encoding="utf-8")
    names = {"vignettes": ["v.parquet"] * 2, "planted": ["p.parquet"], "coefficients": ["p.json"]}
    paths = {key: [str(tmp_path / name) for name in files] for key, files in names.items()}
    found = read_further(of_kind("calibration"), paths)
    assert list(found) == list(names)
    assert list(found["vignettes"]) == ["main", "hot"]
    assert found["planted"]["main", "b"]["level"].tolist() == [1, pd.NA]
    assert found["coefficients"]["main", "b"] == {"coefficients": [1]}


def test_a_kind_receives_the_flows_of_each_arm_that_its_entry_selects():
    entry = of_kind("delta", select={"sender": ["a"]})
    kind = SimpleNamespace(also=("norms",), function=lambda selected, _, norms: (selected, norms))
    vignettes = {
        arm: pd.DataFrame({"flow": [0, 1, 2], "sender": senders})
        for arm, senders in (("main", ["a", "b", "b"]), ("hot", ["b", "a", "a"]))
    }
    tables = [Selected(*pair, pd.DataFrame({"flow": [0, 1, 2]})) for pair in PAIRS]
    with patch.object(Entry, "declared", kind):
        for chosen in call(entry, tables, {"vignettes": vignettes, "norms": tables}):
            flows = {table.pair: table.frame["flow"].tolist() for table in chosen}
            assert flows == {("main", "a"): [0], ("main", "b"): [0], ("hot", "a"): [1, 2]}


def test_selected_tables_carry_their_arm_and_model(tmp_path):
    table = tmp_path / "table.parquet"
    write_tidy(pd.DataFrame({"x": [1]}), table, tmp_path / "table.csv")
    found = read_selected(make_entry("printed", "lost", {"from": ["one", "two"]}), [str(table)] * 2)
    assert [(one.arm, one.model) for one in found] == [("", "one"), ("", "two")]


@pytest.mark.parametrize(
    ("section", "kind", "options"),
    [
        ("analyses", "delta", {"select": {"sender": ["a"]}, "t_maj": 0.5, "of": "means"}),
        ("analyses", "marginal_means", {"factors": ["sender"]}),
        ("figures", "coefficients", {"table": "it", "first": 2}),
        ("printed", "lost", {"from": ["it"], "steps": [["plurality", 0.5]]}),
    ],
)
def test_an_entry_survives_the_way_through_a_rules_parameter(section, kind, options):
    pairs = PAIRS if section != "printed" else []
    entry = make_entry(section, kind, options, pairs, t_majs=("plurality", 0.5))
    plain = ENTRIES.dump_python(entry, mode="json")
    assert json.loads(json.dumps(plain)) == plain
    assert ENTRIES.validate_python(plain) == entry
