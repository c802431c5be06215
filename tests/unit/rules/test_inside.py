"""One timer at a time for Snakemake's scheduler, however many rounds it plans."""

from __future__ import annotations

from collections.abc import Callable
from threading import Semaphore
from types import SimpleNamespace
from typing import ClassVar

from cinorms.rules import inside
from cinorms.rules.inside import Inside


class Planner:
    """What is replaced of Snakemake's scheduler: a round begins when it is woken, and each starts a timer."""

    def __init__(self) -> None:
        self._open_jobs = Semaphore(0)

    def _schedule_reevalutation(self, delay: float) -> None:
        raise AssertionError("this timer is replaced")

    def plan(self, rounds: int) -> None:
        for _ in range(rounds):
            self._schedule_reevalutation(60)


class HeldTimer:
    """A timer that goes off when a test says so."""

    started: ClassVar[list[HeldTimer]] = []
    daemon = False

    def __init__(self, delay: float, go_off: Callable[[], None]) -> None:
        self.delay, self.go_off = delay, go_off

    def start(self) -> None:
        assert self.daemon, "a process must not wait for it when it ends"
        self.started.append(self)


def test_a_timer_wakes_the_scheduler_once_and_only_then_comes_the_next(
    monkeypatch,
):
    monkeypatch.setattr(inside, "Timer", HeldTimer)
    monkeypatch.setattr(HeldTimer, "started", [])
    planner = Planner()
    assert Inside(SimpleNamespace(modifier=None, scheduler=planner)).wait_with_one_timer()
    for number in (1, 2, 3):
        planner.plan(rounds=70)
        assert [timer.delay for timer in HeldTimer.started] == [60] * number
        HeldTimer.started[-1].go_off()
        assert planner._open_jobs.acquire(blocking=False)
        assert not planner._open_jobs.acquire(blocking=False)


def test_another_scheduler_is_left_as_it_is():
    assert not Inside(SimpleNamespace(modifier=None, scheduler=object())).wait_with_one_timer()
