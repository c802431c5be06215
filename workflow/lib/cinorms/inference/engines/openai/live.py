"""An OpenAI-compatible endpoint asked live: a pool of workers, one retry layer, parts kept as they finish."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from tqdm import tqdm

from cinorms.core.errors import EngineError
from cinorms.inference import job_state
from cinorms.inference.engine import Keep
from cinorms.inference.engines.openai.endpoint import Endpoint, progress
from cinorms.inference.engines.openai.failures import UNREADABLE_ATTEMPTS, Failure, clean, judge, refusal
from cinorms.inference.engines.openai.limiter import LONGEST_WAIT, Closed, Limiter
from cinorms.inference.engines.openai.replies import read_reply
from cinorms.inference.handover import Handover
from cinorms.inference.questions import Questions
from cinorms.inference.spending import CapReached
from cinorms.inference.stopping import stop_in_loop

#: Most replies that are handed over, and so journalled, at once.
CHUNK = 1_000
#: Times that a failing request is sent; waiting because the endpoint is busy does not count.
ATTEMPTS = 8
#: For tokens per minute; endpoints also count the longest output.
# ASSUME: prompts in English; the authors' have 4.6 characters per token.
BYTES_PER_TOKEN = 4
#: Seconds for replies to requests under way when the job must end; SLURM kills it after thirty.
GRACE = 10.0
#: If this many prompts are refused and none is answered, the fault is in the request, not in the prompts.
REFUSALS = 5


class LiveEngine:
    """Asks one request per question; ``backoff`` is the first wait after a failure, in seconds."""

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
        self._backoff = backoff
        self._chunk = chunk
        self.counts = {"requests": 0, "failures": 0, "input_tokens": 0, "output_tokens": 0}

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo``; see ``inference.engine.Engine``."""
        some_answered = job_state.current().state.answered > 0
        with progress(len(questions.grid), len(questions.grid) - len(todo)) as bar:
            run = _Run(self, questions, keep, bar, some_answered, self._backoff, self._chunk)
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


class _Run:
    """One pass over the questions that are still to be asked."""

    def __init__(
        self,
        engine: LiveEngine,
        questions: Questions,
        keep: Keep,
        bar: tqdm[Any],
        some_answered: bool,
        backoff: float,
        chunk: int,
    ) -> None:
        self.engine, self.questions, self.keep, self.bar = engine, questions, keep, bar
        self.backoff = backoff
        self.handover: Handover[dict[str, Any]] = Handover(self._hand_over, chunk)
        self.refused: list[tuple[dict[str, Any], Failure]] = []
        self.some_answered = some_answered
        self.replied = time.monotonic()
        self.failures: Counter[int] = Counter()
        self.unreadable: Counter[int] = Counter()
        self.stopped: BaseException | None = None
        self.queue: asyncio.Queue[int] = asyncio.Queue()
        self.state = job_state.current()

    async def ask_all(self, todo: npt.NDArray[np.int64]) -> None:
        """Ask the rows ``todo``; raise what stopped it, after the requests under way have ended."""
        for at in todo:
            self.queue.put_nowait(int(at))
        async with self.engine.endpoint.client(asynchronous=True) as client:
            n_workers = min(self.engine.limiter.ceiling, len(todo))
            workers = [asyncio.create_task(self._work(client)) for _ in range(n_workers)]
            # After Ctrl+C nobody else looks at what they fail with, and Python would print it.
            for worker in workers:
                worker.add_done_callback(lambda task: task.cancelled() or task.exception())
            done = asyncio.create_task(self.queue.join())

            def cancel() -> None:
                for task in (done, *workers):
                    task.cancel()

            def end(leaving: SystemExit) -> None:
                self._stop(leaving)
                asyncio.get_running_loop().call_later(GRACE, cancel)

            try:
                with stop_in_loop(end):
                    await asyncio.wait([done, *workers], return_when=asyncio.FIRST_COMPLETED)
                    if done.done():
                        cancel()
                    await asyncio.gather(*workers, return_exceptions=True)
            finally:
                cancel()
        if self.stopped:
            raise self.stopped
        if not self.some_answered and (unread := [f for _, f in self.refused if f.unreadable]):
            # It is the endpoint that cannot be read, not a prompt that it cannot answer.
            raise self.engine.endpoint.explain(unread[0])
        self._release()

    async def _work(self, client: Any) -> None:
        """Take questions until all are answered or something stops everybody."""
        while not self.stopped:
            try:
                # Not for ever: the worker must see that another one stopped everybody.
                at = await asyncio.wait_for(self.queue.get(), 1.0)
            except TimeoutError:
                continue
            try:
                again_in = await self._ask(client, at)
            except (EngineError, Closed) as error:
                self._stop(error)
                return
            except Exception as error:
                self._stop(error)
                raise
            if again_in is None:
                self.queue.task_done()
            else:
                asyncio.get_running_loop().call_later(again_in, self._put_back, at)

    def _stop(self, error: BaseException) -> None:
        """Send nothing more; what is under way comes to its end."""
        self.stopped = self.stopped or error
        self.engine.limiter.close()

    def _put_back(self, at: int) -> None:
        self.queue.put_nowait(at)
        self.queue.task_done()

    async def _ask(self, client: Any, at: int) -> float | None:
        """Ask one question; return None where it is settled, else the seconds after which to ask it again."""
        engine, chat = self.engine, self.questions.chat(at)
        endpoint, limiter, spending = engine.endpoint, engine.limiter, engine.spending
        most_input, most_output = endpoint.most_input(chat), endpoint.most_output
        tokens = most_input / BYTES_PER_TOKEN + most_output
        sent_at = await limiter.enter(tokens)
        most_usd = spending.price(most_input, most_output)
        try:
            spending.reserve(most_usd)
        except CapReached:
            limiter.failed(tokens)
            if not limiter.under_way:
                raise
            return 0.1  # what the others cost less than they could may be enough
        engine.counts["requests"] += 1
        headers: dict[str, str] = {}
        try:
            raw = await client.chat.completions.with_raw_response.create(**endpoint.call(chat))
            headers = dict(raw.headers)
            reply = read_reply(raw.http_response.content, endpoint.secrets, endpoint.traces)
        except asyncio.CancelledError:
            spending.settle(most_usd, most_usd)
            raise
        except Exception as error:
            reply = judge(error)
        if isinstance(reply, Failure):
            usd = most_usd if reply.paid else 0.0
            spending.settle(most_usd, usd)
            return self._fail(at, reply, tokens, sent_at, usd if spending.priced else None)
        limiter.succeeded(tokens, headers)
        usd = endpoint.cost(spending, chat, reply)
        spending.settle(most_usd, usd)
        engine.counts["input_tokens"] += reply["n_prompt_tokens"] or 0
        engine.counts["output_tokens"] += reply["n_output_tokens"] or 0
        self._succeed({"at": at, **reply, "usd": usd if spending.priced else None})
        return None

    def _fail(
        self, at: int, failure: Failure, tokens: float, sent_at: float, usd: float | None
    ) -> float | None:
        """Note a failure; return the seconds after which to ask again, None where that is of no use."""
        engine = self.engine
        limiter, endpoint = engine.limiter, engine.endpoint
        engine.counts["failures"] += 1
        if failure.kind == "wait" or failure.overload:
            limiter.overloaded(tokens, sent_at, failure.retry_after)
        else:
            limiter.failed(tokens)
        if failure.kind == "stop":
            raise endpoint.explain(failure)
        if (failure.retry_after or 0) > LONGEST_WAIT:
            raise endpoint.explain(failure)
        if failure.kind == "wait":
            if time.monotonic() - self.replied > LONGEST_WAIT:
                raise endpoint.explain(failure)
            self._show(failure, limiter.wait())
            return 0.0
        if failure.kind == "again":
            counts, most = (
                (self.unreadable, UNREADABLE_ATTEMPTS) if failure.unreadable else (self.failures, ATTEMPTS)
            )
            counts[at] += 1
            if counts[at] < most:
                wait = float(min(60.0, self.backoff * 2 ** (counts[at] - 1)) * random.uniform(0.75, 1.25))
                self._show(failure, max(wait, limiter.wait()))
                return wait
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

    def _show(self, failure: Failure, wait: float) -> None:
        """Show those who watch why a request failed, and when the next is sent."""
        self.state.trouble(clean(failure.reason, self.engine.endpoint.secrets), wait)

    def _succeed(self, row: dict[str, Any]) -> None:
        self.replied = time.monotonic()
        self.some_answered = True
        self._release()
        self._note(row)

    def _release(self) -> None:
        """Believe the refusals: others were answered, or all questions have been asked."""
        while self.refused:
            row, _ = self.refused.pop(0)
            self._note(row)

    def _note(self, row: dict[str, Any]) -> None:
        self.bar.update()
        self.state.count()
        if self.engine.spending.priced:
            self.state.spent(self.engine.spending.spent)
        self.handover.add(row)
        self.handover.look()

    def _hand_over(self, rows: list[dict[str, Any]]) -> None:
        spent = f", ${self.engine.spending.spent:.4f}" if self.engine.spending.priced else ""
        self.bar.set_postfix_str(f"{self.engine.limiter.under_way} under way{spent}", refresh=False)
        # As objects: pandas would look into the values, and could fail on one of them.
        self.keep(pd.DataFrame(rows, dtype=object))
