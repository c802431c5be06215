"""Mistakes in a figure's entry are found before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

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
        ({"kind": "norms", "models": TWO, "arms": ["main", "toys"]}, "arms of one dataset are needed"),
        ({"kind": "norms", "models": TWO, "rows": ["sendr"]}, "figures.fig.rows: .*did you mean 'sender'"),
        (
            {"kind": "norms", "models": TWO, "pages": "receiver"},
            "figures.fig.pages: factor of dataset 'iot' 'receiver'",
        ),
        (
            {"kind": "norms", "models": TWO, "columns": ["sender", "recipient"], "rows": ["sender"]},
            "'sender' has two places",
        ),
        (
            {"kind": "norms", "models": TWO, "rows": ["sender"]},
            "factors transmission_principle have several levels",
        ),
        ({"kind": "norms", "models": ["gpt"]}, "did you mean|allowed"),
        ({"kind": "norms", "models": TWO, "select": {"sender": ["a fridge"]}}, "figures.fig.select.sender"),
        ({"kind": "norms", "models": TWO, "hight": 3}, "did you mean 'height'"),
        ({"kind": "delta", "by": "place"}, "figures.fig.by: factor of dataset 'iot' 'place' is not known"),
        (
            {"kind": "coefficients", "table": "counts"},
            "figures.fig.table: analysis with terms 'counts' is not known",
        ),
        ({"kind": "coefficients", "table": "regresion"}, "did you mean 'regression'"),
        (
            {"kind": "coefficients", "table": "regression", "arms": ["toys"]},
            "figures.fig.arms: arm of analysis",
        ),
        ({"kind": "coefficients", "table": "regression", "models": TWO}, "model of analysis 'regression'"),
        (
            {"kind": "coefficients", "table": "regression", "factors": ["recipient"]},
            "factor of analysis 'regression'",
        ),
        ({"kind": "coefficients"}, "key 'table' is missing"),
        ({"kind": "variance", "over": "moods"}, "figures.fig.over"),
    ],
)
def test_a_mistake_is_one_message(build_study, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(build_study, **entry)


@pytest.mark.parametrize(
    "entry",
    [
        {"kind": "norms", "first": 2},
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
def test_what_can_be_drawn_is_let_through(build_study, entry: dict[str, Any]) -> None:
    study = load(build_study, **entry)
    assert study.entry("figures", "fig")["selected"]


def test_first_takes_the_first_models_of_the_study(build_study) -> None:
    entry = load(build_study, kind="norms", first=2).entry("figures", "fig")
    assert entry["selected"] == [["main", model] for model in TWO]
