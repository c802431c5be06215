"""Prompts exported by the workflow, responses imported by it: the same answers as a study that asked itself."""

import json
import shutil
from typing import Any

import pandas as pd
import pytest

from cinorms.core import tables

from ..snakemake_runs import add_model
from .conftest import MAIN, SMALL, Project

MODEL = "planted-gpt-4o-mini"


def elsewhere(name: str, **arm: Any) -> dict[str, Any]:
    """Return the small study with responses from elsewhere."""
    received = {"source": "responses", "response_format": "plain", "models": [MODEL]}
    main = {**MAIN, **received, **arm}
    return {**SMALL, "study": name, "models": [MODEL], "arms": {"main": main}, "figures": {}}


@pytest.fixture(scope="module")
def answered(finished: Project) -> Project:
    """Return a project in which the study's prompts were exported, and answered with what the model said directly."""
    finished.run("--configfile", "tiny.yaml", "--", "export_prompts_plain")
    exported = finished.folder / "results/tiny/exported/plain/main/prompts.jsonl"
    responses = pd.read_parquet(finished.folder / f"results/tiny/responses/main/{MODEL}.parquet")
    said = responses.set_index(["flow", "variant"])["text"]
    received = finished.folder / "received"
    received.mkdir()
    lines = [json.loads(line) for line in exported.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len(responses)
    shutil.rmtree(exported.parents[2])
    asked = [(line["flow"], f"{line['template']}_{line['order']}") for line in lines]
    texts = [json.dumps({"id": line["id"], "text": said[at]}) for line, at in zip(lines, asked, strict=True)]
    (received / f"{MODEL}.jsonl").write_text("\n".join(texts) + "\n", encoding="utf-8")
    half = len(texts) // 2
    for number, part in enumerate((texts[half:], texts[:half])):
        (received / f"parts-{MODEL}-{number}.jsonl").write_text("\n".join(part) + "\n", encoding="utf-8")
    return finished


def test_the_answers_are_those_of_the_study_that_asked(answered):
    study = elsewhere("from", response_files="received/parts-{model}-*.jsonl", response_origin="a test")
    answered.write("from.yaml", study)
    answered.run("--configfile", "from.yaml")
    there, here = (answered.folder / "results" / name for name in ("from", "tiny"))
    # A file of answers also states its study.
    given, own = (tables.read(of / f"answers/main/{MODEL}.parquet", tables.ANSWERS) for of in (there, here))
    pd.testing.assert_frame_equal(given, own)
    norms = f"norms/main/{MODEL}.parquet"
    assert (there / norms).read_bytes() == (here / norms).read_bytes()
    (received,) = json.loads((there / "provenance.json").read_text(encoding="utf-8"))["received"]
    assert (received["origin"], received["unmatched"]) == ("a test", {})
    answers = pd.read_parquet(there / f"answers/main/{MODEL}.parquet")
    assert received["used"] == received["received"] == len(answers)
    page = (there / "report/appendix.html").read_text(encoding="utf-8")
    assert "another tool" in page
    assert "a test" in page
    assert str(answered.folder) not in page


def test_what_is_missing_is_listed_and_the_study_goes_on(answered):
    folder = answered.folder / "received"
    lines = (folder / f"{MODEL}.jsonl").read_text(encoding="utf-8").splitlines()
    foreign = json.dumps({"input": "What is the capital of France?", "text": "Paris"})
    (folder / "short.jsonl").write_text("\n".join([*lines[:-2], foreign]) + "\n", encoding="utf-8")
    answered.write("short.yaml", elsewhere("short", response_files="received/short.jsonl"))
    assert f"Not matched  results/short/responses/main/{MODEL}.unmatched.csv" in answered.run(
        "--configfile", "short.yaml"
    )
    results = answered.folder / "results/short"
    listed = pd.read_csv(results / f"responses/main/{MODEL}.unmatched.csv")
    assert listed["reason"].tolist() == ["unknown_prompt", "not_received", "not_received"]
    assert listed["text"].tolist()[0] == "Paris"
    assert len(pd.read_parquet(results / f"answers/main/{MODEL}.parquet")) == len(lines) - 2
    log = (answered.folder / f"logs/short/import_responses/main/{MODEL}.log").read_text(encoding="utf-8")
    assert "2 were not received; 1 of" in log
    page = (results / "report/appendix.html").read_text(encoding="utf-8")
    assert "origin not stated" in page
    answered.write("absent.yaml", elsewhere("absent", response_files="received/absent-*.jsonl"))
    assert "received/absent-*.jsonl" in answered.run("-n", "--configfile", "absent.yaml", ok=False)


def test_a_key_of_a_model_in_the_files_is_in_nothing_that_is_kept(answered, monkeypatch):
    key = "sk-of-a-test-0123456789"
    monkeypatch.setenv("KEY_OF_A_TEST", key)
    entry = {"engine": "openai", "family": "f", "source": "m", "base_url": "http://gpu17:8000/v1"}
    add_model(answered.folder, remote={**entry, "key_variable": "KEY_OF_A_TEST"})
    texts = (answered.folder / f"received/{MODEL}.jsonl").read_text(encoding="utf-8").splitlines()
    lines = list(map(json.loads, texts))
    for line in lines[:9]:
        line |= {"text": f"{line['text']} (asked with {key})", "model": f"m of {key}"}
    (answered.folder / "received/remote.jsonl").write_text(
        "\n".join(map(json.dumps, lines)), encoding="utf-8"
    )
    study = elsewhere("leaks", models=["remote"], response_files="received/{model}.jsonl")
    answered.write("leaks.yaml", {**study, "models": ["remote"]})
    answered.run("--configfile", "leaks.yaml")
    results = answered.folder / "results/leaks"
    texts = pd.read_parquet(results / "responses/main/remote.parquet")["text"]
    assert texts.str.contains("(asked with [key])", regex=False).sum() == 9
    for path in (*results.rglob("*"), *(answered.folder / "logs/leaks").rglob("*")):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path
