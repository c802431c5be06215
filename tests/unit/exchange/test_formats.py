"""Each format: what it writes, and that responses come back as they were. Wrong files are refused with their line."""

import json
import math
from itertools import cycle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cinorms.core import csv_tables, tables
from cinorms.core.errors import ConfigError, DataError
from cinorms.exchange.exporting import export_prompts
from cinorms.exchange.formats import openai_batch, plain
from cinorms.exchange.importing import Imported
from cinorms.exchange.registry import format_modules, format_named
from cinorms.exchange.way import prompt_text

from ...exchange_runs import ROOT, answers_bytes, arm, export, planted_lines, planted_responses, take


def written(path: Path, lines: list[dict[str, Any]]) -> Path:
    """Write lines as the format that the path's ending names."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    elif path.suffix == ".parquet":
        pd.DataFrame(lines).to_parquet(path)
    else:
        pd.DataFrame(lines).to_csv(path, index=False)
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assert_same_answers(imported: Imported, folder: Path) -> None:
    """Compare with the answers of the study that asked itself."""
    assert imported.reasons == {}
    assert answers_bytes(imported.responses, folder) == answers_bytes(planted_responses()[1], folder)


def test_the_makefile_knows_the_formats():
    (line,) = [one for one in (ROOT / "Makefile").read_text().splitlines() if one.startswith("FORMATS := ")]
    assert sorted(line.split()[2:]) == sorted(format_modules()) == ["openai_batch", "plain"]
    assert all(format_named(name).endings for name in format_modules())


PLACE = ["flow", "template", "order"]


@pytest.mark.parametrize(
    ("ending", "keys"),
    [
        *(("jsonl", keys) for keys in (["id"], PLACE, ["prompt_sha256"], ["input"])),
        *(("parquet", keys) for keys in (PLACE, ["input"])),
        *(("csv", keys) for keys in (PLACE, ["prompt_sha256"])),  # a cell of a CSV file holds no list
    ],
)
def test_plain_gives_the_answers_of_a_study_that_asked_itself(tmp_path, ending, keys):
    folder = export("plain", tmp_path)
    answers = json.loads((folder / "answers.json").read_text(encoding="utf-8"))
    lines = [
        {**{key: line[key] for key in keys}, "text": answers[prompt_text(line["input"])]}
        for line in lines_of(folder / "prompts.jsonl")
    ]
    assert_same_answers(take("plain", written(tmp_path / f"received.{ending}", lines[::-1])), tmp_path)


def test_the_output_of_a_batch_gives_the_same_answers(tmp_path):
    lines = []
    for line in planted_lines():
        choice = {"index": 0, "message": {"content": line["text"]}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 90, "completion_tokens": 4}
        body = {"id": "chatcmpl-1", "model": "m-2026", "choices": [choice], "usage": usage}
        response = {"status_code": 200, "body": body}
        lines.append({"id": "batch_1", "custom_id": line["id"], "response": response, "error": None})
    halves = [written(tmp_path / "one.jsonl", lines[:9]), written(tmp_path / "two.jsonl", lines[9:])]
    imported = take("openai_batch", *halves)
    assert json.loads(imported.metadata["elsewhere"])["stated"] == {"model": ["m-2026"]}
    assert imported.responses["n_prompt_tokens"].tolist() == [90] * 24
    assert_same_answers(imported, tmp_path)


def test_facts_state_where_responses_are_from_and_no_folder(tmp_path):
    lines = [{**line, "temperature": 0, "max_tokens": 100} for line in planted_lines()]
    path = written(tmp_path / "r.jsonl", lines)
    facts = json.loads(take("plain", path).metadata["elsewhere"])
    assert facts["origin"] == "a test"
    assert [file["name"] for file in facts["files"]] == ["r.jsonl"]
    assert (facts["received"], facts["used"], facts["unmatched"]) == (24, 24, {})
    assert facts["stated"] == {"temperature": [0], "max_tokens": [100]}
    assert facts["unlike_the_arm"] == []
    hotter = json.loads(take("plain", path, temperature=1).metadata["elsewhere"])
    assert hotter["unlike_the_arm"] == ["temperature 0 instead of 1"]
    assert str(tmp_path) not in json.dumps(facts)


@pytest.mark.parametrize("limit", [{"REQUESTS": 10}, {"BYTES": 6_402}])
def test_batch_requests_are_those_of_the_engine_and_are_split_at_the_limit(tmp_path, monkeypatch, limit):
    for name, most in limit.items():
        monkeypatch.setattr(openai_batch, name, most)
    files = sorted(export("openai_batch", tmp_path).glob("planted-gpt-4o-mini-*.jsonl"))
    assert [len(lines_of(file)) for file in files] == [10, 10, 4]
    first = lines_of(files[0])[0]
    assert (first["method"], first["url"]) == ("POST", "/v1/chat/completions")
    messages = first["body"].pop("messages")
    assert [next(iter(message.items())) for message in messages] == [("role", "system"), ("role", "user")]
    assert first["body"] == {"model": "planted-gpt-4o-mini", "max_tokens": 100, "temperature": 0}


def test_the_fields_of_plain_are_those_that_other_tools_read(tmp_path):
    """Inspect reads `id` and `input` by these names; a task of lm-evaluation-harness names `input`."""
    line = lines_of(export("plain", tmp_path) / "prompts.jsonl")[0]
    assert list(line) == ["id", "input", "flow", "template", "order", "prompt_sha256"]
    assert [list(message) for message in line["input"]] == [["role", "content"]] * 2
    assert [message["role"] for message in line["input"]] == ["system", "user"]


def test_a_literal_wrapper_goes_where_text_goes_and_is_refused_where_messages_go(tmp_path):
    spec, vignettes, variants = arm(engine="vllm", wrap="llama2", layout="single")
    plain, batch = format_named("plain"), format_named("openai_batch")
    export_prompts(plain, [spec], vignettes, variants, "main", tmp_path)
    assert lines_of(tmp_path / "prompts.jsonl")[0]["input"].startswith("[INST] Please")
    made = f"- `prompts`: 24 prompts for {spec.model} (layout single, literal wrapper llama2, temperature 0"
    assert made in (tmp_path / "README.md").read_text(encoding="utf-8")
    with pytest.raises(ConfigError, match="wrapper 'llama2', but the format 'openai_batch' sends chat"):
        export_prompts(batch, [spec], vignettes, variants, "main", tmp_path)
    spec, *_ = arm(reasoning={"effort": "low", "budget": 9})
    with pytest.raises(
        ConfigError, match=rf"main\.reasoning: no format can ask '{spec.model}' to reason; set"
    ):
        export_prompts(plain, [spec], vignettes, variants, "main", tmp_path)


NUMBERS = {"text": "neutral", "flow": 1, "template": 0, "order": 0}


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("plain", '{"id": "17.3', r"line 1 is not JSON .*; correct or remove the line"),
        ("plain", "[1, 2]", "line 1 is not a JSON object"),
        ("plain", {"id": "x"}, "line 1 has no key 'text', which every line of the format 'plain'"),
        ("plain", {"text": "neutral"}, "line 1 has no key 'id'"),
        ("plain", {"text": "neutral", "flow": 1}, "no 'template'; flow, template and order belong together"),
        *(
            ("plain", {**NUMBERS, "flow": flow}, "as 'flow', which is not a whole")
            for flow in (1.5, 10**30, 10**9, -1, 1e30, "9" * 5000, "nan", True)
        ),
        ("plain", {**NUMBERS, "flow": math.nan}, "line 1 has no 'flow'"),
        ("plain", {**NUMBERS, "flow": -math.inf}, "line 1 has no 'flow'"),
        ("plain", {"text": 3, "id": "x"}, "has 3 as 'text', which is not a text"),
        ("openai_batch", {"id": "x", "text": "neutral"}, "line 1 has no key 'custom_id'"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path, name, line, message):
    text = line if isinstance(line, str) else json.dumps(line)
    (tmp_path / "r.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"r\.jsonl: .*{message}"):
        take(name, tmp_path / "r.jsonl")


#: JSON that no other reader takes: Python's own takes it all.
ODD = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 400, '"\\ud800"', '{"\\udfff": NaN}', "[NaN]"]
ODD += ["true", "-1"]


@pytest.mark.parametrize("key", ["finish_reason", "n_output_tokens", "temperature"])
def test_odd_values_of_another_key_cost_no_response_and_their_facts_are_json(tmp_path, key):
    planted = zip(planted_lines(), cycle(ODD), strict=False)  # each of them in two lines or more
    lines = [json.dumps(line)[:-1] + f', "{key}": {odd}}}' for line, odd in planted]
    (tmp_path / "r.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = take("plain", tmp_path / "r.jsonl")
    assert len(found.responses) == 24
    tables.write(found.responses, tmp_path / "r.parquet", tables.RESPONSES, found.metadata)
    csv_tables.write(found.unmatched, tmp_path / "u.csv", csv_tables.UNMATCHED)
    stated = json.loads(found.metadata["elsewhere"], parse_constant=pytest.fail)["stated"]
    json.dumps(stated, ensure_ascii=False).encode()  # no half characters


def test_a_file_that_is_no_table_is_refused(tmp_path):
    with pytest.raises(DataError, match="there is no such file; correct 'response_files'"):
        take("plain", tmp_path / "absent.jsonl")
    for name, content, message in (
        ("a.parquet", b"nothing", "not a readable Parquet"),
        ("a.txt", b"nothing", "allowed: .csv, .jsonl, .parquet"),
        ("twice.csv", b"id,text,text\na,b,c\n", "column 'text' appears 2 times"),
        ("latin.jsonl", '{"text": "größer"}'.encode("latin-1"), "is not text in UTF-8"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=message):
            take("plain", tmp_path / name)


def test_failures_of_a_batch_are_errors_and_not_left_out(tmp_path):
    choice = {"message": {"content": "neutral"}, "finish_reason": "stop"}
    lines = [
        {"custom_id": "a", "response": {"status_code": 200, "body": {"choices": []}}, "error": None},
        {"custom_id": "b", "response": None, "error": {"code": "batch_expired", "message": "late"}},
        {"custom_id": "c", "response": {"status_code": 400, "body": {"choices": [choice]}}},
    ]
    read = list(openai_batch.read(written(tmp_path / "b.jsonl", lines)))
    assert [(one.text, one.finish_reason) for one in read] == [(None, "error")] * 3


def test_an_empty_cell_of_a_csv_file_is_an_empty_text_or_missing(tmp_path):
    header = "flow,template,order,input,temperature,text,finish_reason"
    (tmp_path / "r.csv").write_text(f"{header}\n1,0,0,,,,\n", encoding="utf-8")
    (one,) = plain.read(tmp_path / "r.csv")
    assert (one.text, one.finish_reason, one.flow) == ("", "unknown", 1)
    assert (one.recorded, one.stated) == (None, {})
