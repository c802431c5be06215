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
from cinorms.inference.responses import collect, response_facts
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
    ranges, facts = collect(questions, store)
    tables.write_ranges(ranges, path, tables.RESPONSES, response_facts(questions))
    known = {"store": store.folder.name, **facts.plain(), "usd": store.usd(), "runs": store.runs()}
    path.with_suffix(".json").write_text(json.dumps(known))
    return path


def test_what_is_gathered(tmp_path):
    path = made(tmp_path)
    asked = [{**ENTRY, "responses": str(path)}, {**ENTRY, "arm": "same", "responses": str(path)}]
    asked.append({**ENTRY, "responses": str(made(tmp_path, max_tokens=9))})
    found = gather("s", asked, [])
    assert json.loads(json.dumps(found)) == found == gather("s", asked, [])
    model = found["asked"][0]
    assert model["responses"] == model["replies"] == 24
    assert model["finish_reasons"] == {"stop": 24}
    assert model["input_tokens"] == 24 * 80
    assert (model["errors"], model["answered_by"], model["fingerprints"]) == ({}, {"x": 24}, {"fp": 24})
    assert model["usd"] == pytest.approx(0.24)
    assert found["usd"] == pytest.approx(0.48), "two arms share a store, and what it cost"
    assert (model["first_reply"], model["last_reply"]) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:00Z")
    assert model["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    (run,) = model["runs"]
    assert (run["status"], run["device"], run["versions"]["cinorms"]) == ("done", "here", cinorms.__version__)
    assert not {"host", "process"} & set(run)
    assert json.loads(model["example_prompt"])[0]["content"].startswith("0 flow 0 [")


def test_responses_of_another_tool_say_where_they_are_from(tmp_path):
    path = made(tmp_path)
    entry = {"arm": "main", "model": "m", "responses": str(path)}
    with pytest.raises(DataError, match="does not state where its responses are from"):
        gather("s", [], [], [entry])
    table = tables.read(path, tables.RESPONSES)
    tables.write(table, path, tables.RESPONSES, {"elsewhere": '{"format": "plain"}'})
    found = gather("s", [], [], [entry])
    assert found["received"] == [{"arm": "main", "model": "m", "format": "plain"}]
    assert "received" not in gather("s", [], [])


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
