"""The limiter: what it lets pass, with a clock that the test moves."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinorms.inference.engines.openai.limiter import (
    LONGEST_WAIT,
    Closed,
    Limiter,
    Pace,
    read_duration,
    read_retry_after,
)

from .....engines import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def enter(limiter: Limiter, tokens: float = 1) -> float:
    """Pass at once, or fail."""
    return asyncio.run(asyncio.wait_for(limiter.enter(tokens), 0.05))


def fill(limiter: Limiter, n: int) -> list[float]:
    async def all_of_them() -> list[float]:
        return [await asyncio.wait_for(limiter.enter(1), 0.05) for _ in range(n)]

    return asyncio.run(all_of_them())


def test_no_more_than_allowed_are_under_way(clock):
    limiter = Limiter(3, clock=clock)
    fill(limiter, 3)
    with pytest.raises(TimeoutError):
        enter(limiter)
    limiter.failed(1)
    enter(limiter)
    assert limiter.under_way == limiter.most_under_way == 3


def succeed(limiter: Limiter, clock: Clock, n: int) -> None:
    """Let ``n`` rounds be sent and answered."""
    for _ in range(n):
        sent = fill(limiter, int(limiter.allowed) - limiter.under_way)
        clock.now += 1
        for at in sent:
            limiter.succeeded(1, at)


def grown(clock: Clock) -> Limiter:
    """Return a limiter at its ceiling of 64, at the beginning of a round."""
    limiter = Limiter(64, clock=clock)
    succeed(limiter, clock, 3)
    assert limiter.allowed == 64
    refuse(limiter, clock, 0, 16)  # the second round of 64 replies ends
    return limiter


def refuse(limiter: Limiter, clock: Clock, n: int, of: int, retry_after: float | None = None) -> None:
    """Let ``of`` requests be sent, of which ``n``, spread evenly, are refused."""
    sent = fill(limiter, of)
    clock.now += 1
    for place, at in enumerate(sent):
        if place * n % of < n:
            limiter.overloaded(at, retry_after)
            limiter.failed(1)
        else:
            limiter.succeeded(1, at)


def test_every_round_of_replies_doubles_concurrency_up_to_the_ceiling(clock):
    limiter = Limiter(100, clock=clock)
    found = []
    for _ in range(4):
        found.append(limiter.allowed)
        succeed(limiter, clock, 1)
    assert found == [16, 32, 64, 100]
    assert limiter.allowed == 100
    unused = Limiter(64, clock=clock)
    for _ in range(100):
        (at,) = fill(unused, 1)
        unused.succeeded(1, at)
    assert unused.allowed == 16, "a limit that is not used does not rise"


@pytest.mark.parametrize(("n", "left"), [(1, 64), (3, 64), (16, 64), (17, 64 * 47 / 64), (32, 32)])
def test_concurrency_falls_by_the_share_of_refusals_in_a_round_above_a_quarter(clock, n, left):
    limiter = grown(clock)
    refuse(limiter, clock, n, 64)
    assert limiter.allowed == pytest.approx(left)
    assert limiter.wait() == 0
    if n == 32:  # from there it grows by an eighth a round
        succeed(limiter, clock, 1)
        assert limiter.allowed == 36


def test_what_was_under_way_at_a_pause_prolongs_nothing(clock):
    limiter = grown(clock)
    late = fill(limiter, 30)
    refuse(limiter, clock, 32, 32)
    paused, allowed = limiter.wait(), limiter.allowed
    assert paused > 0
    for at in late:
        limiter.overloaded(at, None)
        limiter.failed(1)
    assert (limiter.wait(), limiter.allowed) == (paused, allowed)
    limiter.overloaded(late[0], 100.0)
    assert limiter.wait() == 100  # unless it is told how long


def test_an_endpoint_that_refuses_most_is_left_alone_and_then_asked_slowly(clock):
    limiter = grown(clock)
    refuse(limiter, clock, 40, 64)
    assert limiter.wait() > 0
    assert limiter.allowed == 8
    late = limiter.allowed
    clock.now += 10
    succeed(limiter, clock, 1)
    assert limiter.allowed == 2 * late
    succeed(limiter, clock, 2)
    assert 48 <= limiter.allowed <= 54  # fast up to three quarters of what it was, then by an eighth


def test_refusals_before_the_first_reply_after_a_cut_are_no_share(clock):
    """They come at once, replies only when they are ready."""
    limiter = grown(clock)
    refuse(limiter, clock, 32, 64)
    assert limiter.allowed == 32
    clock.now += 1
    refuse(limiter, clock, 12, 12)
    succeed(limiter, clock, 1)
    assert limiter.allowed == 36


def test_replies_during_a_pause_do_not_make_the_start_after_it_less_slow(clock):
    limiter = grown(clock)
    late = fill(limiter, 40)
    refuse(limiter, clock, 1, 1, retry_after=30.0)
    for at in late[:20]:
        limiter.succeeded(1, at)
    assert (limiter.allowed, limiter.wait()) == (8, 30)
    clock.now += 40
    for at in late[20:]:  # the endpoint works on what it took before: it may be given as much again
        limiter.succeeded(1, at)
    assert limiter.allowed == 8 + 20
    clock.now += 1
    refuse(limiter, clock, 1, 1, retry_after=30.0)
    assert limiter.allowed == 4  # the second pause without a reply to what was sent after the first


def test_a_pause_during_a_slow_start_does_not_end_it_for_good(clock):
    limiter = grown(clock)
    for _ in range(2):
        refuse(limiter, clock, 1, 1, retry_after=1.0)
        clock.now += 10
        succeed(limiter, clock, 1)
        assert limiter.allowed == 16
    succeed(limiter, clock, 1)
    assert 24 <= limiter.allowed <= 28  # up to half of 48


def test_without_retry_after_pauses_grow_up_to_a_minute(clock):
    limiter = Limiter(16, clock=clock, backoff=1.0)
    refuse(limiter, clock, 7, 7)  # a row is half of what may be under way
    assert limiter.wait() == 0
    pauses, sizes = [], []
    for _ in range(13):
        refuse(limiter, clock, 1, 1)
        pauses.append(limiter.wait())
        sizes.append(limiter.allowed)
        clock.now += 1000
    for pause, expected in zip(pauses, [1.5**n for n in range(11)] + [60, 60], strict=True):
        assert 0.75 * expected <= pause <= 1.25 * expected
    assert sizes == [8, 4, 2] + [1] * 10
    succeed(limiter, clock, 3)
    assert limiter.allowed == 8
    refuse(limiter, clock, 4, 4)
    assert 0 < limiter.wait() <= 1.25


@pytest.mark.parametrize(
    ("limit", "tokens", "least", "most"),
    [({"requests_per_minute": 60}, 1, 60, 66), ({"tokens_per_minute": 6000}, 150, 40, 44)],
)
def test_a_minute_has_what_is_allowed_and_five_seconds_worth_at_once(clock, limit, tokens, least, most):
    limiter = Limiter(1000, **limit, clock=clock)
    sent = 0
    for _ in range(600):
        clock.now += 0.1
        while limiter.wait() == 0:
            enter(limiter, tokens)
            limiter.failed(tokens)
            sent += 1
    assert least <= sent <= most


def test_a_closed_limiter_lets_nobody_pass(clock):
    limiter = Limiter(1, clock=clock)
    enter(limiter)

    async def wait_for_it() -> None:
        waiting = asyncio.create_task(limiter.enter(1))
        await asyncio.sleep(0)
        limiter.close()
        await waiting

    with pytest.raises(Closed):
        asyncio.run(wait_for_it())


def allowance(kind: str, **values: str) -> dict[str, str]:
    return {f"x-ratelimit-{name}-{kind}": value for name, value in values.items()}


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, 0),
        # 5,000 a minute, 4,999 left, full again in 12 ms: nothing to wait for.
        ({"limit": "5000", "remaining": "4999", "reset": "12ms"}, 0),
        # None left, a minute until full: one comes back every 12 ms; one is needed.
        ({"limit": "5000", "remaining": "0", "reset": "1m0s"}, 0.012),
        # 10,000 a day.
        ({"limit": "10000", "remaining": "0", "reset": "24h0m0s"}, 8.64),
        # What Azure sends where it has no limit.
        ({"limit": "-1", "remaining": "-1", "reset": "0"}, 0),
        ({"limit": "many", "remaining": "0", "reset": "soon"}, 0),
        # No header stops a job for good.
        ({"limit": "10", "remaining": "0", "reset": "9" * 400 + "s"}, LONGEST_WAIT),
    ],
)
def test_rate_limit_headers(clock, headers, wait):
    limiter = Limiter(16, clock=clock)
    limiter.succeeded(1, enter(limiter), allowance("requests", **headers))
    assert limiter.wait() == pytest.approx(wait)


def test_token_headers_count_what_is_under_way(clock):
    limiter = Limiter(16, clock=clock)
    fill(limiter, 1)
    limiter.succeeded(
        1, enter(limiter, 3000), allowance("tokens", limit="60000", remaining="1000", reset="59s")
    )
    assert limiter.wait() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("120ms", 0.12),
        ("1h2m3.5s", 3723.5),
        ("7", 7),
        ("", None),
        ("soon", None),
        ("3x", None),
    ],
)
def test_durations(text, seconds):
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0),
        ({"retry-after": "later"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Wed, 99 Oct 2015 07:28:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:30 +999999999999999"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers, seconds):
    assert read_retry_after(headers, lambda: 1445412480.0) == seconds


@given(st.lists(st.floats(0, 50), max_size=40), st.floats(1, 600))
def test_a_pace_is_never_passed_by_more_than_its_allowance(amounts, per_minute):
    clock = Clock()
    pace, began, spent = Pace(per_minute, clock), clock.now, 0.0
    for amount in amounts:
        clock.now += pace.wait()
        assert spent <= (clock.now - began + 5) * per_minute / 60 + 1e-6
        pace.spend(amount)
        spent += amount
