"""An OpenAI-compatible endpoint: one task per request, one retry layer, parts kept as they finish."""

import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import EngineError
from cinorms.inference import job_state
from cinorms.inference.engine_kind import Handover, Keep, log_of
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.limiter import LONGEST_WAIT, Closed, Limiter
from cinorms.inference.engines.openai.replies import (
    UNREADABLE_ATTEMPTS,
    Failure,
    clean,
    judge,
    judge_answer,
    read_reply,
    refusal,
)
from cinorms.inference.processes import stop_in_loop
from cinorms.inference.questions import Questions
from cinorms.inference.spending import CapReached

if TYPE_CHECKING:
    from cinorms.inference.engines.openai.clients import LiveClient

#: Most replies that are handed over, and so journalled, at once.
CHUNK = 1_000
#: Times that a failing request is sent; waiting because the endpoint is busy does not count.
ATTEMPTS = 10
#: For tokens per minute; endpoints also count the longest output.
# ASSUME: prompts in English; the authors' have 4.6 characters per token.
BYTES_PER_TOKEN = 4
#: Seconds for replies to requests under way when the job must end; SLURM kills it after thirty.
GRACE = 10.0
#: Seconds between two looks at whether replies have waited long enough to be journalled.
LOOK = 1.0
#: Of ``backoff``: the wait of a question that failed; twice as long after each further failure, up to a minute.
FIRST_WAIT, LONGEST_BETWEEN = 0.25, 60.0
#: If this many prompts are refused and none is answered, the fault is in the request, not in the prompts.
REFUSALS = 5


class LiveEngine:
    """Asks one request per question; ``backoff`` is the first pause of all requests, in seconds."""

    def __init__(self, endpoint: Endpoint, backoff: float = 1.0, chunk: int = CHUNK) -> None:
        limits = endpoint.limits
        self.endpoint = endpoint
        self.spending = endpoint.spending()
        self.limiter = Limiter(
            int(limits["concurrency"]),
            limits.get("requests_per_minute"),
            limits.get("tokens_per_minute"),
            backoff,
        )
        self.backoff, self.chunk = backoff, chunk
        self.counts = {"requests": 0, "failures": 0, "input_tokens": 0, "output_tokens": 0, "clipped": 0}

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo``; see ``engine_kind.Engine``."""
        some_answered = job_state.current().state.answered > 0
        run = _Run(self, questions, keep, some_answered)
        try:
            asyncio.run(run.ask_all(todo))
        finally:
            run.handover.flush()
            self.spending.close()

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        limiter = self.limiter
        pace = {"most_under_way": limiter.most_under_way, "told_to_wait": limiter.n_overloads}
        usd = self.spending.spent if self.spending.priced else None
        return {**self.endpoint.facts(), **self.counts, **pace, "usd": usd}


class Sent(NamedTuple):
    """A request: its question, the most that it may take, and when it was sent."""

    at: int
    chat: list[dict[str, str]]
    tokens: float
    most_usd: float
    sent_at: float


class _Run:
    """One pass over the questions that are still to be asked."""

    def __init__(self, engine: LiveEngine, questions: Questions, keep: Keep, some_answered: bool) -> None:
        self.engine, self.questions = engine, questions
        self.endpoint, self.limiter, self.spending = engine.endpoint, engine.limiter, engine.spending
        # As objects: pandas would look into the values, and could fail on one of them.
        self.handover: Handover[dict[str, Any]] = Handover(
            lambda rows: keep(pd.DataFrame(rows, dtype=object)), engine.chunk, log=log_of(keep)
        )
        self.refused: list[tuple[dict[str, Any], Failure]] = []
        self.some_answered = some_answered
        self.replied = time.monotonic()
        self.failures: Counter[int] = Counter()
        self.unreadable: Counter[int] = Counter()
        self.stopped: BaseException | None = None
        #: Questions to be asked next, the number that are not settled, and the requests under way.
        self.queue: deque[int] = deque()
        self.n_open = 0
        self.under_way: set[asyncio.Task[None]] = set()
        #: Questions under way whose replies come slowly, and the most of them that leave their places to others.
        self.slow: set[int] = set()
        self.most_slow = int(engine.endpoint.limits["slow_replies"])
        self.changed = asyncio.Event()
        self.state = job_state.current()

    async def ask_all(self, todo: npt.NDArray[np.int64]) -> None:
        """Ask the rows ``todo``; raise what stopped it, after the requests under way have ended."""
        from cinorms.inference.engines.openai.clients import LiveClient

        self.queue.extend(todo.tolist())
        self.n_open = len(todo)
        async with LiveClient(self.endpoint.client_settings) as client:
            looking = asyncio.create_task(self._look())

            def cancel() -> None:
                for task in self.under_way:
                    task.cancel()

            def end(leaving: SystemExit) -> None:
                self._stop(leaving)
                asyncio.get_running_loop().call_later(GRACE, cancel)

            try:
                with stop_in_loop(end):
                    try:
                        while self.n_open and not self.stopped:
                            if self.queue:
                                await self._send(client, self.queue.popleft())
                            else:
                                await self._change()
                    except (EngineError, Closed) as error:
                        self._stop(error)
                    while self.under_way:
                        await asyncio.wait(self.under_way)
            finally:
                looking.cancel()
                cancel()
                await asyncio.gather(*self.under_way, return_exceptions=True)
        if self.stopped:
            raise self.stopped
        if not self.some_answered and (unread := [f for _, f in self.refused if f.unreadable]):
            # It is the endpoint that cannot be read, not a prompt that it cannot answer.
            raise self.endpoint.explain(unread[0])
        self._release()

    async def _look(self) -> None:
        """Have replies journalled in time also while no others come, as during a pause."""
        while True:
            await asyncio.sleep(LOOK)
            try:
                self.handover.look()
            except Exception as error:
                self._stop(error)
                return

    async def _change(self) -> None:
        """Wait until a request has ended, or a question is to be asked again."""
        self.changed.clear()
        await self.changed.wait()

    def _stop(self, error: BaseException) -> None:
        """Send nothing more; what is under way comes to its end."""
        self.stopped = self.stopped or error
        self.limiter.close()
        self.changed.set()

    def _leave(self, tokens: float) -> None:
        self.limiter.failed(tokens)
        self.changed.set()

    def _put_back(self, at: int) -> None:
        # What failed once comes next, or all of it would be left for the end; what fails again comes last.
        if self.failures[at] < 2:
            self.queue.appendleft(at)
        else:
            self.queue.append(at)
        self.changed.set()

    async def _send(self, client: "LiveClient", at: int) -> None:
        """Send a question when money and limiter allow it."""
        chat, limiter, spending = self.questions.chat(at), self.limiter, self.spending
        most_input, most_output = self.endpoint.most_input(chat), self.endpoint.most_output
        most_usd = spending.price(most_input, most_output)
        while not self.stopped:
            try:
                spending.reserve(most_usd)
                break
            except CapReached:
                if not limiter.under_way:
                    raise
                await self._change()  # what the others cost less than they could may be enough
        else:
            return
        tokens = most_input / BYTES_PER_TOKEN + most_output
        try:
            sent_at = await limiter.enter(tokens)
        except BaseException:
            spending.settle(most_usd, 0.0)
            raise
        self.engine.counts["requests"] += 1
        task = asyncio.create_task(self._follow(client, Sent(at, chat, tokens, most_usd, sent_at)))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    async def _follow(self, client: "LiveClient", sent: Sent) -> None:
        """Make one request and note what became of it."""
        try:
            again_in = await self._ask(client, sent)
        except Exception as error:
            self._stop(error)
        else:
            if again_in is None:
                self.n_open -= 1
            else:
                asyncio.get_running_loop().call_later(again_in, self._put_back, sent.at)
        finally:
            if sent.at in self.slow:
                self.slow.remove(sent.at)
                self.limiter.arriving(-1)
            self.changed.set()

    def _leave_place(self, at: int) -> None:
        """Let another question be sent while the reply to ``at`` arrives: it is paid, so it is not given up."""
        if len(self.slow) < self.most_slow:
            self.slow.add(at)
            self.limiter.arriving(1)

    async def _ask(self, client: "LiveClient", sent: Sent) -> float | None:
        """Ask one question; return None where it is settled, else the seconds after which to ask it again."""
        endpoint, spending, most_usd = self.endpoint, self.spending, sent.most_usd
        reply: dict[str, Any] | Failure
        headers: Mapping[str, str] = {}
        try:
            status, headers, content = await client.post(
                json.dumps(endpoint.body(sent.chat)).encode(), lambda: self._leave_place(sent.at)
            )
            if 200 <= status < 300:
                reply = read_reply(content, endpoint.secrets, endpoint.traces)
            else:
                reply = judge_answer(status, content, headers, endpoint.url)
        except asyncio.CancelledError:
            spending.settle(most_usd, most_usd)
            raise
        except Exception as error:
            reply = judge(error)
        if isinstance(reply, Failure):
            usd = most_usd if reply.paid else 0.0
            spending.settle(most_usd, usd)
            return self._fail(sent, reply, usd if spending.priced else None)
        self.limiter.succeeded(sent.tokens, sent.sent_at, headers)
        self._clip(sent, reply)
        usd = endpoint.cost(spending, sent.chat, reply)
        spending.settle(most_usd, usd)
        self.engine.counts["input_tokens"] += reply["n_prompt_tokens"] or 0
        self.engine.counts["output_tokens"] += reply["n_output_tokens"] or 0
        self.replied = time.monotonic()
        self.some_answered = True
        self._release()
        self._note({"at": sent.at, **reply, "usd": usd if spending.priced else None})
        return None

    def _clip(self, sent: Sent, reply: dict[str, Any]) -> None:
        """Bring token counts that no request can take down to the most that one can; state it once in the log."""
        for name, most in self.endpoint.impossible_counts(sent.chat, reply).items():
            if not self.engine.counts["clipped"]:
                print(
                    f"{self.endpoint.url} reports {reply[name]:,} as {name}, but what was sent and max_tokens allow at "
                    f"most {most:,}: such counts are clipped; the run record counts them."
                )
            self.engine.counts["clipped"] += 1
            reply[name] = most

    def _fail(self, sent: Sent, failure: Failure, usd: float | None) -> float | None:
        """Note a failure; return the seconds after which to ask again, None where that is of no use."""
        at, limiter, endpoint = sent.at, self.limiter, self.endpoint
        self.engine.counts["failures"] += 1
        if failure.kind == "wait" or failure.overload:
            limiter.overloaded(sent.sent_at, failure.retry_after)
            # Its place stays taken: an endpoint that refuses at once must not be asked in a loop.
            hold = self.engine.backoff * FIRST_WAIT
            asyncio.get_running_loop().call_later(hold, self._leave, sent.tokens)
        else:
            limiter.failed(sent.tokens)
        if failure.kind == "stop" or (failure.retry_after or 0) > LONGEST_WAIT:
            raise endpoint.explain(failure)
        if failure.kind == "wait":
            if time.monotonic() - self.replied > LONGEST_WAIT:
                raise endpoint.explain(failure)
            return self._again_in(failure, 1)
        if failure.kind == "again":
            counts, most = (
                (self.unreadable, UNREADABLE_ATTEMPTS) if failure.unreadable else (self.failures, ATTEMPTS)
            )
            counts[at] += 1
            if counts[at] < most:
                return self._again_in(failure, counts[at])
            if not self.some_answered and not failure.unreadable:
                raise endpoint.explain(failure)
            # The endpoint answers other prompts: it cannot answer this one.
        row = {"at": at, **refusal(failure, endpoint.secrets, usd)}
        if self.some_answered:
            self._note(row)
        else:
            self.refused.append((row, failure))
            if len(self.refused) >= REFUSALS:
                raise endpoint.explain(failure)
        return None

    def _again_in(self, failure: Failure, times: int) -> float:
        """Return the wait of a question that has failed so many times, and show it to those who watch."""
        wait = min(LONGEST_BETWEEN, self.engine.backoff * FIRST_WAIT * 2.0 ** (times - 1))
        wait *= random.uniform(0.75, 1.25)
        shown = max(wait, self.limiter.wait())
        self.state.trouble(clean(failure.reason, self.endpoint.secrets), shown)
        return wait

    def _release(self) -> None:
        """Believe the refusals: others were answered, or all questions have been asked."""
        while self.refused:
            row, _ = self.refused.pop(0)
            self._note(row)

    def _note(self, row: dict[str, Any]) -> None:
        self.state.count()
        if self.spending.priced:
            self.state.note(usd=self.spending.spent)
        self.handover.add(row)
        self.handover.look()
