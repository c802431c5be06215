"""Asking live on a clock that jumps from event to event: how fast endpoints are asked that refuse some requests."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count as count_from
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from cinorms.core.errors import EngineError
from cinorms.inference.engine_kind import SECONDS, Handover
from cinorms.inference.engines.openai import clients, limiter, live
from cinorms.inference.engines.openai.clients import SLOW, Answer
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.spending import spent_in

from .....specs import endpoint_tuning, make_spec

AT_ONCE, DELAY = 256, 0.2


class Loop(asyncio.SelectorEventLoop):
    """An event loop in which waiting takes no time."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__()
        select = self._selector.select  # type: ignore[attr-defined]

        def jump(timeout: float | None) -> Any:
            assert timeout is not None, "everybody waits for nothing"
            self.now += timeout
            assert self.now < 100_000, "nothing happens any more"
            return select(0)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


Refuse = Callable[[float, int], tuple[int, dict[str, str]] | None]


class Server:
    """An endpoint without a network: ``refuse(now, under_way)`` returns status and headers of a refusal, or None.

    Each fifth reply takes ``drip`` seconds from its first byte to its last.
    """

    def __init__(self, loop: Loop, refuse: Refuse, drip: float) -> None:
        self.loop, self.refuse, self.drip = loop, refuse, drip
        self.under_way = self.most_under_way = 0
        self.answered: Counter[bytes] = Counter()
        self.times: list[float] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def post(self, body: bytes, slow: Callable[[], None]) -> Answer:
        drips = self.drip and len(self.times) % 5 == 0
        self.times.append(self.loop.now)
        if refusal := self.refuse(self.loop.now, self.under_way):
            await asyncio.sleep(0.001)
            return Answer(*refusal, b'{"error": {"message": "busy"}}')
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(DELAY)
        if drips:
            begun = self.loop.call_later(SLOW, slow)
            await asyncio.sleep(self.drip)
            begun.cancel()
        self.under_way -= 1
        self.answered[body] += 1
        return Answer(200, {}, b'{"choices": [{"message": {"content": "neutral"}}]}')


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    made = Loop()
    monkeypatch.setattr(live.asyncio, "run", made.run_until_complete)  # type: ignore[attr-defined]
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=made.time))
    yield made
    made.close()


Ask = Callable[..., tuple[float, Server]]


def nth(number: int, status: int, headers: dict[str, str] | None = None) -> Refuse:
    """Refuse the request ``number``, counted from 0, and no other."""
    numbers = count_from()
    return lambda now, under_way: (status, headers or {}) if next(numbers) == number else None


@pytest.fixture
def ask(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that asks ``n`` questions and returns the seconds that it took, and the endpoint."""

    def ask(
        n: int,
        refuse: Refuse = lambda now, under_way: None,
        keep: Any = None,
        drip: float = 0,
        slow_replies: int = 256,
        **more: Any,
    ) -> tuple[float, Server]:
        server, began, kept = Server(loop, refuse, drip), loop.now, []
        for module in (limiter, live):
            monkeypatch.setattr(module, "random", random.Random(3))
        monkeypatch.setattr(clients, "LiveClient", lambda settings: server)
        limits = {"concurrency": AT_ONCE, "slow_replies": slow_replies}
        tuning = endpoint_tuning(limits=limits, **more)
        engine = live.LiveEngine(Endpoint(make_spec(source="gpt-x"), tuning, None))
        engine.limiter = limiter.Limiter(AT_ONCE, clock=loop.time)
        questions: Any = SimpleNamespace(
            grid=range(n), chat=lambda at: [{"role": "user", "content": str(at)}]
        )

        def count(rows: pd.DataFrame) -> None:
            kept.extend(rows["at"])
            if keep:
                keep(rows)

        engine.ask(questions, np.arange(n), count)
        assert sorted(kept) == list(range(n)), len(kept)
        assert set(server.answered.values()) == {1}
        assert len(server.answered) == n
        return loop.now - began, server

    return ask


def at_random(share: float) -> Refuse:
    draws = random.Random(1)
    return lambda now, under_way: (503, {}) if draws.random() < share else None


def storms(retry_after: Callable[[float], str] | None) -> Refuse:
    """Refuse everything for two seconds in every ten; ``retry_after`` of the seconds that are left."""

    def refuse(now: float, under_way: int) -> tuple[int, dict[str, str]] | None:
        left = 10 - now % 10
        return (429, {"retry-after": retry_after(left)} if retry_after else {}) if left <= 2 else None

    return refuse


def test_single_refusals_cost_little(ask):
    clean, _ = ask(8000)
    assert clean < 1.2 * 8000 * DELAY / AT_ONCE
    for share, least in ((0.001, 0.95), (0.01, 0.94), (0.05, 0.75), (0.1, 0.5)):
        seconds, _ = ask(8000, at_random(share))
        assert clean / seconds > least, share


@pytest.mark.parametrize("retry_after", [None, lambda left: f"{left:.3f}", lambda left: "1"])
def test_what_a_storm_of_refusals_leaves_is_used(ask, retry_after):
    n = 12_000
    seconds, server = ask(n, storms(retry_after))
    left = seconds - 2 * (seconds // 10)
    assert n * DELAY / AT_ONCE / left > 0.75
    assert len(server.times) < 1.1 * n


def test_a_retry_after_is_obeyed_exactly_and_followed_by_no_herd(ask):
    seen: list[float] = []

    def refuse_once(now: float, under_way: int) -> tuple[int, dict[str, str]] | None:
        if now < 2 or seen:
            return None
        seen.append(now)
        return 503, {"retry-after": "7.5"}

    _, server = ask(4000, refuse_once)
    told = seen[0] + 0.001
    after = [at for at in server.times if at > told]
    assert min(after) == pytest.approx(told + 7.5, abs=1e-6)
    assert min(after) >= told + 7.5
    assert sum(at < told + 7.5 + DELAY for at in after) == limiter.START / 2


@pytest.mark.parametrize(("share", "most"), [(1.0, 60), (0.75, 600)])
def test_an_endpoint_that_refuses_most_is_left_alone(ask, share, most):
    """For two minutes; free, it would be asked 150,000 times."""
    draws = random.Random(1)
    down = lambda now, under_way: (429, {}) if now < 120 and draws.random() < share else None  # noqa: E731
    _, server = ask(2_000, down)
    assert sum(at < 120 for at in server.times) < most


def test_an_endpoint_that_takes_64_at_once_is_not_asked_in_a_loop(ask):
    seconds, server = ask(4000, lambda now, under_way: (503, {}) if under_way >= 64 else None)
    assert 4000 * DELAY / 64 / seconds > 0.7
    assert len(server.times) < 1.4 * 4000


def test_replies_are_journalled_in_time_also_during_a_pause(ask, loop, monkeypatch):
    monkeypatch.setattr(live, "Handover", partial(Handover, clock=loop.time))
    kept: list[float] = []
    refuse = nth(50, 503, {"retry-after": "600"})
    _, server = ask(400, refuse, lambda rows: kept.extend([loop.now] * len(rows)))
    asked = [at for at in server.times if at < 600]
    assert 50 < len(asked) < 400
    assert len([at for at in kept if at <= SECONDS + 2]) == len(asked) - 1


#: Every request may cost a dollar and, as the endpoint reports no tokens, does.
A_DOLLAR = {"usd_per_million_input": 0.0, "usd_per_million_output": 10_000.0}


def test_a_refusal_next_to_the_cap_ends_the_job(ask, tmp_path):
    with pytest.raises(EngineError, match="could exceed max_cost_usd"):
        ask(20, nth(1, 503), rates=A_DOLLAR, max_cost_usd=2.5, spending=str(tmp_path))
    assert spent_in(tmp_path) == pytest.approx(2.0)


def test_what_was_not_sent_when_the_job_stops_costs_nothing(ask, tmp_path):
    with pytest.raises(EngineError, match="key"):
        ask(100, nth(3, 401), rates=A_DOLLAR, max_cost_usd=200.0, spending=str(tmp_path))
    assert spent_in(tmp_path) == pytest.approx(15.0)


def test_replies_that_come_slowly_leave_their_places_to_as_many_others_as_are_allowed(ask):
    waited, server = ask(2_000, drip=10.0, slow_replies=0)
    assert server.most_under_way == AT_ONCE
    _, server = ask(2_000, drip=3.0, slow_replies=20)
    assert server.most_under_way == AT_ONCE + 20
    seconds, _ = ask(2_000, drip=10.0)
    assert seconds < 0.8 * waited
    _, server = ask(2_000, drip=0.9 * SLOW)
    assert server.most_under_way == AT_ONCE
