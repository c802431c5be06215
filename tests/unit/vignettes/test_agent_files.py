"""Flows with what an agent saw: three forms of one flow, its items, and what is wrong with a file."""

import re
from typing import Any

import pytest

from cinorms.core import tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.vignettes.agent_files import items_of, steps_of
from cinorms.vignettes.designs import load_dataset
from cinorms.vignettes.reading import read_vignettes

from ...agents import FOLDER, ITEMS, NEEDED, dataset_of, flows, needs_agents, record


def test_a_flow_is_told_in_three_forms(tmp_path):
    told = {form: flows(tmp_path, form=form)["vignette"][1] for form in ("sentence", "story", "trajectory")}
    assert told["sentence"] == (
        "Data_sender 1 shares data_type 1 about data_subject 1 with data_recipient 1 (transmission_principle 1)"
    )
    assert told["story"] == "Story 1"
    head, steps = steps_of(told["trajectory"])
    assert head == (
        "Instruction of the user, Ann: Write to Bob about plan 1.\nTools: Mail. The action to write is SendMail."
    )
    assert [step[-1] for step in map(str.splitlines, steps)] == [
        f"Observation: page {n} of 1" for n in range(4)
    ]


def test_only_a_trajectory_has_items(tmp_path):
    table = flows(tmp_path)
    assert items_of(table)[2] == {"sensitive": ITEMS, "needed": NEEDED}
    tables.write(table, tmp_path / "v.parquet", tables.VIGNETTES)
    assert tables.read(tmp_path / "v.parquet", tables.VIGNETTES)["items"].tolist() == table["items"].tolist()
    assert "items" not in flows(tmp_path, form="story")
    made = dataset_of(tmp_path, [record(0, sensitive_info_items={"pay": {"euros": 3200}})])
    assert items_of(read_vignettes(made, tmp_path))[0]["sensitive"] == ['{"euros": 3200}']


def test_records_can_tell_some_flows_of_another_dataset(tmp_path):
    table = flows(tmp_path, numbers={"own2": 4, "own0": 1}, rows=2)
    assert table["flow"].tolist() == [1, 4]
    assert table["vignette"].str.extract(r"plan (\d)")[0].tolist() == ["0", "2"]


SEEN = "trajectory.executable_trajectory"
#: A file of tasks in the layout of CI-RL.
TASKS = {
    "source": "ci_rl",
    "columns": {"vignette": "trajectory", "factors": {"task": "dataset_item.user_task"}},
}


def task(seed: dict[str, str], notes: object) -> list[dict[str, Any]]:
    return [{"seed": seed, "dataset_item": {"user_task": "Write to Ben.", "information": notes}}]


@pytest.mark.parametrize(
    ("records", "keys", "message"),
    [
        ({"a": 1}, {}, "expected a list of records, each in braces"),
        ([record(0, user_instruction=None)], {}, "record 0: there is no 'trajectory.user_instruction'"),
        (
            [record(0), record(1, sensitive_info_items=["Ann is ill.", "____"])],
            {},
            "record 1: item 1 of 'trajectory.sensitive_info_items' has no words; remove it",
        ),
        (
            [record(0, needed_info_items="Monday")],
            {},
            "record 0: 'trajectory.needed_info_items' is 'Monday'; expected a list of texts",
        ),
        (
            [record(0, executable_trajectory="She looked it up.")],
            {},
            f"record 0: '{SEEN}' has no line that begins with 'Action: '",
        ),
        ([record(0)], {"numbers": {"own7": 3}}, "has no record named 'own7', which 'numbers' of"),
        (
            task({"scenario": "email"}, ["a note"]),
            TASKS,
            "record 0: 'dataset_item.information' is ['a note']",
        ),
        (task({"domain": "work"}, {"plan": "a note"}), TASKS, "record 0: there is no 'seed.scenario'"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path, records, keys, message):
    with pytest.raises(DataError, match=re.escape(f"flows.json: {message}")):
        read_vignettes(dataset_of(tmp_path, records, **keys), tmp_path)


def test_an_unknown_form(tmp_path):
    with pytest.raises(ConfigError, match="'novel' is no form of source 'privacylens'; allowed:"):
        flows(tmp_path, form="novel")


@pytest.mark.slow
@needs_agents
@pytest.mark.parametrize(
    ("name", "n", "sensitive", "needed"),
    [
        ("privacylens_trajectory", 493, 1487, 0),
        ("confaide_trajectory", 27, 63, 0),
        ("ci_rl", 729, 1914, 2110),
    ],
)
def test_the_published_files(folder, tmp_path, name, n, sensitive, needed):
    dataset = load_dataset(folder / f"resources/vignettes/{name}.yaml")
    items = items_of(read_vignettes(dataset, tmp_path, FOLDER.parent / "published")).values()
    counts = [sum(len(of[which]) for of in items) for which in ("sensitive", "needed")]
    assert [len(items), *counts] == [n, sensitive, needed]


def test_records_that_are_nested_too_deeply_or_no_text_get_one_message(tmp_path):
    dataset, path = dataset_of(tmp_path, [record(0)]), tmp_path / "flows.json"
    for content in (b"[" * 100_000, b"\xff\xfe", b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"flows\.json: cannot be read as JSON in UTF-8"):
            read_vignettes(dataset, tmp_path)
