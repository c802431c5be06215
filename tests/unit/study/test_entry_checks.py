"""What does not fit together in an analysis or a figure gets one exact message."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import ARM, Build, figure, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "expected values that are not there": (
        {"analyses": {"d": {"kind": "delta", "arms": ["main"], "expected": "law.csv"}}, "figures": {}},
        "analyses.d.expected: there is no file 'law.csv' in the folder that the study runs in "
        "({cwd}); correct the path",
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
        "analyses.d.by: 'recipiant' is not a factor of arm 'main'; allowed: {factors}; "
        "did you mean 'recipient'?",
    ),
    "an unknown kind of figure": (
        figure(kind="distributon"),
        "figures.fig.kind: 'distributon' is not a kind; allowed: {figure_kinds}; "
        "did you mean 'distribution'?",
    ),
    "an unknown kind of analysis": (
        {"analyses": {"a": {"kind": "norm_count", "arms": ["main"]}}},
        "analyses.a.kind: 'norm_count' is not a kind; allowed: {analysis_kinds}; did you mean 'norm_counts'?",
    ),
    "an unknown key of a figure": (
        figure(widht=3),
        "figures.fig.widht: there is no such key here; allowed: arms, height, models, title, width; "
        "did you mean 'width'?",
    ),
    "an unknown arm of a figure": (
        figure(arms=["mian"]),
        "figures.fig.arms: 'mian' is not an arm; allowed: main; did you mean 'main'?",
    ),
    "a figure of a model that its arms do not ask": (
        figure(models=["planted-uniform"]),
        "figures.fig.models: 'planted-uniform' is not a model of these arms; allowed: {asked}",
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
        "config/config.yaml: figures.distribution.arms: 'main' is not an arm; allowed: other; "
        "study.yaml sets its own arms, so it also needs its own figures"
    )
