"""How fast an endpoint is asked: concurrency that adapts to it, and requests and tokens per minute.

Concurrency rises by one for every round of successes and is halved when the endpoint is overloaded, at most
once for the requests that were under way together (additive increase, multiplicative decrease). Its
``x-ratelimit-*`` headers and ``Retry-After`` slow down all requests before that happens.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

#: Requests under way at the beginning.
START = 16
#: Longest wait, in seconds, that follows an endpoint's "too many requests" without a Retry-After.
LONGEST_PAUSE = 60.0
#: Seconds of requests to wait, without a single reply, after which a job gives up.
LONGEST_WAIT = 900.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Pace:
    """A rate per minute, spent evenly: at most five seconds' worth at once."""

    def __init__(self, per_minute: float | None, clock: Callable[[], float]) -> None:
        self._rate = per_minute / 60 if per_minute else None
        self._clock = clock
        self._free_at = clock()

    def wait(self) -> float:
        """Return the seconds until the next piece may be spent."""
        return 0.0 if self._rate is None else max(0.0, self._free_at - 5 - self._clock())

    def spend(self, amount: float) -> None:
        """Spend ``amount``; what is spent ahead is waited for later."""
        if self._rate is not None:
            self._free_at = max(self._free_at, self._clock()) + amount / self._rate


class Closed(Exception):
    """Nobody may pass any more."""


class Limiter:
    """Lets requests pass: ``await enter(tokens)``, then ``succeeded``, ``overloaded`` or ``failed``.

    ``tokens`` is what the request will cost at most; times are in seconds.
    """

    def __init__(
        self,
        ceiling: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        backoff: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.ceiling = ceiling
        self.allowed = float(min(START, ceiling))
        self.under_way = 0
        self.n_overloads = 0
        self.most_under_way = 0
        self._requests = Pace(requests_per_minute, clock)
        self._tokens = Pace(tokens_per_minute, clock)
        self._tokens_under_way = 0.0
        self._backoff = backoff
        self._clock = clock
        self._paused_until = 0.0
        self._in_a_row = 0
        self._cut_at = -1.0
        self._left = asyncio.Event()
        self._closed = False

    def close(self) -> None:
        """Let nobody pass any more."""
        self._closed = True
        self._left.set()

    async def enter(self, tokens: float) -> float:
        """Wait until one more request may be sent; return the time at which it is. Raises ``Closed``."""
        while True:
            if self._closed:
                raise Closed
            if self.under_way >= max(1, int(self.allowed)):
                self._left.clear()
                await self._left.wait()
                continue
            wait = self.wait()
            if wait <= 0:
                break
            await asyncio.sleep(min(wait, 1.0))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        self._tokens_under_way += tokens
        self._requests.spend(1)
        self._tokens.spend(tokens)
        return self._clock()

    def wait(self) -> float:
        """Return the seconds until the endpoint may be asked again."""
        return max(self._paused_until - self._clock(), self._requests.wait(), self._tokens.wait(), 0.0)

    def succeeded(self, tokens: float, headers: Mapping[str, str] | None = None) -> None:
        """Note a reply, with the headers that came with it."""
        was_full = self.under_way >= int(self.allowed)
        self._leave(tokens)
        self._in_a_row = 0
        if was_full:  # a limit that is not used says nothing about a higher one
            self.allowed = min(self.ceiling, self.allowed + 1 / self.allowed)
        self._heed(headers or {})

    def failed(self, tokens: float) -> None:
        """Note a request that failed for another reason than load."""
        self._leave(tokens)

    def overloaded(self, tokens: float, sent_at: float, retry_after: float | None) -> None:
        """Note a request that the endpoint was too busy for."""
        self._leave(tokens)
        self.n_overloads += 1
        now = self._clock()
        if sent_at > self._cut_at:
            self._cut_at = now
            self.allowed = max(1.0, self.allowed / 2)
            self._in_a_row += 1
        pause = retry_after
        if pause is None:
            pause = min(LONGEST_PAUSE, self._backoff * 2 ** (self._in_a_row - 1)) * random.uniform(0.75, 1.25)
        self._paused_until = max(self._paused_until, now + pause)

    def _leave(self, tokens: float) -> None:
        self.under_way -= 1
        self._tokens_under_way -= tokens
        self._left.set()

    def _heed(self, headers: Mapping[str, str]) -> None:
        """Wait for what the endpoint's allowance does not cover any more, at the rate at which it fills."""
        for kind, needed in (("requests", self.under_way + 1), ("tokens", self._tokens_under_way)):
            limit, remaining = (
                _number(headers.get(f"x-ratelimit-{what}-{kind}")) for what in ("limit", "remaining")
            )
            reset = read_duration(headers.get(f"x-ratelimit-reset-{kind}"))
            if limit is None or remaining is None or reset is None or limit <= 0 or remaining >= limit:
                continue
            short = needed - remaining
            if short > 0:
                wait = min(reset, reset * short / (limit - remaining), LONGEST_WAIT)
                self._paused_until = max(self._paused_until, self._clock() + wait)


def read_duration(text: str | None) -> float | None:
    """Return the seconds in ``"6m0s"``, ``"120ms"`` or ``"1.5"``, or None."""
    if not text:
        return None
    number = _number(text)
    if number is not None:
        return number
    found = _DURATION.findall(text)
    if "".join(a + b for a, b in found) != text:
        return None
    return sum(float(amount) * _SECONDS[unit] for amount, unit in found)


def read_retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a reply's Retry-After (or ``retry-after-ms``) asks to wait, or None."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    number = _number(text)
    if number is not None or not text:
        return number
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now())
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    """Return a number that is not negative, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
