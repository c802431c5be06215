"""The finding on actions: a sentence per model; and the way from a flow of a table to its replies."""

from types import SimpleNamespace
from typing import Any

import pandas as pd

from cinorms.report.findings import ALL_FLOWS, acts


def results(*rows: dict[str, Any]) -> Any:
    usual = {"factor": ALL_FLOWS, "said_by": "m", "model": "m", "n_no": 1457}
    table = pd.DataFrame(
        [{**usual, "shares_given_no_low": 0.4, "shares_given_no_high": 0.6, **row} for row in rows]
    )
    tables = {"say_do": [table]}
    return SimpleNamespace(tables_of=lambda kind: iter(tables.get(kind, [])), nouns=lambda models: "models")


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
    found = acts(
        results(rows[0], {**rows[3], "said_by": "n"}, {"model": "o", "shares_given_no": 0.8, "n_no": 9})
    )
    assert found.headline == (
        "As agents, two of three models share a sensitive item in 51% to 75% of their actions in flows that they call "
        "unacceptable"
    )
    assert found.text.startswith(
        "Actions that share a sensitive item in flows that the model calls unacceptable (95%"
    )
    assert (
        "in flows that people call unacceptable" in acts(results(rows[3], {**rows[3], "model": "o"})).headline
    )


def test_of_one_model_a_sentence_is_enough():
    found = acts(results({"shares_given_no": 0.51}))
    says = "m shares a sensitive item in 51% of its actions in the 1,457 flows that it calls unacceptable"
    assert found.headline == f"As an agent, {says}"
    assert found.text == f"{says} (95% interval: 40% to 60%)."
    few = {"model": "o", "shares_given_no": 0.8, "n_no": 9}
    assert acts(results({"shares_given_no": 0.51}, few)).headline == f"As an agent, {says}"


def test_actions_that_could_not_be_read_come_first_and_name_the_arm_where_there_are_several():
    rows = [{"arm": arm, "model": "m", "actions": 10, "not_read": 6} for arm in ("act", "later")]
    tables = {"needless": [pd.DataFrame([row]) for row in rows]}
    found = acts(SimpleNamespace(tables_of=lambda kind: iter(tables.get(kind, []))))
    assert found.text == (
        "6 of 10 actions of m in arm act could not be read. 6 of 10 actions of m in arm later could not be read."
    )


def test_nothing_called_unacceptable_is_no_finding():
    assert acts(results({"shares_given_no": float("nan")})) is None
    assert acts(SimpleNamespace(tables_of=lambda kind: iter([]))) is None


def test_models_whose_actions_could_not_be_read_come_first():
    rows = [("m", 50, 25), ("n", 50, 24), ("o", 50, 50)]
    needless = pd.DataFrame(rows, columns=["model", "actions", "not_read"])
    shown = results({"shares_given_no": 0.51})
    said, shown.tables_of = (
        shown.tables_of,
        lambda kind: iter([needless]) if kind == "needless" else said(kind),
    )
    found = acts(shown)
    assert found.text.startswith(
        "25 of 50 actions of m could not be read; what follows is about the others. 50 of"
    )
    assert "of n could not" not in found.text
    assert "m shares a sensitive item in 51%" in found.text
    shown.tables_of = lambda kind: iter([needless] if kind == "needless" else [])
    found = acts(shown)
    assert found.text == "25 of 50 actions of m could not be read. 50 of 50 actions of o could not be read."
    assert not found.headline
