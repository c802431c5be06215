"""Asking in batches: limits kept, failures asked again, and after a kill no request is paid for twice."""

import json
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai import batch

from .conftest import KEY, RATES, Shard, killed_when, vignettes
from .server import Endpoint, Fault, about

RATES = {**RATES, "batch_discount": 0.5}


def sizes(endpoint: Endpoint) -> list[int]:
    """Return the number of requests of each batch, voided ones included."""
    return [len(endpoint.files[b["input_file_id"]].splitlines()) for b in endpoint.batches.values()]


def live_file(shard: Shard) -> bytes:
    """Return the file of the same questions, asked live."""
    live = Shard(shard.folder / "live", shard.endpoint)
    live.ask()
    return live.out.read_bytes()


def test_batch_and_live_give_the_same_file_for_half_the_price(batched):
    batched.tuning["rates"] = RATES
    batched.ask()
    assert batched.endpoint.keys == {f"Bearer {KEY}"}
    assert batched.out.read_bytes() == live_file(batched)
    assert sizes(batched.endpoint) == [120]
    assert batched.last_run()["mode"] == "batch"
    assert batched.last_run()["usd"] == pytest.approx(120 * 0.006)
    line = json.loads(batched.endpoint.files["file-in-0"].splitlines()[0])
    assert set(line) == {"custom_id", "method", "url", "body"}
    assert line["url"] == "/v1/chat/completions"
    assert line["body"]["max_tokens"] == 100


def test_files_keep_to_the_limits(batched, monkeypatch):
    monkeypatch.setattr(batch, "BYTES", 10_000)
    batched.ask(most_requests=50)
    assert sum(sizes(batched.endpoint)) == 120
    for sent in batched.endpoint.batches.values():
        data = batched.endpoint.files[sent["input_file_id"]]
        assert len(data) <= 10_000
        assert len(data.splitlines()) <= 50


@pytest.mark.parametrize(("way", "again"), [("failed", 6), ("expired", 60)])
def test_what_failed_or_expired_once_is_asked_again_and_nothing_else(batched, way, again):
    fails = about(3, Fault(500))
    if way == "failed":
        batched.endpoint.line_fault = lambda times, body: None if times else fails(times, body)
    else:
        batched.endpoint.batch_end = lambda number, requests: "completed" if number else "expired"
    assert batched.ask()["text"].notna().all()
    assert sizes(batched.endpoint) == [120, again]
    assert set(batched.billed) == {1}


def test_batches_that_always_expire_end_the_job(batched):
    batched.endpoint.batch_end = lambda number, requests: "expired"
    with pytest.raises(EngineError, match="expired unanswered in 3 batches"):
        batched.ask()
    assert batched.journal().read().num_rows == 60 + 30 + 15


@pytest.mark.parametrize(
    ("fault", "sent"),
    [(Fault(400, "content_policy_violation", "no"), [120]), (Fault(500), [120, 6, 6])],
    ids=["refused", "failed in three rounds"],
)
def test_a_prompt_without_answer_is_an_error(batched, fault, sent):
    batched.endpoint.line_fault = about(3, fault)
    responses = batched.ask()
    assert set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {3}
    assert sizes(batched.endpoint) == sent


def test_quota_in_the_middle_keeps_what_was_answered_and_goes_on_later(batched):
    batched.endpoint.line_fault = about(3, Fault(429, "insufficient_quota", "no money"))
    with pytest.raises(EngineError, match="no money"):
        batched.ask()
    assert batched.journal().read().num_rows == 114
    batched.endpoint.line_fault = lambda times, body: None
    batched.ask()
    assert sizes(batched.endpoint) == [120, 6]


def test_a_full_queue_makes_smaller_batches_one_after_the_other(batched, monkeypatch):
    monkeypatch.setattr(batch, "SMALLEST", 10)
    batched.endpoint.batch_end = lambda number, requests: (
        "failed:token_limit_exceeded" if len(requests) > 40 else "completed"
    )
    assert batched.ask()["text"].notna().all()
    assert set(batched.billed) == {1}
    assert sizes(batched.endpoint) == [120, 60, 30, 30, 30, 30]


def test_a_known_queue_limit_is_never_passed(batched):
    batched.tuning["limits"] = {"enqueued_tokens": 3000}
    waiting: list[int] = []
    create = batched.endpoint.create_batch

    def count(given: dict[str, Any]) -> dict[str, Any]:
        made = create(given)
        running = [b for b in batched.endpoint.batches.values() if b["status"] == "in_progress"]
        size = sum(len(batched.endpoint.files[b["input_file_id"]]) for b in running)
        waiting.append(80 * (size // 500))
        return made

    batched.endpoint.create_batch = count  # type: ignore[method-assign]
    batched.ask()
    assert len(batched.endpoint.batches) > 1
    assert max(waiting) <= 3000
    assert set(batched.billed) == {1}


@pytest.mark.parametrize(
    ("every_line", "message"), [(True, "would be refused"), (False, "may have been retired")]
)
def test_a_batch_that_fails_as_a_whole_says_why_and_nothing_is_recorded(batched, every_line, message):
    if every_line:
        batched.endpoint.line_fault = lambda times, body: Fault(400, "invalid_request", "no such thing")
    else:
        batched.endpoint.batch_end = lambda number, requests: "failed:model_not_found"
    with pytest.raises(EngineError, match=message):
        batched.ask()
    assert batched.journal().read().num_rows == 0


def test_a_cancelled_batch_stops_and_its_replies_are_kept(batched):
    batched.endpoint.batch_end = lambda number, requests: "cancelled" if number == 0 else "completed"
    with pytest.raises(EngineError, match="was cancelled"):
        batched.ask()
    assert batched.journal().read().num_rows == 60
    batched.ask()
    assert sizes(batched.endpoint) == [120, 60]


def test_a_spoilt_download_is_fetched_again(batched):
    batched.endpoint.spoil_download = lambda number, data: data[: len(data) // 2 - 7] if number == 1 else data
    batched.ask()
    assert batched.endpoint.downloads == 2
    assert sizes(batched.endpoint) == [120]


@pytest.mark.parametrize(
    ("method", "after"),
    [("_create", False), ("_create", True), ("_submit", True), ("_harvest", True), (None, True)],
    ids=["noted", "created", "submitted", "harvested", "the reply to create was lost"],
)
def test_a_killed_job_finds_its_batches_again(batched, method, after, monkeypatch):
    if method is None:
        batched.endpoint.lose_create = 1
    else:
        killed_when(batched, method, monkeypatch, after)
    batched.ask()
    assert sizes(batched.endpoint) == [120]
    assert set(batched.billed) == {1}
    assert batched.out.read_bytes() == live_file(batched)


def test_other_shards_take_their_part_of_an_old_batch_and_other_settings_nothing(batched, monkeypatch):
    killed_when(batched, "_submit", monkeypatch)
    for number in (1, 2, 3):
        batched.changes = {"shard": f"{number}-of-3"}
        assert len(batched.ask()) == 40
    assert sizes(batched.endpoint) == [120]
    assert set(batched.billed) == {1}
    batched.changes = {"max_tokens": 50}
    batched.ask()
    assert sizes(batched.endpoint) == [120, 120]


def test_the_cap_holds_for_batches(batched):
    batched.tuning |= {"rates": RATES, "max_cost_usd": 0.5}
    with pytest.raises(EngineError, match="could exceed max_cost_usd"):
        batched.ask()
    spent = sum(batched.billed) * 0.006
    assert 0.3 < spent <= 0.5
    batched.tuning["max_cost_usd"] = 5.0
    batched.ask()
    assert set(batched.billed) == {1}


def test_a_killed_jobs_reservation_is_taken_over(batched, monkeypatch):
    """A batch costs 0.72 and reserves about 9: without taking over, the cap would be exceeded on paper."""
    batched.tuning |= {"rates": RATES, "max_cost_usd": 12.0}
    killed_when(batched, "_submit", monkeypatch)
    batched.ask()
    other = Shard(
        batched.folder, batched.endpoint, tuning=batched.tuning, changes={"seed": 8}, flows=vignettes(5)
    )
    other.ask()
    ledger = (batched.folder / "responses/.spending").glob("*.json")
    assert sum(json.loads(path.read_bytes())["usd"] for path in ledger) == pytest.approx(150 * 0.006)
