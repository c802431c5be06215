"""Options of figures: defaults, and mistakes in an entry that are found before anything runs."""

from typing import Any

import pytest

from cinorms.core.errors import ConfigError
from cinorms.study.entries import make_entry

ARMS = {
    "main": {"dataset": "iot", "prompts": "chatgpt"},
    "toys": {"dataset": "coppa", "prompts": "chatgpt"},
    "linked": {"dataset": "confaide_2a", "prompts": "confaide"},
}
FIT = {"kind": "ordinal_regression", "models": ["planted-gpt-4o-mini"], "factors": ["sender"]}
ANALYSES = {"counts": {"kind": "answer_counts", "arms": ["main"]}, "fit": {"arms": ["main"], **FIT}}
TWO = ["planted-gpt-4o-mini", "planted-llama-3.1-8b"]
#: The least entry of each kind.
LEAST = {"norms": {"models": TWO}, "coefficients": {"table": "fit"}}


def load(build_study: Any, kind: str, **entry: Any) -> Any:
    stated = {"kind": kind, "arms": ["main"], **LEAST.get(kind, {}), **entry}
    figure = {key: value for key, value in stated.items() if value is not None}
    return build_study({"study": "s", "arms": ARMS, "analyses": ANALYSES, "figures": {"fig": figure}})


@pytest.mark.parametrize(
    ("kind", "entry", "message"),
    [
        ("norms", {"models": None}, "figures.fig.models: a cell would have 8 parts .* allowed: 1, 2, 4"),
        ("norms", {"arms": ["main", "toys"]}, "name arms of one dataset only"),
        ("norms", {"rows": ["sendr"]}, "figures.fig.rows: .*did you mean 'sender'"),
        ("norms", {"columns": ["sender", "recipient"], "rows": ["sender"]}, "'sender' has two places"),
        ("norms", {"rows": ["sender"]}, "factors transmission_principle have several levels"),
        ("norms", {"select": {"sender": ["a fridge"]}}, "figures.fig.select.sender"),
        ("agreement", {"arms": ["main", "toys"]}, "figures.fig.arms: these arms use datasets iot, coppa"),
        ("delta", {"by": "place"}, "figures.fig.by: 'place' is not a factor of dataset 'iot'"),
        ("delta", {"expected": "nowhere.csv"}, "figures.fig.expected: .*nowhere.csv"),
        ("coefficients", {"table": "counts"}, "fig.table: 'counts' is not a regression of this study"),
        ("coefficients", {"arms": ["toys"]}, "figures.fig.arms: 'toys' is not an arm of analysis 'fit'"),
        ("coefficients", {"models": TWO}, "model of analysis 'fit'"),
        ("coefficients", {"factors": ["recipient"]}, "factor of analysis 'fit'"),
    ],
)
def test_a_mistake_is_one_message(build_study, kind, entry, message):
    with pytest.raises(ConfigError, match=message):
        load(build_study, kind, **entry)


LINKED = {"rows": ["information_type"], "columns": ["recipient + transmission_principle"]}


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("norms", {"pages": "sender"}),
        ("norms", {"arms": ["toys"], "select": {"sender": ["a smart watch"]}}),
        ("norms", {"arms": ["linked"], **LINKED}),
        ("norms", {"models": None, "first": 2}),
        ("coefficients", {"factors": ["sender"], "first": 2}),
    ],
)
def test_what_can_be_drawn_is_let_through(build_study, kind, entry):
    selected = make_entry(load(build_study, kind, **entry), "figures", "fig").selected
    assert selected == tuple((*entry.get("arms", ["main"]), model) for model in TWO)
