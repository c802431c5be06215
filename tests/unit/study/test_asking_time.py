"""The time that a job requests for traces grows with what it will write and with attempts, and has a limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cinorms.study.settings import Reasoning
from cinorms.study.spec import MOST_MINUTES, asking_minutes, trace_minutes
from cinorms.study.study import Study

from ...specs import make_model

ARM = {"dataset": "iot", "prompts": "chatgpt", "templates": 10, "orders": {"count": 1}}
SELECT = {"sender": ["a door lock"]}
SHORT = {"effort": "low", "budget": 100}


@pytest.fixture
def minutes(build_study: Callable[..., Study]) -> Callable[..., int]:
    """Return the minutes for traces in one arm of one model, with changes to both; for all of an ``attempt``."""

    def of(
        model: str = "tulu-2-7b",
        changes: dict[str, Any] | None = None,
        reasoning: dict[str, Any] | None = None,
        attempt: int | None = None,
        **arm: Any,
    ) -> int:
        study = build_study({"models": [model], "arms": {"main": {**ARM, **arm}}})
        settings = study.arms["main"]
        study.arms["main"] = settings.model_copy(update={"reasoning": reasoning and Reasoning(**reasoning)})
        study.registry[model] = make_model(model, **{**study.registry[model].stated, **(changes or {})})
        if attempt:
            return asking_minutes(study, "main", model, attempt)
        return trace_minutes(study, "main", model)

    return of


def test_an_arm_without_traces_requests_no_time_for_them(minutes: Callable[..., int]) -> None:
    assert minutes() == 0
    assert minutes(reasoning={"effort": "none"}) == 0


def test_the_time_follows_the_tokens(minutes: Callable[..., int]) -> None:
    # 6,912 flows in 10 templates, half of 100 tokens each, at 20,000 / 7 tokens per second.
    assert minutes(reasoning=SHORT) == 21
    assert minutes(reasoning={**SHORT, "budget": 1000}) == 202
    assert minutes(reasoning=SHORT, templates=5) == 11
    assert minutes(reasoning=SHORT, orders={"count": 3}) == 61
    assert minutes(changes={"shards": 2}, reasoning=SHORT) == 11
    assert minutes(changes={"rates": {"output_tokens_per_second": 1000}}, reasoning=SHORT) == 58
    assert minutes(changes={"rates": {"trace_share": 1.0}}, reasoning=SHORT) == 41


def test_each_attempt_adds_the_time_of_all_traces(minutes: Callable[..., int]) -> None:
    first, second = (
        minutes(attempt=attempt, reasoning=SHORT) - minutes(attempt=attempt) for attempt in (1, 2)
    )
    assert (first, second) == (21, 42)
    assert minutes(attempt=2) > minutes(attempt=1) > 0


def test_selected_levels_cut_the_time(minutes: Callable[..., int]) -> None:
    whole, part = (
        minutes(reasoning={**SHORT, "budget": 1000}),
        minutes(reasoning={**SHORT, "budget": 1000}, select=SELECT),
    )
    assert 0 < part <= whole / 5


def test_no_job_requests_more_than_half_a_day_for_them(minutes: Callable[..., int]) -> None:
    assert minutes(reasoning={"effort": "high", "budget": 30_000}) == MOST_MINUTES


def test_an_api_needs_none(minutes: Callable[..., int]) -> None:
    assert minutes("gpt-4o-mini", reasoning=SHORT) == 0
