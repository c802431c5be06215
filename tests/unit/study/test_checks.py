"""Names in a study that are not there get one exact message."""

from __future__ import annotations

from typing import Any

import pytest

from ...studies import Build, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "an unknown model": (
        {"models": ["gpt-4o-mnii"]},
        "models: model 'gpt-4o-mnii' is not known; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "a model in capitals": (
        {"models": ["GPT-4O-MINI"]},
        "models: model 'GPT-4O-MINI' is not known; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "options of an unknown dataset": (
        {"datasets": {"copa": {"null_principle": True}}},
        "datasets: dataset 'copa' is not known; allowed: {datasets}; did you mean 'coppa'?",
    ),
    "a null principle that a dataset does not have": (
        {"datasets": {"location_1": {"null_principle": True}}},
        "datasets.location_1.null_principle: true was given; the dataset has no 'null_level', allowed: false",
    ),
    "overrides that are not there": (
        {"overrides": "mine.csv"},
        "overrides: 'mine.csv' was given; there is no such file in the folder that the study runs in ({cwd})",
    ),
    "a pilot that is the study itself": (
        {"plan": {"pilot": "demo"}},
        "plan.pilot: 'demo' was given; allowed: the name of another study",
    ),
    "a pilot without answers": (
        {"plan": {"pilot": "elsewhere"}},
        "plan.pilot: 'elsewhere' was given; there is no results/elsewhere/answers in the folder that the study "
        "runs in: run that study first",
    ),
    "a threshold for a model that is not asked": (
        {"norms": {"t_val_for": {"planted-gpt-4o": 9}}},
        "norms.t_val_for: model of this study 'planted-gpt-4o' is not known; allowed: {asked}; "
        "did you mean 'planted-gpt-4o-mini'?",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study: Build, names: dict[str, str], wrong: str) -> None:
    document, message = WRONG[wrong]
    assert message_of(build_study, document) == f"study.yaml: {message.format(**names)}"
