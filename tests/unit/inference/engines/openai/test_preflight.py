"""What one request tells of an endpoint before a study is asked, and what it never gives away."""

from datetime import date
from pathlib import Path

import pytest

from cinorms.inference.engine_kind import Surroundings
from cinorms.inference.engines.openai.preflight import look_at_endpoints, look_at_ends, look_at_prices

from .....asking import make_model
from .....faults.server import Endpoint, Fault

KEY = "sk-planted-preflight-1"


@pytest.fixture
def endpoint():
    with Endpoint() as running:
        running.models = ["gpt-planted", "models/gemini-planted"]
        yield running


def look(url, key=KEY, cluster=False, **changes):
    """Return what is found about one model: severity and text."""
    stated = {"engine": "openai", "source": "gpt-planted", "base_url": url, "key_variable": "A_KEY"}
    entry = make_model("audited", **{name: v for name, v in (stated | changes).items() if v is not None})
    found = look_at_endpoints([entry], Surroundings(Path(), {"A_KEY": key} if key else {}, cluster))
    return None if found is None else [(each.severity, each.text) for each in found]


@pytest.mark.parametrize("source", ["gpt-planted", "gemini-planted"])
def test_a_model_that_the_endpoint_lists_is_all_right_and_nothing_is_asked(endpoint, source):
    assert look(endpoint.url, source=source) == look(endpoint.url + "/", source=source) == []
    assert (endpoint.got, endpoint.bodies) == (["/v1/models", "/v1/models"], [])


def test_a_model_that_is_missing_in_the_list_is_looked_up_by_its_name(endpoint):
    ((severity, text),) = look(endpoint.url, source="gpt-plantd/x")
    assert severity == "error"
    begin = f"audited at {endpoint.url}: does not know model 'gpt-plantd/x'; it has gpt-planted"
    assert text.startswith(begin)
    assert "did you mean 'gpt-planted'?" in text
    assert endpoint.got[-1] == "/v1/models/gpt-plantd%2Fx"


@pytest.mark.parametrize(
    ("fault", "severity", "words"),
    [
        (
            Fault(401, message=f"{KEY} is wrong"),
            "warning",
            "(status 401), so only asking shows whether the key in A_KEY",
        ),
        (Fault(403), "warning", "does not list its models (status 403)"),
        (Fault(500), "warning", "answers with status 500"),
        (Fault(429), "warning", "answers with status 429"),
        (Fault(404), "warning", "does not list its models"),
        (Fault(200, content=b"<html>"), "warning", "does not list its models"),
        (Fault(200, content=b'{"data": {}}'), "warning", "does not list its models"),
        (Fault(302, headers={"Location": "http://127.0.0.1:9/v1"}), "error", "redirects to another address"),
        (Fault(way="drop"), "error", "does not answer ("),
    ],
)
def test_what_else_an_endpoint_may_say(endpoint, fault, severity, words):
    endpoint.get_fault = fault
    ((found, text),) = look(endpoint.url)
    assert (found, words in text, KEY in text) == (severity, True, False), text
    assert endpoint.keys == {f"Bearer {KEY}"}
    assert endpoint.got.count("/v1/models") == 1


def test_an_endpoint_that_does_not_answer_may_still_answer_a_cluster():
    for cluster, severity, words in (
        (False, "error", "ConnectionRefusedError"),
        (True, "warning", "asked from this machine"),
    ):
        ((found, text),) = look("http://127.0.0.1:9/v1", cluster=cluster)
        assert (found, words in text) == (severity, True), text


@pytest.mark.parametrize("key", ["sk-secret\n", "sk-secret\nX-Injected: 1", "sk-secret-\u20ac"])
def test_a_key_that_no_header_can_hold_is_not_shown(endpoint, key):
    ((severity, text),) = look(endpoint.url, key=key)
    begin = f"audited at {endpoint.url}: the key in A_KEY has characters that a request cannot hold"
    assert (severity, text.startswith(begin), "secret" in text) == ("error", True, False)
    assert endpoint.got == []


def test_without_its_key_an_endpoint_is_not_asked_and_one_of_ones_own_gets_none(endpoint, monkeypatch):
    assert look(endpoint.url, key="") is None
    assert endpoint.got == []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    endpoint.get_fault = Fault(401)
    ((_, text),) = look(endpoint.url, key_variable=None)
    assert "only asking shows whether it needs no key (key_variable names one)" in text
    assert endpoint.keys == {"Bearer none"}


def test_a_cap_needs_prices():
    rates = {"usd_per_million_input": 1, "usd_per_million_output": 0}
    priced = make_model("priced", engine="openai", source="s", rates=rates)
    free = make_model("free", engine="openai", source="s", rates={"usd_per_million_input": 1})
    assert look_at_prices([priced, free], Surroundings(Path(), {})) is None
    (finding,) = look_at_prices([priced, free], Surroundings(Path(), {}, cap=5))
    assert finding.text.startswith("free: max_cost_usd (5) needs its price; add rates.usd_per_million_input")


def test_prices_of_more_than_six_months_are_old():
    rates = {"usd_per_million_input": 1, "usd_per_million_output": 2}
    dated = make_model("dated", engine="openai", source="s", rates={**rates, "read": "2026-05-29"})
    assert dated.old_price(date(2026, 11, 28)) == ""
    assert dated.old_price(date(2026, 11, 29)) == (
        "dated: its prices were read on 2026-05-29; look them up and correct `rates` in config/models.yaml"
    )
    assert make_model("m", engine="openai", source="s", rates=rates).old_price(date(2036, 1, 1)) == ""


def test_a_model_that_ends_within_sixty_days_is_named():
    old, gone, stays = (
        make_model(name, engine="openai", source="s", **stated)
        for name, stated in (("old", {"ends": "2027-01-14"}), ("gone", {"ends": "2024-01-14"}), ("new", {}))
    )
    assert [old.ending(date(2026, 11, 14)), stays.ending(date(2030, 1, 1))] == ["", ""]
    assert old.ending(date(2026, 11, 15)).startswith("old: its endpoint stops serving it on 2027-01-14;")
    assert [found.severity for found in look_at_ends([gone, stays], Surroundings(Path(), {}))] == ["warning"]
