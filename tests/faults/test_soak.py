"""A few minutes of the soak that ``make soak MINUTES=60`` does for an hour."""

from .soak import soak


def test_minutes_of_failures_and_kills_lose_nothing(record_property):
    counts = soak(minutes=5, n=150, apart=(100, 400))
    assert counts.prompts == counts.rounds * 900
    assert counts.failures > 100
    assert counts.kills
    for name in ("prompts", "requests", "failures", "kills", "answered_twice", "most_allowed"):
        record_property(name.replace("_", " "), getattr(counts, name))
