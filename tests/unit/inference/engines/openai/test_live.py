"""Asking live on a clock that jumps from event to event: how fast endpoints are asked that refuse some requests."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest

from cinorms.inference import handover
from cinorms.inference.engines.openai import limiter, live
from cinorms.inference.engines.openai.clients import Answer
from cinorms.inference.engines.openai.endpoint import Endpoint

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
            return select(0)

        self._selector.select = jump  # type: ignore[attr-defined]

    def time(self) -> float:
        return self.now


class Server:
    """An endpoint without a network: ``refuse(now, under_way)`` returns status and headers of a refusal, or None."""

    def __init__(self, loop: Loop, refuse: Callable[[float, int], tuple[int, dict[str, str]] | None]) -> None:
        self.loop, self.refuse = loop, refuse
        self.under_way = self.most_under_way = 0
        self.answered: Counter[bytes] = Counter()
        self.refused_at: list[float] = []
        self.times: list[float] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    async def post(self, body: bytes) -> Answer:
        self.times.append(self.loop.now)
        if refusal := self.refuse(self.loop.now, self.under_way):
            self.refused_at.append(self.loop.now)
            await asyncio.sleep(0.001)
            return Answer(*refusal, b'{"error": {"message": "busy"}}')
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(DELAY)
        self.under_way -= 1
        self.answered[body] += 1
        return Answer(200, {}, b'{"choices": [{"message": {"content": "neutral"}}]}')


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    made = Loop()
    monkeypatch.setattr(live.asyncio, "run", made.run_until_complete)  # type: ignore[attr-defined]
    monkeypatch.setattr(live, "time", SimpleNamespace(monotonic=made.time))
    monkeypatch.setattr(limiter, "random", random.Random(3))
    monkeypatch.setattr(live, "random", random.Random(3))
    yield made
    made.close()


Refuse = Callable[[float, int], tuple[int, dict[str, str]] | None]
Ask = Callable[..., tuple[float, Server]]


@pytest.fixture
def ask(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that asks ``n`` questions and returns the seconds that it took, and the endpoint."""

    def ask(n: int, refuse: Refuse = lambda now, under_way: None, keep: Any = None) -> tuple[float, Server]:
        server, began, kept = Server(loop, refuse), loop.now, []
        monkeypatch.setattr(Endpoint, "live_client", lambda self: server)
        tuning = endpoint_tuning(limits={"concurrency": AT_ONCE})
        engine = live.LiveEngine(Endpoint(make_spec(source="gpt-x"), tuning, None))
        engine.limiter = limiter.Limiter(AT_ONCE, clock=loop.time)
        questions: Any = SimpleNamespace(grid=range(n), chat=lambda at: [{"role": "user", "content": str(at)}])

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


def at_random(share: float, status: int = 503, **headers: str) -> Refuse:
    draws = random.Random(1)
    return lambda now, under_way: (status, headers) if draws.random() < share else None
