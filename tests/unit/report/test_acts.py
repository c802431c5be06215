"""The finding on actions: a sentence per model, and none where no flow is called unacceptable."""

from __future__ import annotations

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


def test_a_sentence_per_model() -> None:
    found = _acts(
        results(
            {"shares_given_no": 0.51},
            {"shares_given_no": 0.9, "factor": "sender"},
            {"shares_given_no": 0.7},
            {"shares_given_no": 0.25, "model": "n", "said_by": "people"},
        )
    )
    assert found is not None
    assert found.number == "51%"
    assert found.text == (
        "m shares a sensitive item in 51% of its actions in the 1,457 flows that it calls unacceptable "
        "(95% interval: 40% to 60%). n shares a sensitive item in 25% of its actions in the 1,457 flows that people "
        "call unacceptable (95% interval: 40% to 60%)."
    )


def test_nothing_called_unacceptable_is_no_finding() -> None:
    assert _acts(results({"shares_given_no": float("nan")})) is None
    assert _acts(SimpleNamespace(tables_of=lambda kind: iter([]))) is None  # type: ignore[arg-type]
