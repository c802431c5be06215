"""The finding on actions: a sentence per model; and the way from a flow of a table to its replies."""

from types import SimpleNamespace
from typing import Any

import pandas as pd

from cinorms.report.findings import ALL_FLOWS, _acts


def results(*rows: dict[str, Any]) -> Any:
    usual = {"factor": ALL_FLOWS, "said_by": "m", "model": "m", "n_no": 1457}
    table = pd.DataFrame(
        [{**usual, "shares_given_no_low": 0.4, "shares_given_no_high": 0.6, **row} for row in rows]
    )
    return SimpleNamespace(tables_of=lambda kind: iter([table] if kind == "say_do" else []))


def test_a_sentence_per_model():
    found = _acts(
        results(
            {"shares_given_no": 0.51},
            {"shares_given_no": 0.9, "factor": "sender"},
            {"shares_given_no": 0.7},
            {"shares_given_no": 0.25, "model": "n", "said_by": "people"},
        )
    )
    assert found.number == "51%"
    assert found.text == (
        "m shares a sensitive item in 51% of its actions in the 1,457 flows that it calls unacceptable "
        "(95% interval: 40% to 60%). n shares a sensitive item in 25% of its actions in the 1,457 flows that people "
        "call unacceptable (95% interval: 40% to 60%)."
    )


def test_nothing_called_unacceptable_is_no_finding():
    assert _acts(results({"shares_given_no": float("nan")})) is None
    assert _acts(SimpleNamespace(tables_of=lambda kind: iter([]))) is None


def test_models_whose_actions_could_not_be_read_come_first():
    rows = [("m", 50, 25), ("n", 50, 24), ("o", 50, 50)]
    needless = pd.DataFrame(rows, columns=["model", "actions", "not_read"])
    said = results({"shares_given_no": 0.51}).tables_of
    shown: Any = SimpleNamespace(
        tables_of=lambda kind: iter([needless]) if kind == "needless" else said(kind)
    )
    found = _acts(shown)
    assert found.text.startswith(
        "25 of 50 actions of m could not be read; what follows is about the others. 50 of"
    )
    assert "of n could not" not in found.text
    assert found.number == "51%"
    shown = SimpleNamespace(tables_of=lambda kind: iter([needless] if kind == "needless" else []))
    found = _acts(shown)
    assert (found.number, found.unit) == ("100%", "of the actions of o could not be read")
