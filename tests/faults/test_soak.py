"""One short round of the soak that ``make soak MINUTES=60`` does for an hour."""

from __future__ import annotations

from collections.abc import Callable

from .soak import soak


def test_a_round_of_failures_and_kills_loses_nothing(record_property: Callable[[str, object], None]) -> None:
    counts = soak(minutes=0, n=60, apart=(60, 150))
    assert counts.prompts == 360
    assert counts.failures > 30
    assert counts.kills
    for name in ("prompts", "requests", "failures", "kills", "answered_twice"):
        record_property(name.replace("_", " "), getattr(counts, name))
