"""How fast an endpoint is asked: concurrency that adapts to it, and requests and tokens per minute.

Concurrency doubles with every round of replies (slow start) up to the ceiling, or to what an earlier cut left; from
there it grows by an eighth a round. Single refusals change nothing, because endpoints also refuse at random. What
counts is their share among the last round of requests: above a quarter, concurrency falls by that share; above a half,
or after a row of refusals, everybody pauses and begins slowly. A ``Retry-After`` is obeyed by everybody, and
``x-ratelimit-*`` headers slow requests down before the endpoint refuses any.
"""

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

#: Requests under way at the beginning; after a pause half of it, halved again for each pause without a reply.
START = 16
#: Requests that a round has at least: fewer say little about the share of refusals.
ROUND = 20
#: Share of refusals in a round up to which concurrency stays, and above which everybody pauses.
TOLERATED, TOO_MANY = 0.25, 0.5
#: Refusals in a row, as a share of concurrency and at least, after which everybody pauses.
ROW, SHORTEST_ROW = 0.5, 4
#: What a pause leaves of the concurrency up to which the next slow start goes; growth per round above that.
LEFT, GROWTH = 0.75, 0.125
#: Longest wait, in seconds, that follows an endpoint's "too many requests" without a Retry-After.
LONGEST_PAUSE = 60.0
#: How much longer each pause in a row is: the longer, the more of the time after an outage is lost.
LONGER = 1.5
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
    """Lets requests pass: ``await enter(tokens)``, then ``succeeded``, ``failed``, or ``overloaded`` and ``failed``.

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
        #: Of those under way, the ones that the endpoint has answered: they leave their places to others.
        self.slow = 0
        self.n_overloads = 0
        self.most_under_way = 0
        self._requests = Pace(requests_per_minute, clock)
        self._tokens = Pace(tokens_per_minute, clock)
        self._tokens_under_way = 0.0
        self._backoff = backoff
        self._clock = clock
        self._paused_until = 0.0
        #: Concurrency up to which growth is fast.
        self._threshold = float(ceiling)
        #: Only requests sent after the last cut count: it already answers those before.
        self._cut_at = -1.0
        #: Whether a reply has come since then: refusals come sooner, so their share says nothing before.
        self._replied = False
        #: Replies and refusals of this round; refusals, and pauses, since the last reply.
        self._n_replies = self._n_refusals = self._row = self._pauses = 0
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
            if self.under_way - self.slow >= max(1, int(self.allowed)):
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

    def succeeded(self, tokens: float, sent_at: float, headers: Mapping[str, str] | None = None) -> None:
        """Note a reply, with the headers that came with it."""
        self.failed(tokens)
        # A limit that is not used says nothing about a higher one, nor does a reply while everybody waits.
        if self.allowed < 2 * self.most_under_way and self._paused_until <= self._clock():
            fast = self.allowed < self._threshold
            self.allowed += 1 if fast else max(GROWTH, 1 / self.allowed)
            self.allowed = min(self.ceiling, self.allowed)
        if sent_at > self._cut_at:
            self._n_replies += 1
            self._replied = True
            self._row = self._pauses = 0
            self._judge()
        # Wait for what the endpoint's allowance does not cover any more, at the rate at which it fills.
        headers = headers or {}
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

    def failed(self, tokens: float) -> None:
        """Note that a request has ended without a reply."""
        self.under_way -= 1
        self._tokens_under_way -= tokens
        self._left.set()

    def arriving(self, change: int) -> None:
        """Note how many more, or fewer, replies are on their way and come slowly."""
        self.slow += change
        self._left.set()

    def overloaded(self, sent_at: float, retry_after: float | None) -> None:
        """Note a request that the endpoint was too busy for; its place is free only after ``failed``."""
        self.n_overloads += 1
        if sent_at > self._cut_at:
            self._n_refusals += self._replied
            self._row += 1
            if retry_after is not None or self._row >= max(SHORTEST_ROW, ROW * self.allowed):
                self._pause(retry_after)
            else:
                self._judge()
        if retry_after is not None:
            self._paused_until = max(self._paused_until, self._clock() + retry_after)

    def _judge(self) -> None:
        """At the end of a round, react to its share of refusals."""
        n = self._n_replies + self._n_refusals
        if n < max(ROUND, self.allowed):
            return
        share = self._n_refusals / n
        self._n_replies = self._n_refusals = 0
        if share > TOO_MANY:
            self._pause(None)
        elif share > TOLERATED:
            self.allowed = self._threshold = max(1.0, self.allowed * (1 - share))
            self._cut()

    def _pause(self, seconds: float | None) -> None:
        """Let nobody pass for so long, or for longer with every pause in a row; then begin slowly."""
        if not self._pauses:
            # One pause during a slow start must not end it for good.
            self._threshold = max(1.0, self.allowed * LEFT, self._threshold / 2)
        self._pauses += 1
        self.allowed = max(1.0, min(self.allowed, START / 2**self._pauses))
        self._cut()
        if seconds is None:
            seconds = min(LONGEST_PAUSE, self._backoff * LONGER ** (self._pauses - 1))
            seconds *= random.uniform(0.75, 1.25)
        self._paused_until = max(self._paused_until, self._cut_at + seconds)

    def _cut(self) -> None:
        self._cut_at, self._replied = self._clock(), False
        self._n_replies = self._n_refusals = 0


def read_duration(text: str | None) -> float | None:
    """Return the seconds in ``"6m0s"``, ``"120ms"`` or ``"1.5"``, or None."""
    if not text:
        return None
    number = _number(text)
    if number is not None:
        return number
    amounts = _DURATION.findall(text)
    if "".join(a + b for a, b in amounts) != text:
        return None
    return sum(float(amount) * _SECONDS[unit] for amount, unit in amounts)


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
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    """Return a number that is not negative, or None."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
