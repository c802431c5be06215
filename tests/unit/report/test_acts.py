"""The finding on actions: a sentence per model; and the way from a flow's gap to an action that shows it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cinorms.core.scale_files import load_scale
from cinorms.core.scales import FOLDER
from cinorms.report.findings import ALL_FLOWS, _acts
from cinorms.report.page import _to_flow
from cinorms.report.results import AnswerCodes


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
    assert found is not None
    assert found.number == "51%"
    assert found.text == (
        "m shares a sensitive item in 51% of its actions in the 1,457 flows that it calls unacceptable "
        "(95% interval: 40% to 60%). n shares a sensitive item in 25% of its actions in the 1,457 flows that people "
        "call unacceptable (95% interval: 40% to 60%)."
    )


def test_nothing_called_unacceptable_is_no_finding():
    assert _acts(results({"shares_given_no": float("nan")})) is None
    assert _acts(SimpleNamespace(tables_of=lambda kind: iter([]))) is None  # type: ignore[arg-type]


def test_models_whose_actions_could_not_be_read_come_first():
    rows = [("m", 50, 25), ("n", 50, 24), ("o", 50, 50)]
    needless = pd.DataFrame(rows, columns=["model", "actions", "not_read"])
    said = results({"shares_given_no": 0.51}).tables_of
    shown: Any = SimpleNamespace(
        tables_of=lambda kind: iter([needless]) if kind == "needless" else said(kind)
    )
    found = _acts(shown)
    assert found is not None
    assert found.text.startswith(
        "25 of 50 actions of m could not be read; what follows is about the others. 50 of"
    )
    assert "of n could not" not in found.text
    assert found.number == "51%"
    shown = SimpleNamespace(tables_of=lambda kind: iter([needless] if kind == "needless" else []))
    found = _acts(shown)
    assert found is not None
    assert (found.number, found.unit) == ("100%", "of the actions of o could not be read")


@pytest.mark.parametrize(
    ("row", "address"),
    [
        ({"flow": "7", "gap": "0.5"}, "#explorer?arm=act&model=m&flow=7&variant=1_0"),
        ({"flow": "7", "gap": "-0.5"}, "#explorer?arm=act&model=m&flow=7&variant=2_0"),
        ({"flow": "9", "gap": "-0.5"}, "#explorer?arm=act&model=m&flow=9"),  # nothing there could be read
        ({"flow": "7"}, "#explorer?arm=act&model=m&flow=7"),
        ({"flow": "7", "model": "n"}, ""),
        ({"flow": "7", "arm": "act, say"}, ""),
    ],
)
def test_a_flow_leads_to_an_action_that_shows_its_gap(row, address):
    scale = load_scale(FOLDER / "disclosure.yaml")
    answers = np.array([[3, 2, 0, 2], [4, 4, 255, 4]], dtype=np.uint8)
    codes = AnswerCodes(np.array([7, 9]), answers, np.zeros((2, 4), np.uint16), scale)
    prompts = pd.DataFrame({"variant": ["0_0", "1_0", "2_0", "3_0"]})
    shown: Any = SimpleNamespace(codes={("act", "m"): codes}, prompts={"act": prompts})
    assert _to_flow(shown, {"arm": "act", "model": "m", **row}) == address
