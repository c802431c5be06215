"""Provenance: what the files of responses say, and what is known of their replies, gathered."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import cinorms
from cinorms.core import tables
from cinorms.core.errors import DataError
from cinorms.inference.provenance import gather
from cinorms.inference.responses import collect, response_metadata
from cinorms.inference.store import Store

from ...asking import Echo, ask, make_questions

ENTRY = {"arm": "main", "model": "m", "planted": False}


def made(folder: Path, **changes: Any) -> Path:
    """Ask, collect, and return the file of responses, as the rule does."""
    questions = make_questions(6, **changes)
    about = {"usd": 0.01, "n_prompt_tokens": 80, "created": 1_800_000_000, "fingerprint": "fp"}
    about["answered_by"] = "x"
    ask(folder / ".replies", questions, engine=Echo(**about))
    path, store = folder / f"m{len(changes)}.parquet", Store(folder / ".replies", questions.request, "s")
    found, facts = collect(questions, store)
    tables.write(found, path, tables.RESPONSES, response_metadata(questions))
    known = {"store": store.folder.name, **facts, "usd": store.usd(), "runs": store.runs()}
    path.with_suffix(".json").write_text(json.dumps(known))
    return path


def test_what_is_gathered(tmp_path):
    path = made(tmp_path)
    asked = [{**ENTRY, "responses": str(path)}, {**ENTRY, "arm": "same", "responses": str(path)}]
    asked.append({**ENTRY, "responses": str(made(tmp_path, max_tokens=9))})
    coder = {"scale": "acceptability", "model": "m", "responses": str(path)}
    found = gather("s", asked, [])
    assert json.loads(json.dumps(found)) == found == gather("s", asked, [])
    assert (found["study"], found["cinorms"]) == ("s", cinorms.__version__)
    assert found["usd"] == pytest.approx(0.48), "two arms share a store, and what it cost"
    assert (
        gather("s", [], [coder])["coder"][0]["usd"] == gather("s", [], [coder])["usd"] == pytest.approx(0.24)
    )
    assert not {"coder", "received"} & set(found)
    model = found["asked"][0]
    (run,) = model.pop("runs")
    assert (run["status"], run["device"], run["versions"]["cinorms"]) == ("done", "here", cinorms.__version__)
    assert not {"host", "process", "study"} & set(run)
    example = model.pop("example_prompt")
    assert json.loads(example)[0]["content"].startswith("0 flow 0 [")
    for name in ("store", "request"):
        model.pop(name)
    assert model == {
        **ENTRY,
        "engine": "openai",
        "responses": 24,
        "replies": 24,
        "finish_reasons": {"stop": 24},
        "input_tokens": 24 * 80,
        "output_tokens": None,
        "errors": {},
        "failed": 0,
        "answered_by": {"x": 24},
        "fingerprints": {"fp": 24},
        "usd": pytest.approx(0.24),
        "first_reply": "2027-01-15T08:00:00Z",
        "last_reply": "2027-01-15T08:00:00Z",
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "example_prompt_sha256": hashlib.sha256(example.encode()).hexdigest(),
        "cinorms": cinorms.__version__,
    }


def test_responses_of_another_tool_say_where_they_are_from(tmp_path):
    path = made(tmp_path)
    entry = {"arm": "main", "model": "m", "responses": str(path)}
    with pytest.raises(DataError, match="does not state where its responses are from"):
        gather("s", [], [], [entry])
    table = tables.read(path, tables.RESPONSES)
    tables.write(table, path, tables.RESPONSES, {"elsewhere": '{"format": "plain"}'})
    assert gather("s", [], [], [entry])["received"] == [{"arm": "main", "model": "m", "format": "plain"}]


@pytest.mark.parametrize("facts", [{}, {"request": "{"}, {"request": "[]"}, {"request": "{}"}])
def test_responses_that_do_not_state_how_they_were_asked_are_one_message(tmp_path, facts):
    path = made(tmp_path)
    tables.write(tables.read(path, tables.RESPONSES), path, tables.RESPONSES, facts)
    with pytest.raises(DataError, match="does not state how its responses were asked; delete it and rerun"):
        gather("s", [{**ENTRY, "responses": str(path)}], [])


def test_planted_respondents_have_no_replies_in_a_store(tmp_path):
    path = made(tmp_path)
    path.with_suffix(".json").unlink()
    found = gather("s", [{**ENTRY, "planted": True, "responses": str(path)}], [])
    assert (found["usd"], found["asked"][0]["usd"], found["asked"][0]["runs"]) == (None, None, [])
