"""Progress in words, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from cinorms.inference.job_state import State


def duration(seconds: float) -> str:
    """Return a time in its two largest units: ``8 s``, ``1 min 32 s``, ``2 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole < 600 else f"{whole // 60} min"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def progress(states: Sequence[State], now: float) -> str:
    """Return the progress of a model's running jobs in an arm: answers, rate, time left, failures, problems."""
    total, answered = sum(state.total or 0 for state in states), sum(state.answered for state in states)
    parts = []
    if total:
        parts.append(f"{answered:,} of {total:,} answered ({100 * answered // total}%)")
    rate = sum(state.rate or 0.0 for state in states)
    if rate:
        parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        parts.append(f"{duration((total - answered) / rate)} left")
    usd = [state.usd for state in states if state.usd is not None]
    if usd:
        parts.append(dollars(sum(usd)))
    failures = sum(state.failures for state in states)
    if failures:
        parts.append(f"{failures:,} failed attempt{'s'[: failures > 1]}")
    doing = list(dict.fromkeys(state.doing for state in states if state.doing))
    parts += doing or ([] if total else ["starting"])
    wrong = trouble(states, now)
    return ", ".join(parts) + (f"; {wrong}" if wrong else "")


def trouble(states: Sequence[State], now: float) -> str:
    """Return what is wrong with running jobs and when they try again; empty if nothing is."""
    wrong = [state for state in states if state.trouble]
    if not wrong:
        return ""
    wait = max(state.next_attempt or 0.0 for state in wrong) - now
    again = f"next attempt in {duration(wait)}" if wait >= 1 else "trying again"
    return f"{wrong[0].trouble}, {again}"


def dollars(usd: float) -> str:
    """Return an amount of money; small ones with more digits."""
    if usd == 0:
        return "$0"
    return f"${usd:,.2f}" if usd >= 1 else f"${usd:.4f}"
