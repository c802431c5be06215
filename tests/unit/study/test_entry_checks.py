"""What does not fit together in an analysis or a figure gets one exact message."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import ARM, Build, figure, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "expected values that are not there": (
        {"analyses": {"d": {"kind": "delta", "arms": ["main"], "expected": "law.csv"}}, "figures": {}},
        "analyses.d.expected: 'law.csv' was given; there is no such file in the folder that the study runs in "
        "({cwd})",
    ),
    "numbers for the levels that do not rise": (
        {
            "analyses": {"d": {"kind": "delta", "arms": ["main"], "embedding": [-2, -1, 0, 0, 2]}},
            "figures": {},
        },
        "analyses.d.embedding: [-2, -1, 0, 0, 2] do not rise; make each number larger than the one before",
    ),
    "slices by what is no factor": (
        {"analyses": {"d": {"kind": "delta", "arms": ["main"], "by": ["recipiant"]}}, "figures": {}},
        "analyses.d.by: factor of arm 'main' 'recipiant' is not known; allowed: {factors}; "
        "did you mean 'recipient'?",
    ),
    "an unknown kind of figure": (
        figure(kind="distributon"),
        "figures.fig.kind: kind 'distributon' is not known; allowed: {figure_kinds}; "
        "did you mean 'distribution'?",
    ),
    "an unknown kind of analysis": (
        {"analyses": {"a": {"kind": "norm_count", "arms": ["main"]}}},
        "analyses.a.kind: kind 'norm_count' is not known; allowed: {analysis_kinds}; "
        "did you mean 'norm_counts'?",
    ),
    "an unknown key of a figure": (
        figure(widht=3),
        "figures.fig.widht: there is no such key here; allowed: arms, height, kind, models, title, width; "
        "did you mean 'width'?",
    ),
    "an unknown arm of a figure": (
        figure(arms=["mian"]),
        "figures.fig.arms: arm 'mian' is not known; allowed: main; did you mean 'main'?",
    ),
    "a figure of a model that its arms do not ask": (
        figure(models=["planted-uniform"]),
        "figures.fig.models: model of these arms 'planted-uniform' is not known; allowed: {asked}",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study: Build, names: dict[str, str], wrong: str) -> None:
    document, message = WRONG[wrong]
    assert message_of(build_study, document) == f"study.yaml: {message.format(**names)}"


def test_arms_of_ones_own_with_the_defaults_figures_say_what_to_do(build_study: Build) -> None:
    """The likeliest first mistake: a study file names its arms and forgets that figures name arms."""
    with pytest.raises(ConfigError) as caught:
        build_study({"arms": {"other": ARM}, "analyses": {}})
    assert str(caught.value) == (
        "config/config.yaml: figures.distribution.arms: arm 'main' is not known; allowed: other; "
        "study.yaml has arms of its own and needs figures of its own"
    )
