"""The plan says what asking until decided is expected to save, and when it saves nothing."""

from __future__ import annotations

import pandas as pd

from cinorms.study.savings import expected_savings

PLAN = pd.DataFrame({"arm": ["main"], "model": ["m"], "flows": [1000], "prompts": [33_000]})


def lines(asking: dict[str, object] | None) -> list[str]:
    return expected_savings([{"arm": "main", "model": "m", "asking": asking}], PLAN)


def test_an_arm_that_asks_everything_has_no_line() -> None:
    assert lines(None) == []


def test_a_range_and_where_it_is_from() -> None:
    (line,) = lines({"risk": 0.01, "pilot": 100})
    assert "33,000 prompts at most; 9,240 to 23,760 expected" in line
    assert "published models (replayed at risk 0.02" in line


def test_a_large_pilot_is_the_least_that_is_asked() -> None:
    (line,) = lines({"risk": 0.01, "pilot": 500})
    assert "16,500 to 23,760 expected" in line


def test_a_pilot_of_all_flows_saves_nothing() -> None:
    (line,) = lines({"risk": 0.01, "pilot": 1000})
    assert "saves nothing" in line
