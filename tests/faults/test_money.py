"""What an endpoint bills is what the ledger says or less, and within the cap, whatever becomes of the replies."""

import random
from contextlib import suppress
from typing import Any

import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engines.openai import live
from cinorms.prompts.variants import PAPER_REQUESTS

from .conftest import RATES, Asked, vignettes
from .server import Fault

pytestmark = pytest.mark.usefixtures("impatient")

#: A request may cost 0.1 dollars for its output, and not quite so much for its input.
LONGEST = 100
FAILURES = (
    *(Fault(way=way, billed=LONGEST) for way in ("drop", "reset", "truncate", "malformed", "hang")),
    *(Fault(status, billed=LONGEST) for status in (500, 503)),
    *(Fault(503), Fault(429, "rate_limit_exceeded"), Fault(408, "timeout")),
    Fault(400, "content_policy_violation"),
)


def long(asked: dict[str, Any], reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply as long as may be, at times."""
    reply["usage"]["completion_tokens"] = random.Random(str(asked["messages"])).choice((4, LONGEST))
    return reply


def ask(asked: Asked) -> None:
    """Ask, up to the cap."""
    with suppress(EngineError):
        asked.ask()
    assert asked.last_run()["status"] == "done" or asked.store.usd() > 0


@pytest.mark.parametrize("seed", range(20))
def test_nothing_exceeds_the_cap_and_nothing_billed_is_missing_in_the_ledger(asked, seed):
    chance = random.Random(seed)
    share, cap = chance.uniform(0.05, 0.6), chance.uniform(0.5, 6.0)
    asked.flows, asked.endpoint.reply = vignettes(5), long
    asked.runtime = {"rates": RATES, "max_usd": cap, "limits": {"concurrency": 8, "timeout": 0.3}}
    asked.endpoint.fault = lambda *given: chance.choice(FAILURES) if chance.random() < share else None
    ask(asked)
    ledger = asked.store.usd()
    assert asked.billed <= ledger <= cap
    assert asked.last_run()["usd"] == pytest.approx(ledger)
    assert asked.raw()["usd"].sum() < ledger or asked.endpoint.number == asked.n


def test_a_provider_that_bills_and_drops_every_reply_gets_no_more_than_the_cap(asked):
    asked.runtime = {"rates": RATES, "max_usd": 2.0}
    lost: dict[str, int] = {}

    def thrice(number: int, body: dict[str, Any]) -> Fault | None:
        prompt = body["messages"][0]["content"]
        lost[prompt] = lost.get(prompt, 0) + 1
        return Fault(way="drop", billed=4) if lost[prompt] <= 3 else None

    asked.endpoint.fault = thrice
    ask(asked)
    assert 0 < asked.billed <= asked.store.usd() <= 2.0


def test_where_no_limit_is_sent_the_usage_is_believed_and_only_what_is_under_way_exceeds_the_cap(asked):
    asked.changes, at_once = {"layout": PAPER_REQUESTS[0]}, 4
    asked.runtime = {"rates": RATES, "max_usd": 12.0, "limits": {"concurrency": at_once}}
    asked.endpoint.reply = lambda body, reply: {
        **reply,
        "usage": {"prompt_tokens": 80, "completion_tokens": 2_000},
    }
    ask(asked)
    each = 0.008 + 2.0
    assert "max_tokens" not in asked.endpoint.bodies[0]
    assert asked.billed == pytest.approx(each * asked.endpoint.number) == pytest.approx(asked.store.usd())
    assert 12.0 - each < asked.billed <= 12.0 + at_once * each
    # A reply that states no usage counts as the longest one so far.
    asked.endpoint.reply = lambda body, reply: {**reply, "usage": {**reply["usage"], "completion_tokens": 0}}
    asked.runtime["max_usd"] = 5.0
    before = asked.endpoint.number
    ask(asked)
    assert asked.endpoint.number - before <= 5, "at least 1,000 tokens each"


# --- Outages


def outage(asked: Asked, fault: Fault, first: int = 100, requests: int = 10**9) -> None:
    """Let the endpoint fail after so many requests, for so many."""
    asked.endpoint.fault = lambda number, body: fault if first <= number < first + requests else None


@pytest.mark.parametrize("fault", [Fault(503), Fault(way="drop"), Fault(429, "rate_limit_exceeded")])
@pytest.mark.parametrize("first", [30, 115])
def test_an_outage_costs_no_reply_and_few_requests_whenever_it_comes(asked, fault, first):
    asked.runtime = {"limits": {"concurrency": 16}}
    outage(asked, fault, first, requests=150)
    assert asked.ask()["text"].notna().all()
    assert asked.endpoint.number <= 120 + 150 + 1  # one more tells a question that fails from an outage


@pytest.mark.parametrize("fault", [Fault(503), Fault(way="drop")])
def test_an_outage_that_does_not_end_ends_the_job_and_leaves_the_questions_open(asked, monkeypatch, fault):
    monkeypatch.setattr(live, "LONGEST_WAIT", 0.5)
    asked.runtime = {"limits": {"concurrency": 16}, "rates": RATES}
    outage(asked, fault)
    with pytest.raises(
        EngineError, match=r"check that the endpoint is up.*Every reply so far is in the store"
    ):
        asked.ask()
    raw, before = asked.raw(), asked.endpoint.number
    assert set(raw["finish_reason"]) == {"stop"}
    assert len(raw) == 100
    assert asked.store.usd() > raw["usd"].sum(), "what may have been billed"
    outage(asked, fault, requests=0)
    asked.ask()
    assert asked.endpoint.number == before + 20


@pytest.mark.parametrize("seed", range(20))
def test_outages_at_random_moments_lose_nothing_for_good(asked, monkeypatch, seed):
    chance = random.Random(seed)
    monkeypatch.setattr(live, "LONGEST_WAIT", 0.3)
    fault = chance.choice(
        [Fault(503), Fault(502, content=b"<html>"), Fault(200, content=b"<html>"), Fault(way="drop")]
    )
    asked.flows = vignettes(5)
    asked.runtime = {"limits": {"concurrency": chance.choice([1, 4, 16])}}
    outage(asked, fault, chance.randrange(30), chance.choice([5, 50, 10**9]))
    with suppress(EngineError):
        asked.ask()
    raw = asked.raw()
    lost = raw[raw["finish_reason"] == "error"]
    assert lost.empty or lost["failed"].all(), "the next run would not ask it"
    outage(asked, fault, requests=0)
    asked.ask()
    assert len(asked.raw()) == asked.n


@pytest.mark.parametrize("fault", [Fault(500), Fault(way="drop")])
def test_a_prompt_that_fails_alone_is_told_from_an_outage_and_kept_as_failed(asked, fault):
    asked.runtime = {"limits": {"concurrency": 4}, "rates": RATES}
    asked.endpoint.fault = lambda number, body: (
        fault if "picture 19 " in body["messages"][0]["content"] else None
    )
    responses, raw = asked.ask(), asked.raw()
    errors = raw[raw["finish_reason"] == "error"]
    assert set(errors["flow"]) == set(responses.loc[responses["finish_reason"] == "error", "flow"]) == {19}
    assert errors["failed"].all()
    assert len(errors) == 6
    assert set(errors["usd"]) == {0.0}, "its attempts were charged as they failed"
    assert asked.billed + 6 * 0.1 < asked.store.usd() == pytest.approx(asked.last_run()["usd"])
    assert sum(asked.endpoint.answered.values()) <= 114 + 6


def test_what_a_provider_refuses_is_no_failure(asked):
    asked.endpoint.fault = lambda number, body: (
        Fault(400, "content_policy_violation") if "picture 3 " in body["messages"][0]["content"] else None
    )
    asked.ask()
    assert "failed" not in asked.raw()
