"""The finding on actions: a sentence per model; and the way from a flow of a table to its replies."""

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pandas as pd

from cinorms.report.findings import ALL_FLOWS, acts

SHARES = {"shares_given_no": 0.51}


def results(
    *rows: dict[str, Any], needless: Mapping[str, list[tuple[str, int, int]]] = MappingProxyType({})
) -> Any:
    """Return a study with these rows of a table of what is said and done, and of actions (all, unread) per arm."""
    usual = {"factor": ALL_FLOWS, "said_by": "m", "model": "m", "n_no": 1457}
    usual |= {"shares_given_no_low": 0.4, "shares_given_no_high": 0.6}
    columns = ["model", "actions", "not_read"]
    tables = {
        "say_do": [pd.DataFrame([{**usual, **row} for row in rows])] if rows else [],
        "needless": [pd.DataFrame(of, columns=columns).assign(arm=arm) for arm, of in needless.items()],
    }
    return SimpleNamespace(tables_of=lambda kind: iter(tables[kind]), nouns=lambda models: "models")


def test_models_are_listed_once_who_shares_most_first():
    rows = [
        {"shares_given_no": 0.51},
        {"shares_given_no": 0.9, "factor": "sender"},
        {"shares_given_no": 0.7},
        {"shares_given_no": 0.75, "model": "n", "said_by": "people"},
    ]
    found = acts(results(*rows))
    assert found.headline == (
        "As agents, two models share a sensitive item in 51% to 75% of their actions in flows called unacceptable"
    )
    assert found.text == (
        "Actions that share a sensitive item in flows called unacceptable (95% interval, flows): n 75% (40% to 60%, "
        "1,457 flows that people call so); m 51% (40% to 60%, 1,457 flows)."
    )
    few = {"model": "o", "shares_given_no": 0.8, "n_no": 9}
    found = acts(results(rows[0], {**rows[3], "said_by": "n"}, few))
    assert found.headline == (
        "As agents, two of three models share a sensitive item in 51% to 75% of their actions in flows that they call "
        "unacceptable"
    )
    start = "Actions that share a sensitive item in flows that the model calls unacceptable (95%"
    assert found.text.startswith(start)
    of_people = acts(results(rows[3], {**rows[3], "model": "o"}))
    assert "in flows that people call unacceptable" in of_people.headline


def test_of_one_model_a_sentence_is_enough():
    found = acts(results(SHARES))
    says = "m shares a sensitive item in 51% of its actions in the 1,457 flows that it calls unacceptable"
    assert found.headline == f"As an agent, {says}"
    assert found.text == f"{says} (95% interval: 40% to 60%)."
    few = {"model": "o", "shares_given_no": 0.8, "n_no": 9}
    assert acts(results(SHARES, few)).headline == f"As an agent, {says}"


def test_nothing_called_unacceptable_is_no_finding():
    assert acts(results({"shares_given_no": float("nan")})) is None
    assert acts(results()) is None


def test_actions_that_could_not_be_read_come_first():
    unread = [("m", 50, 25), ("n", 50, 24), ("o", 50, 50)]
    found = acts(results(SHARES, needless={"act": unread}))
    ends = ("25 of 50 actions of m could not be read", " 50 of 50 actions of o could not be read")
    others = "; what follows is about the others."
    assert found.text.startswith(f"{ends[0]}{others}{ends[1]}{others} m shares a sensitive item in 51%")
    found = acts(results(needless={"act": unread}))
    assert (found.headline, found.text) == ("", f"{ends[0]}.{ends[1]}.")
    # Of several arms each is named.
    assert acts(results(needless={"act": [("m", 10, 6)], "later": [("m", 10, 6)]})).text == (
        "6 of 10 actions of m in arm act could not be read. 6 of 10 actions of m in arm later could not be read."
    )
