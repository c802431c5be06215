"""An OpenAI-compatible endpoint: as many requests under way as its entry allows, each reply kept as it arrives.

Nothing below this sends a request again, because every attempt may be billed: it needs room under the cap, and what it
may cost is charged when it ends, whether a reply came or not.
"""

import asyncio
import random
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any

from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

from cinorms.core.errors import ConfigError, EngineError
from cinorms.core.logs import redact
from cinorms.inference import job_state
from cinorms.inference.engine_kind import Keep
from cinorms.inference.engines.openai.client import UnreadableReply, judge_connection, make_client
from cinorms.inference.engines.openai.replies import (
    ADVICE,
    LONGEST_REASON,
    OPENAI,
    Failure,
    body,
    clean,
    judge_status,
    key_problem,
    most_output,
    parsed,
    path_of,
    read_reply,
)
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.request import Request

#: Clients that share the requests: one alone looks at every connection for every request, which takes a fifth of the
#: time.
CLIENTS = 8
#: Times that a question is asked that fails while others are answered, and one whose replies cannot be read.
TRIES, UNREADABLE = 8, 2
#: Seconds before a request is sent again: twice as long each time up to the second; as Retry-After states, up to the
#: third.
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_AFTER = 0.5, 30.0, 120.0
#: Seconds without a single reply after which a job gives up, and further requests after which it does so where there
#: was never a connection.
LONGEST_WAIT, NEVER_THERE = 900.0, 5
#: If this many prompts are refused and none is answered, the fault is in the request, not in the prompts.
REFUSALS = 5
#: Seconds between two looks at whether the cap leaves room for one more request.
POLL = 0.1
#: Tokens that a chat format puts around one message, at most, and bytes of a token, for tokens a minute.
# ASSUME: 16 are enough for every endpoint's format; OpenAI's has 4. The authors' prompts have 4.6 characters per token.
TOKENS_AROUND_MESSAGE, BYTES_PER_TOKEN = 16, 4
#: Tokens of the longest reply where no limit is sent, until a longer one comes.
# ASSUME: most replies are shorter.
UNLIMITED_OUTPUT = 1_000


class LiveEngine:
    """Asks a model behind an endpoint; ``runtime`` has its limits, rates and what the job may spend."""

    def __init__(self, runtime: Mapping[str, Any], key: str | None) -> None:
        self.runtime, self.key = runtime, key
        names = ("usd_per_million_input", "usd_per_million_output")
        rates = [runtime["rates"].get(name) for name in names]
        self.prices = None if None in rates else [rate / 1e6 for rate in rates]
        self.usd = 0.0
        self.is_answered = False
        #: Tokens of the longest reply so far to which no limit was sent.
        self.longest = UNLIMITED_OUTPUT
        self._device = ""

    def ask(self, questions: Questions, rows: Rows, keep: Keep) -> None:
        """Ask the rows; see ``engine_kind.Engine``. Raises ``ConfigError`` for what an API cannot do."""
        request = questions.request
        self._refuse(request)
        self._device = url_of(request)
        asyncio.run(_Asking(self, questions, keep).ask_all(rows))

    def metadata(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        return {"device": self._device, "usd": self.usd if self.prices else None}

    def price(self, input_tokens: float, output_tokens: float) -> float:
        """Return what so many tokens cost; 0 where the entry states no price."""
        return self.prices[0] * input_tokens + self.prices[1] * output_tokens if self.prices else 0.0

    def _refuse(self, request: Request) -> None:
        variable, wrap = self.runtime["key_variable"], request.settings.get("wrap", "none")
        problem = ""
        if variable and not self.key:
            problem = f"the environment variable {variable} is not set; put the endpoint's key into it"
        elif variable and (unusable := key_problem(variable, self.key or "")):
            problem = unusable
        elif wrap not in ("none", "chat_template"):
            problem = f"wrap {wrap!r} is not possible, because an API wraps prompts itself; allowed: none"
        elif request.readout != "text":
            problem = f"readout {request.readout!r} is not possible, because an API gives text only; use engine vllm"
        if problem:
            raise ConfigError(f"model {request.model!r}: {problem}")


def url_of(request: Request) -> str:
    """Return the address of the endpoint."""
    return str(request.settings.get("base_url") or OPENAI)


class _Asking:
    """The questions of one arm, and what became of them."""

    def __init__(self, engine: LiveEngine, questions: Questions, keep: Keep) -> None:
        self.engine, self.questions, self.keep = engine, questions, keep
        self.request, self.secrets = questions.request, [engine.key] if engine.key else []
        self.limit = most_output(self.request)
        self.state = job_state.current()
        self.queue = deque[int]()
        self.refused: list[tuple[int, Failure]] = []
        self.stopped: Exception | None = None
        self.n_replies = 0
        #: Requests that have failed since the last reply, the latest failure, and when the first of them came.
        self.silent, self.silent_since = 0, 0.0
        self.latest: Failure | None = None
        #: A question that was answered, and how often it was asked again to tell a question that fails from an outage.
        self.known: int | None = None
        self.n_probes = 0
        #: Questions that are being asked.
        self.n_open = 0
        #: Lets one request at a time through while nobody answers.
        self.turn = asyncio.Lock()
        #: Requests under way, and what they may cost.
        self.under_way, self.reserved = 0, 0.0

    async def ask_all(self, rows: Rows) -> None:
        """Ask the rows; raise what stopped it, after the requests under way have ended."""
        # What ends the job is said once, and not by each of the requests that it ends.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        limits, keys = self.engine.runtime["limits"], self.questions.keys
        self.queue.extend(rows.tolist())
        asked = {keys[row].tobytes() for row in self.queue}
        self.known = next((row for row, key in enumerate(keys) if key.tobytes() not in asked), None)
        per_minute = [limits.get(f"{what}_per_minute") for what in ("requests", "tokens")]
        if any(per_minute):  # vLLM's environment, whose server is asked without limits, has no such package
            from aiolimiter import AsyncLimiter
        self.limiters = [most and AsyncLimiter(most) for most in per_minute]
        self.n_open, clients = min(limits["concurrency"], len(rows)), []
        async with AsyncExitStack() as stack:
            for _ in range(min(CLIENTS, self.n_open)):
                client = make_client(url_of(self.request), self.engine.key, float(limits["timeout"]))
                clients.append(await stack.enter_async_context(client))
            await asyncio.gather(*(self._work(clients[n % CLIENTS]) for n in range(self.n_open)))
        if self.stopped:
            raise self.stopped
        failed = [failure for _, failure in self.refused if failure.kind != "refused"]
        if failed and not self.n_replies:
            raise self._explained(failed[0])  # nobody can read this endpoint, whatever it is asked
        self._keep_refusals()

    async def _work(self, client: AsyncOpenAI) -> None:
        """Ask one question after another, until there is none or something concerns them all."""
        try:
            while self.queue and not self.stopped:
                await self._ask(client, self.queue.popleft())
        except Exception as error:
            self.stopped = self.stopped or error
        finally:
            self.n_open -= 1

    async def _ask(self, client: AsyncOpenAI, row: int) -> None:
        """Ask a question until it has a reply, is refused, or has failed often enough while others were answered."""
        tries, unread, replies, probes = 0, 0, self.n_replies, self.n_probes
        for attempt in count():
            failure = await self._attempt(client, row)
            if failure is None:
                break
            unread += failure.kind == "unreadable"
            # What fails while nobody else is answered may be an outage, and a busy endpoint becomes idle.
            counts = failure.kind != "wait"
            tries += counts and self.n_replies > replies
            fails_alone = counts and self.n_probes > probes
            if failure.kind == "refused" or unread == UNREADABLE or tries == TRIES or fails_alone:
                self.refused.append((row, failure))
                if not self.n_replies and len(self.refused) >= REFUSALS:
                    raise self._explained(failure)
                break
            replies, probes = self.n_replies, self.n_probes
            if self.silent < self.n_open:
                await asyncio.sleep(_pause(attempt, failure))
        if self.n_replies:
            self._keep_refusals()

    async def _attempt(self, client: AsyncOpenAI, row: int) -> Failure | None:
        """Send a question; return what went wrong, None where it was answered or the job stops.

        While nobody answers, one request at a time is sent, after pauses that grow: each may be billed. After a while
        it is a question that was answered before. If that is answered again, it is no outage.
        """
        while (latest := self.latest) and self.silent >= self.n_open and not self.stopped:
            async with self.turn:
                further = self.silent - self.n_open
                if further < 0 or self.stopped:
                    continue
                await asyncio.sleep(_pause(further, latest))
                if further < TRIES or self.known is None or latest.kind == "wait":
                    return await self._send(client, row)
                failure = await self._send(client, self.known, is_probe=True)
                self.n_probes += failure is None or failure.kind == "refused"
        return await self._send(client, row)

    async def _send(self, client: AsyncOpenAI, row: int, is_probe: bool = False) -> Failure | None:
        """Send a question when the cap has room for it, pay for it and keep its reply; return what went wrong."""
        chat = self.questions.chat(row)
        most_input = sum(len(m["content"].encode("utf-8", "replace")) + TOKENS_AROUND_MESSAGE for m in chat)
        most_output = self.engine.longest if self.limit is None else self.limit
        most_usd, usd = self.engine.price(most_input, most_output), 0.0
        await self._wait_for_room(most_usd)
        self.under_way, self.reserved = self.under_way + 1, self.reserved + most_usd
        found: dict[str, Any] | Failure | None = None
        try:
            amounts = 1, most_input / BYTES_PER_TOKEN + most_output
            for limiter, amount in zip(self.limiters, amounts, strict=True):
                if limiter:
                    await limiter.acquire(min(amount, limiter.max_rate))
            if self.stopped:
                return None
            usd = most_usd  # until more is known
            found = await self._receive(client, chat)
            usd = self._price(found, most_input, most_usd)
        finally:  # also where the job is told to end: what is under way then may be billed
            self.under_way -= 1
            self.reserved = self.reserved - most_usd if self.under_way else 0.0
            if usd:
                self.engine.usd += usd
                self.state.note(usd=self.engine.usd)
                if is_probe or not isinstance(found, dict):
                    self.keep.charge(usd)
        if isinstance(found, Failure):
            return self._failed(found)
        self.n_replies, self.silent, self.engine.is_answered, self.known = self.n_replies + 1, 0, True, row
        if not is_probe:
            self._keep(row, {**found, "usd": usd})
        return None

    async def _wait_for_room(self, most_usd: float) -> None:
        """Wait until the cap leaves room for a request; raise where it never will."""
        engine, most = self.engine, self.engine.runtime.get("max_usd")
        while most is not None and engine.usd + self.reserved + most_usd > most and not self.stopped:
            if not self.under_way:
                raise EngineError(
                    f"model {self.request.model!r}: the next request may cost {most_usd:.6f} dollars, and this job's "
                    f"share of max_cost_usd has {max(most - engine.usd, 0):.4f} left. Every reply so far is in the "
                    "store; raise max_cost_usd and run again to ask the rest"
                )
            await asyncio.sleep(POLL)

    async def _receive(self, client: AsyncOpenAI, chat: list[dict[str, str]]) -> dict[str, Any] | Failure:
        """Send a request once and return what came."""
        try:
            return read_reply(await _create(client, body(self.request, chat)), self.request, self.secrets)
        except UnreadableReply as error:
            return Failure("unreadable", str(error), billed=True)
        except APIStatusError as error:
            content, headers = error.response.content, error.response.headers
            message = content.decode("utf-8", "replace").strip()
            location = headers.get("location", "").removesuffix(path_of(self.request))
            failure = judge_status(error.status_code, parsed(content), message, location)
            return failure._replace(after=_seconds(headers.get("retry-after", "")))
        except APIConnectionError as error:
            return judge_connection(error)

    def _price(self, found: dict[str, Any] | Failure, most_input: int, most_usd: float) -> float:
        """Return what an attempt may be billed, as far as anyone can tell."""
        if isinstance(found, Failure):
            return most_usd if found.billed else 0.0
        n_input, n_output = found["n_prompt_tokens"], found["n_output_tokens"]
        if self.limit is not None:
            return min(self.engine.price(n_input, n_output), most_usd) if n_input and n_output else most_usd
        # Nothing but the endpoint can tell how long a reply is to which no limit was sent. A token has a byte or more.
        written = len(f"{found['text']}{found.get('trace') or ''}".encode("utf-8", "replace"))
        n_output = n_output or max(written, self.engine.longest)
        self.engine.longest = max(n_output, self.engine.longest)
        return self.engine.price(n_input or most_input, n_output)

    def _failed(self, failure: Failure) -> Failure:
        """Note that a request failed; raise what concerns every question."""
        self.state.trouble(clean(failure.reason, self.secrets))
        if failure.kind == "refused":  # the endpoint is up
            self.silent = 0
            return failure
        if not self.silent:
            self.silent_since = time.monotonic()
        self.silent, self.latest = self.silent + 1, failure
        never = failure.kind in ("lost", "unreadable") and not self.engine.is_answered
        most = TRIES + 1 if self.known is not None else NEVER_THERE
        if (
            failure.kind == "stop"
            or (failure.kind == "nowhere" and not self.engine.is_answered)
            or (never and self.silent - self.n_open >= most)
            or time.monotonic() - self.silent_since > LONGEST_WAIT
        ):
            raise self._explained(failure)
        return failure

    def _keep(self, row: int, reply: Mapping[str, Any]) -> None:
        self.keep(row, reply if self.engine.prices else {**reply, "usd": None})

    def _keep_refusals(self) -> None:
        """Keep the refusals as replies: others were answered, or all questions have been asked."""
        while self.refused:
            row, failure = self.refused.pop()
            reason = clean(failure.reason, self.secrets, LONGEST_REASON)
            failed = {} if failure.kind == "refused" else {"failed": True}
            self._keep(row, {"finish_reason": "error", "error": reason, "usd": 0.0, **failed})

    def _explained(self, failure: Failure) -> EngineError:
        """Return the message that explains why ``failure`` ends the job, and what to do."""
        variable = self.engine.runtime["key_variable"] or "a variable that its entry names as `key_variable`"
        do = ADVICE[failure.advice].format(variable=variable, source=self.request.settings["source"])
        reason = clean(failure.reason, self.secrets, LONGEST_REASON)
        text = f"model {self.request.model!r} at {url_of(self.request)}: {reason}; {do}"
        return EngineError(redact(f"{text}. Every reply so far is in the store", self.secrets))


async def _create(client: AsyncOpenAI, sent: Mapping[str, Any]) -> bytes:
    """Send a request to the API that its fields are of; return the reply unread, whatever shape it has."""
    create: Any = client.responses.with_raw_response.create
    names = ResponseCreateParamsNonStreaming.__annotations__
    if "messages" in sent:
        create = client.chat.completions.with_raw_response.create
        names = CompletionCreateParamsNonStreaming.__annotations__
    # A server of open models has fields that OpenAI does not know.
    own = {name: value for name, value in sent.items() if name not in names}
    answer = await create(**{name: sent[name] for name in sent if name in names}, extra_body=own or None)
    content: bytes = answer.content
    return content


def _pause(attempt: int, failure: Failure) -> float:
    """Return the seconds until a question is asked again: not in step with others, and as the endpoint asks for."""
    grown = min(FIRST_PAUSE * 2.0 ** min(attempt, 30), LONGEST_PAUSE)
    return max(grown * random.uniform(0.75, 1.0), min(failure.after, LONGEST_AFTER))


def _seconds(after: str) -> float:
    """Return the seconds that Retry-After states, as a number or as a date; 0 where it states none."""
    with suppress(ValueError):
        return max(float(after), 0.0)
    with suppress(ValueError):
        return max(parsedate_to_datetime(after).timestamp() - time.time(), 0.0)
    return 0.0
