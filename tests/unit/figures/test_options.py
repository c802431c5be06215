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
ANALYSES = {
    "counts": {"kind": "answer_counts", "arms": ["main"]},
    "regression": {
        "kind": "ordinal_regression",
        "arms": ["main"],
        "models": ["planted-gpt-4o-mini"],
        "factors": ["sender"],
    },
}
TWO = ["planted-gpt-4o-mini", "planted-llama-3.1-8b"]


def load(build_study: Any, **entry: Any) -> Any:
    figures = {"fig": {"arms": ["main"], **entry}}
    return build_study({"study": "s", "arms": ARMS, "analyses": ANALYSES, "figures": figures})


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "norms"}, "figures.fig.models: a cell would have 8 parts .* allowed: 1, 2, 4"),
        ({"kind": "norms", "models": TWO, "arms": ["main", "toys"]}, "name arms of one dataset only"),
        (
            {"kind": "agreement", "arms": ["main", "toys"]},
            "figures.fig.arms: these arms use datasets iot, coppa",
        ),
        ({"kind": "norms", "models": TWO, "rows": ["sendr"]}, "figures.fig.rows: .*did you mean 'sender'"),
        (
            {"kind": "norms", "models": TWO, "columns": ["sender", "recipient"], "rows": ["sender"]},
            "'sender' has two places",
        ),
        (
            {"kind": "norms", "models": TWO, "rows": ["sender"]},
            "factors transmission_principle have several levels",
        ),
        ({"kind": "norms", "models": TWO, "select": {"sender": ["a fridge"]}}, "figures.fig.select.sender"),
        ({"kind": "delta", "by": "place"}, "figures.fig.by: 'place' is not a factor of dataset 'iot'"),
        (
            {"kind": "coefficients", "table": "counts"},
            "figures.fig.table: 'counts' is not a regression of this study",
        ),
        (
            {"kind": "coefficients", "table": "regression", "arms": ["toys"]},
            "figures.fig.arms: 'toys' is not an arm of analysis",
        ),
        ({"kind": "coefficients", "table": "regression", "models": TWO}, "model of analysis 'regression'"),
        (
            {"kind": "coefficients", "table": "regression", "factors": ["recipient"]},
            "factor of analysis 'regression'",
        ),
        ({"kind": "delta", "expected": "nowhere.csv"}, "figures.fig.expected: .*nowhere.csv"),
        ({"kind": "delta", "embedding": [1, 2, 3, 3, 5]}, "figures.fig.embedding: .*do not rise"),
        (
            {"kind": "distribution", "font": "DejaVu San"},
            "fig.font: 'DejaVu San' is not a font .*'DejaVu Sans'",
        ),
        ({"kind": "distribution", "palette": ["red", "blue"]}, "figures.fig.palette.*red"),
    ],
)
def test_a_mistake_is_one_message(build_study, entry, message):
    with pytest.raises(ConfigError, match=message):
        load(build_study, **entry)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "norms", "models": TWO, "pages": "sender"},
        {"kind": "norms", "models": TWO, "arms": ["toys"], "select": {"sender": ["a smart watch"]}},
        {
            "kind": "norms",
            "models": TWO,
            "arms": ["linked"],
            "rows": ["information_type"],
            "columns": ["recipient + transmission_principle"],
        },
        {"kind": "coefficients", "table": "regression", "factors": ["sender"]},
    ],
)
def test_what_can_be_drawn_is_let_through(build_study, entry):
    assert make_entry(load(build_study, **entry), "figures", "fig").selected
    first = make_entry(load(build_study, kind="norms", first=2), "figures", "fig")
    assert first.selected == tuple(("main", model) for model in TWO)
