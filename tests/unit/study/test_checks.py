"""Names in a study that are not there get one exact message."""

from __future__ import annotations

from typing import Any

import pytest

from ...studies import Build, message_of

WRONG: dict[str, tuple[Any, str]] = {
    "an unknown model": (
        {"models": ["gpt-4o-mnii"]},
        "models: 'gpt-4o-mnii' is not a model; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "a model in capitals": (
        {"models": ["GPT-4O-MINI"]},
        "models: 'GPT-4O-MINI' is not a model; allowed: {models}; did you mean 'gpt-4o-mini'?",
    ),
    "options of an unknown dataset": (
        {"datasets": {"copa": {"null_principle": True}}},
        "datasets: 'copa' is not a dataset; allowed: {datasets}; did you mean 'coppa'?",
    ),
    "a null principle that a dataset does not have": (
        {"datasets": {"location_1": {"null_principle": True}}},
        "datasets.location_1.null_principle: true needs a 'null_level', which the dataset lacks; set it to false",
    ),
    "overrides that are not there": (
        {"overrides": "mine.csv"},
        "overrides: there is no file 'mine.csv' in the folder that the study runs in ({cwd}); correct the path",
    ),
    "a pilot that is the study itself": (
        {"plan": {"pilot": "demo"}},
        "plan.pilot: 'demo' is this study; name another one",
    ),
    "a pilot without answers": (
        {"plan": {"pilot": "elsewhere"}},
        "plan.pilot: there is no results/elsewhere/answers in the folder that the study runs in; "
        "run the study 'elsewhere' first",
    ),
    "a threshold for a model that is not asked": (
        {"norms": {"t_val_for": {"planted-gpt-4o": 9}}},
        "norms.t_val_for: 'planted-gpt-4o' is not a model of this study; allowed: {asked}; "
        "did you mean 'planted-gpt-4o-mini'?",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_mistake_gets_one_message(build_study: Build, names: dict[str, str], wrong: str) -> None:
    document, message = WRONG[wrong]
    assert message_of(build_study, document) == f"study.yaml: {message.format(**names)}"
