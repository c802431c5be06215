"""An arm with responses of another tool: what it states, and the mistakes that are found before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from cinorms.core.errors import ConfigError

from ...studies import Build, arm

RESPONSES = {
    "source": "responses",
    "response_format": "plain",
    "response_files": "received/{model}.jsonl",
    "models": ["tulu-2-7b"],
}


def study(**changes: Any) -> dict[str, Any]:
    return {**arm(**{**RESPONSES, **changes}), "analyses": {}, "figures": {}}


def test_the_place_of_a_models_files(build_study: Build) -> None:
    assert build_study(study()).response_files("main", "tulu-2-7b") == "received/tulu-2-7b.jsonl"
    other = build_study(study(response_files="{organisation}/{name}-*.jsonl"))
    assert other.response_files("main", "tulu-2-7b") == "allenai/tulu-2-7b-*.jsonl"
    assert other.asked() == []


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (study(response_files=None), "source: 'responses' also needs the key 'response_files'"),
        (study(response_format=None), "source: 'responses' also needs the key 'response_format'"),
        (study(response_format="inspct"), "'inspct' is not a format; allowed: .* did you mean 'inspect'"),
        (study(raw_files="x"), "arms.main.raw_files: 'x' does not fit source 'responses'; remove it"),
        (
            study(source="model", response_files=None, response_format=None, response_origin="us"),
            "arms.main.response_origin: 'us' does not fit source 'model'",
        ),
        (
            study(models=["tulu-2-7b", "tulu-2-13b"], response_files="all.jsonl"),
            "'all.jsonl' names the same files for 'tulu-2-7b' and 'tulu-2-13b'; put {model} into the path",
        ),
        (study() | {"engine": "planted"}, "'planted' cannot replace the existing answers of arm 'main'"),
    ],
)
def test_mistakes_are_named(build_study: Build, document: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_study(document)
