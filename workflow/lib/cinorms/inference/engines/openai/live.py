"""An OpenAI-compatible endpoint: as many requests under way as its entry allows, each reply kept as it arrives."""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from typing import Any

import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI

from cinorms.core.errors import ConfigError, EngineError
from cinorms.core.logs import redact
from cinorms.inference import job_state
from cinorms.inference.engine_kind import Keep
from cinorms.inference.engines.openai.client import UnreadableReply, make_client
from cinorms.inference.engines.openai.replies import (
    LONGEST_REASON,
    OPENAI,
    Failure,
    body,
    clean,
    judge_status,
    most_output,
    parsed,
    path_of,
    read_reply,
)
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.request import Request

#: Times that a question is asked whose reply cannot be read, each of which is paid, or that fails after all retries of
#: the client.
TRIES = 2
#: Seconds without a single reply after which a job gives up.
LONGEST_WAIT = 900.0
#: If this many prompts are refused and none is answered, the fault is in the request, not in the prompts.
REFUSALS = 5
#: Seconds that a place stays taken after the client has given a request up: as long as its own longest pause.
PAUSE = 8.0
#: Seconds between two looks at whether the cap leaves room for one more request.
POLL = 0.1
#: Tokens that a chat format puts around one message, at most, and bytes of a token, for tokens a minute.
# ASSUME: 16 are enough for every endpoint's format; OpenAI's has 4. The authors' prompts have 4.6 characters per token.
TOKENS_AROUND_MESSAGE, BYTES_PER_TOKEN = 16, 4
#: What to do about a failure that ends the job.
_ADVICE = {
    "key": "check the key in {variable}",
    "quota": "pay, or wait until the account's limit resets, then run again",
    "model": "the endpoint does not know model {source!r}: it may have been retired, or the key may not see it. Check "
    "base_url, or give a model that is still served its own entry in config/models.yaml (it is another instrument)",
    "request": "every request would be refused; correct the model's entry in config/models.yaml (a reasoning model "
    "needs `reasoning`: it takes no temperature and a larger output limit)",
    "redirect": "prompts are sent to no other address than base_url; if that one is right, put it into base_url of the "
    "model's entry in config/models.yaml",
    "down": "check that the endpoint is up and base_url is right, then run again",
}


class LiveEngine:
    """Asks a model behind an endpoint; ``runtime`` has its limits, rates and what the job may spend."""

    def __init__(self, runtime: Mapping[str, Any], key: str | None) -> None:
        self.runtime, self.key = runtime, key
        names = ("usd_per_million_input", "usd_per_million_output")
        rates = [runtime["rates"].get(name) for name in names]
        self.prices = None if None in rates else [rate / 1e6 for rate in rates]
        self.usd = 0.0
        self._device = ""

    def ask(self, questions: Questions, rows: Rows, keep: Keep) -> None:
        """Ask the rows; see ``engine_kind.Engine``. Raises ``ConfigError`` for what an API cannot do."""
        request = questions.request
        self._refuse(request)
        self._device = url_of(request)
        asyncio.run(_Asking(self, questions, keep).ask_all(rows))

    def facts(self) -> dict[str, Any]:
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
        self.state = job_state.current()
        self.queue = deque[int]()
        self.tries, self.paid = Counter[int](), defaultdict[int, float](float)
        self.refused: list[tuple[int, Failure]] = []
        self.is_answered, self.replied = False, time.monotonic()
        self.stopped: Exception | None = None
        #: What the requests under way may cost.
        self.reserved = 0.0

    async def ask_all(self, rows: Rows) -> None:
        """Ask the rows; raise what stopped it, after the requests under way have ended."""
        # What ends the job is said once, and not by each of the requests that it ends.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        limits = self.engine.runtime["limits"]
        self.queue.extend(rows.tolist())
        per_minute = [limits.get(f"{what}_per_minute") for what in ("requests", "tokens")]
        if any(per_minute):  # vLLM's environment, whose server is asked without limits, has no such package
            from aiolimiter import AsyncLimiter
        self.limiters = [most and AsyncLimiter(most) for most in per_minute]
        async with make_client(url_of(self.request), self.engine.key, float(limits["timeout"])) as client:
            await asyncio.gather(*(self._work(client) for _ in range(min(limits["concurrency"], len(rows)))))
        if self.stopped:
            raise self.stopped
        unread = [failure for _, failure in self.refused if failure.kind == "unreadable"]
        if unread and not self.is_answered:
            raise self._explained(unread[0])  # nobody can read this endpoint, whatever it is asked
        self._keep_refusals()

    async def _work(self, client: AsyncOpenAI) -> None:
        """Ask one question after another, until there is none or something concerns them all."""
        while self.queue and not self.stopped:
            try:
                await self._ask(client, self.queue.popleft())
            except Exception as error:
                self.stopped = self.stopped or error

    async def _ask(self, client: AsyncOpenAI, row: int) -> None:
        chat, most_output_tokens = self.questions.chat(row), most_output(self.request)
        most_input = sum(len(m["content"].encode("utf-8", "replace")) + TOKENS_AROUND_MESSAGE for m in chat)
        most_usd = self.engine.price(most_input, most_output_tokens)
        await self._wait_for_room(most_usd)
        self.reserved += most_usd
        try:
            for limiter, amount in zip(
                self.limiters, (1, most_input / BYTES_PER_TOKEN + most_output_tokens), strict=True
            ):
                if limiter:
                    await limiter.acquire(min(amount, limiter.max_rate))
            if self.stopped:
                return
            reply = await self._send(client, chat)
        finally:
            self.reserved -= most_usd
        if isinstance(reply, dict):
            tokens = reply["n_prompt_tokens"], reply["n_output_tokens"]
            self._pay(row, min(self.engine.price(*tokens), most_usd) if all(tokens) else most_usd)
            self.is_answered, self.replied = True, time.monotonic()
            self._keep(row, reply)
        else:
            # What was answered and got lost is paid, as far as anyone can tell.
            self._pay(row, most_usd if reply.kind in ("unreadable", "again") else 0.0)
            self._fail(row, reply)
            if reply.kind in ("wait", "again"):
                await asyncio.sleep(PAUSE)
        if self.is_answered:
            self._keep_refusals()

    async def _wait_for_room(self, most_usd: float) -> None:
        """Wait until the cap leaves room for a request; raise where it never will."""
        engine, most = self.engine, self.engine.runtime.get("max_usd")
        while most is not None and engine.usd + self.reserved + most_usd > most and not self.stopped:
            if self.reserved < 1e-9:  # sums of amounts are not exactly 0
                raise EngineError(
                    f"model {self.request.model!r}: the next request may cost {most_usd:.6f} dollars, and this job's "
                    f"share of max_cost_usd has {max(most - engine.usd, 0):.4f} left. Every reply so far is in the "
                    "store; raise max_cost_usd and run again to ask the rest"
                )
            await asyncio.sleep(POLL)

    async def _send(self, client: AsyncOpenAI, chat: list[dict[str, str]]) -> dict[str, Any] | Failure:
        """Send a request, with the client's retries, and return what came."""
        try:
            answer = await client.post(
                path_of(self.request), cast_to=httpx2.Response, body=body(self.request, chat)
            )
            return read_reply(answer.content, self.request, self.secrets)
        except UnreadableReply as error:
            return Failure("unreadable", str(error))
        except APIStatusError as error:
            content = error.response.content
            message = content.decode("utf-8", "replace").strip()
            location = error.response.headers.get("location", "").removesuffix(path_of(self.request))
            return judge_status(error.status_code, parsed(content), message, location)
        except APIConnectionError as error:
            return Failure("again", f"no reply ({type(error.__cause__).__name__}: {error.__cause__})")

    def _pay(self, row: int, usd: float) -> None:
        self.engine.usd += usd
        self.paid[row] += usd
        self.state.note(usd=self.engine.usd if self.engine.prices else None)

    def _keep(self, row: int, reply: Mapping[str, Any]) -> None:
        self.keep(row, {**reply, "usd": self.paid[row] if self.engine.prices else None})

    def _fail(self, row: int, failure: Failure) -> None:
        """Put a question back that failed, or note that it is refused; raise where that concerns every question."""
        if failure.kind == "stop" or time.monotonic() - self.replied > LONGEST_WAIT:
            raise self._explained(failure)
        self.tries[row] += failure.kind != "wait"
        if failure.kind != "refused" and self.tries[row] < TRIES:
            self.queue.append(row)
            return
        self.refused.append((row, failure))
        if not self.is_answered and (failure.kind == "again" or len(self.refused) >= REFUSALS):
            raise self._explained(failure)

    def _keep_refusals(self) -> None:
        """Keep the refusals as replies: others were answered, or all questions have been asked."""
        while self.refused:
            row, failure = self.refused.pop()
            reason = clean(failure.reason, self.secrets, LONGEST_REASON)
            self._keep(row, {"finish_reason": "error", "error": reason})

    def _explained(self, failure: Failure) -> EngineError:
        """Return the message that explains why ``failure`` ends the job, and what to do."""
        variable = self.engine.runtime["key_variable"] or "a variable that its entry names as `key_variable`"
        do = _ADVICE[failure.advice].format(variable=variable, source=self.request.settings["source"])
        reason = clean(failure.reason, self.secrets, LONGEST_REASON)
        text = f"model {self.request.model!r} at {url_of(self.request)}: {reason}; {do}"
        return EngineError(redact(f"{text}. Every reply so far is in the store", self.secrets))
