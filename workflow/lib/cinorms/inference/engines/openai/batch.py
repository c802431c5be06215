"""The Batch API: half the price, replies within a day; input files are uploaded, polled, downloaded.

The journal remembers each batch in a note: a killed job finds its batches again and pays for none twice.
"""

import json
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import EngineError, JournalError
from cinorms.core.files import write_whole
from cinorms.inference import job_state
from cinorms.inference.engine_kind import Keep
from cinorms.inference.engines.openai.batch_api import BatchApi, BatchState, as_object
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.replies import (
    UNREADABLE_ATTEMPTS,
    Failure,
    judge_status,
    parsed,
    read_body,
    refusal,
    unreadable,
)
from cinorms.inference.journal import Asker
from cinorms.inference.journal_files import explained, own_files
from cinorms.inference.questions import Questions
from cinorms.inference.spending import CapReached, as_amount

#: The API's limits for one input file.
REQUESTS = 50_000
BYTES = 200_000_000
#: Seconds between two looks at the batches.
POLL = 30.0
#: Times that a request is put into a batch before its failure is believed.
ROUNDS = 3
#: Batches that are refused for their size are halved down to this.
SMALLEST = 500
#: If this many prompts are refused and none is answered, the fault is in the request, not in the prompts.
REFUSALS = 5
# ASSUME: at least 3 bytes per token on average; the authors' prompts have 4.6.
BYTES_PER_TOKEN = 3

_ENDED = ("completed", "failed", "expired", "cancelled")
#: Names of notes: the batch's mark.
_NOTE = re.compile(r"[0-9a-f]{32}\.json")


@dataclass
class Batch:
    """One batch: written down before it is created, under a random mark that the API also receives."""

    mark: str
    #: Names of its questions (``Questions.name``); they name the prompts, so they outlive shards and jobs.
    ids: list[str]
    #: When this was written, in seconds since 1970.
    written: float
    #: Input tokens that it puts into the account's queue, and what it costs at most; estimates.
    tokens: float
    usd: float
    #: Who created it (``journal.Asker.mark``), so who pays.
    asker: str
    #: What the API calls it; None until it is known to have been created.
    batch_id: str | None = None
    #: Jobs that have taken their replies from it.
    harvested: list[str] = field(default_factory=list)
    #: Whether the API took none of it: its questions are free for another batch.
    void: bool = False


class BatchNotes:
    """The batches of one journal: one small file each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with explained(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def new(self, ids: Sequence[str], tokens: float, usd: float, asker: str) -> Batch:
        """Write down a batch that is about to be created."""
        batch = Batch(uuid.uuid4().hex, list(ids), time.time(), tokens, usd, asker)
        self.save(batch)
        return batch

    def save(self, batch: Batch) -> None:
        """Write down the new state of a batch."""
        with explained(self._folder):
            write_whole(self._folder / f"{batch.mark}.json", json.dumps(asdict(batch)).encode())

    def all(self) -> list[Batch]:
        """Return every batch that was ever written down, oldest first."""
        batches = []
        for path in own_files(self._folder, _NOTE):
            try:
                batch = Batch(**json.loads(path.read_bytes()))
                for amount in (batch.written, batch.tokens, batch.usd):
                    as_amount(amount)
                batches.append(replace(batch, ids=list(batch.ids), harvested=list(batch.harvested)))
            except (OSError, ValueError, TypeError):
                raise JournalError(
                    f"{path}: the note of a batch is damaged, and its prompts would be paid again. Restore the file "
                    "from a copy and run again; if there is none, delete it: they are then asked and paid again"
                ) from None
        return sorted(batches, key=lambda batch: batch.written)


class BatchEngine:
    """Asks a shard in batches; ``folder`` holds those of every job that uses the journal. Times are in seconds."""

    def __init__(
        self,
        endpoint: Endpoint,
        folder: Path,
        poll: float = POLL,
        backoff: float = 1.0,
        most_requests: int = REQUESTS,
    ) -> None:
        discount = float(endpoint.tuning["rates"].get("batch_discount", 0.0))
        self.endpoint = endpoint
        self.spending = endpoint.spending(discount)
        self._notes = BatchNotes(folder)
        self._asker = Asker(*endpoint.tuning.get("asker", ())).mark
        self._poll, self._backoff, self._most_requests = poll, backoff, most_requests
        self.counts = {"batches": 0, "requests": 0, "failures": 0, "input_tokens": 0, "output_tokens": 0}

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo``; see ``engine_kind.Engine``."""
        self._questions, self._keep = questions, keep
        self._api = BatchApi(self.endpoint, self._backoff)
        self._some_answered = job_state.current().state.answered > 0
        #: Row of each question that is not settled, by its name.
        self._open = {self._questions.name(at): at for at in todo.tolist()}
        self._fresh: list[int] = []
        self._reserved: dict[str, float] = {}
        self._rounds: dict[int, int] = {}
        self._refused: list[dict[str, Any]] = []
        self._stop: Failure | None = None
        self._one_by_one = False
        try:
            self._ask_all()
        finally:
            self.spending.close()
            self._api.close()

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about this engine."""
        usd = self.spending.spent if self.spending.priced else None
        return {**self.endpoint.facts(), **self.counts, "usd": usd}

    def _ask_all(self) -> None:
        running = self._find_again()
        taken = {name for batch in running for name in batch.ids}
        self._fresh = [at for name, at in self._open.items() if name not in taken]
        while self._fresh or running:
            self._submit_what_fits(running)
            states = {batch.mark: self._api.state(str(batch.batch_id)) for batch in running}
            if counts := [state.counts for state in states.values() if state.counts]:
                done, total = (sum(numbers) for numbers in zip(*counts, strict=True))
                job_state.current().note(doing=f"{len(counts)} batches: {done:,} of {total:,}")
            ended = [batch for batch in running if states[batch.mark].status in _ENDED]
            for batch in ended:
                running.remove(batch)
                self._harvest(batch, states[batch.mark])
            if (running or self._fresh) and all(batch.void for batch in ended):
                time.sleep(self._poll)
        # Refusals are believed if anything was answered; else the fault is in the request.
        many = len(self._refused) >= REFUSALS or (self._refused and self._last_refusal.unreadable)
        if many and not self._some_answered:
            raise self.endpoint.explain(self._last_refusal)
        if self._refused:
            self._keep(pd.DataFrame(self._refused, dtype=object))

    # --- Which batches there are

    def _find_again(self) -> list[Batch]:
        """Return the batches of earlier jobs that may hold replies to open questions."""
        running = []
        for batch in self._notes.all():
            if (
                batch.void
                or self._shard in batch.harvested
                or not any(name in self._open for name in batch.ids)
            ):
                continue
            if batch.batch_id is None:
                # The job was killed between the two: the batch may or may not have been created.
                batch.batch_id = self._api.look_up(batch.mark, batch.written)
                batch.void = batch.batch_id is None
                self._notes.save(batch)
            if batch.batch_id:
                print(f"Found batch {batch.batch_id} of an earlier job ({len(batch.ids):,} requests).")
                self._reserved[batch.mark] = self.spending.adopt(batch.usd)
                running.append(batch)
        return running

    # --- Submitting

    def _submit_what_fits(self, running: list[Batch]) -> None:
        """Create batches of the fresh questions, as many as money and the account's queue allow."""
        most = self.endpoint.limits.get("enqueued_tokens", float("inf"))
        while self._fresh:
            room = most - sum(batch.tokens for batch in running)
            wanted = min(most / 2, self._tokens(self._fresh[0]) * len(self._fresh))
            if running and (self._one_by_one or room < wanted):
                return
            try:
                running.append(self._submit(room))
            except CapReached:
                if not running:
                    raise
                return

    def _submit(self, room: float) -> Batch:
        """Create the next batch from the head of the questions that are fresh."""
        spending, left = self.spending, self.spending.left()
        lines: list[bytes] = []
        size, tokens, usd = 0, 0.0, 0.0  # of the file; of the prompts; what it costs at most
        for at in self._fresh[: self._most_requests]:
            chat = self._questions.chat(at)
            line = self.endpoint.batch_line(self._questions.name(at), chat)
            price = spending.price(self.endpoint.most_input(chat), self.endpoint.most_output)
            more = self._tokens(at)
            if lines and (size + len(line) > BYTES or usd + price > left or tokens + more > room):
                break
            lines.append(line)
            size, tokens, usd = size + len(line), tokens + more, usd + price
        spending.reserve(usd)
        chosen, self._fresh = self._fresh[: len(lines)], self._fresh[len(lines) :]
        batch = self._notes.new([self._questions.name(at) for at in chosen], tokens, usd, self._asker)
        self._reserved[batch.mark] = usd
        data = b"".join(lines)
        batch.batch_id = self._create(batch, self._api.upload(f"{batch.mark}.jsonl", data))
        self._notes.save(batch)
        self.counts["batches"] += 1
        self.counts["requests"] += len(chosen)
        print(f"Batch {batch.batch_id}: {len(chosen):,} requests, {len(data) / 1e6:.1f} MB.")
        return batch

    def _create(self, batch: Batch, file_id: str) -> str:
        return self._api.create(file_id, batch.mark, batch.written)

    def _tokens(self, at: int) -> float:
        return self.endpoint.most_input(self._questions.chat(at)) / BYTES_PER_TOKEN

    # --- Harvesting

    def _harvest(self, batch: Batch, state: BatchState) -> None:
        """Keep the replies of a batch that has ended; questions without one go back to the fresh ones."""
        if state.status == "failed":
            self._learn(batch, state)
        if state.status == "completed" and not state.files:
            raise EngineError(
                f"batch {state.id} is completed, but the endpoint names no file with its replies, which are paid; run "
                "again later. To ask its questions again, and pay again, use --config mode=live"
            )
        # A batch of another study or arm is paid for there.
        self._paid_elsewhere = batch.asker != self._asker
        replies: dict[str, dict[str, Any] | Failure] = {}
        for line, raw in self._lines(state):
            name = str(line.get("custom_id"))
            if name in self._open and name not in replies:
                replies[name] = self._read(line, raw)
        if state.status == "completed":
            missing = unreadable("no readable line in the results of its batch")
            replies |= {name: missing for name in batch.ids if name in self._open and name not in replies}
        rows = []
        for name, reply in replies.items():
            if (row := self._settle(self._open[name], reply)) is not None:
                rows.append(row)
                del self._open[name]
        self.spending.settle(self._reserved.pop(batch.mark, 0.0), 0.0)
        if rows:
            # As objects: pandas would look into the values, and could fail on one of them.
            self._keep(pd.DataFrame(rows, dtype=object))
        if self.spending.priced:
            job_state.current().note(usd=self.spending.spent)
        if not batch.void:
            batch.harvested.append(self._shard)
        self._notes.save(batch)
        again = [at for name in batch.ids if (at := self._open.get(name)) is not None]
        self._fresh += again
        print(f"Batch {state.id} {state.status}: {len(rows):,} replies, {len(again):,} to be asked again.")
        if self._stop:
            raise self.endpoint.explain(self._stop)
        if again and state.status == "cancelled":
            raise EngineError(
                f"batch {state.id} was cancelled; its replies are in the journal. Run again to ask the other "
                f"{len(again):,} questions"
            )
        if again and state.status == "expired":
            for at in again:
                self._rounds[at] = self._rounds.get(at, 0) + 1
            if max(self._rounds[at] for at in again) >= ROUNDS:
                raise EngineError(
                    f"{len(again):,} requests expired unanswered in {ROUNDS} batches; every response so far is "
                    "in the journal. Run again later, or with --config mode=live"
                )

    def _learn(self, batch: Batch, state: BatchState) -> None:
        """React to a batch that the API did not accept."""
        batch.void = True
        codes = [code for code, _ in state.errors]
        if "token_limit_exceeded" in codes:
            # Nothing may be submitted before another batch, of this job or any other, has ended.
            self._one_by_one = True
            self._most_requests = max(min(SMALLEST, self._most_requests), len(batch.ids) // 2)
            print(
                "The account's limit of enqueued tokens is reached: sending smaller batches, one after another."
            )
            return
        shown = "; ".join(f"{code}: {message}" for code, message in state.errors[:3]) or "no reason given"
        body = {"code": codes[0] if codes else "", "message": shown}
        # Whatever is wrong with a whole file is wrong with every request.
        failure = judge_status(400, body, {})
        self._stop = failure if failure.kind == "stop" else Failure("stop", failure.reason, advice="request")

    def _lines(self, state: BatchState) -> Iterator[tuple[dict[str, Any], bytes]]:
        """Return the lines of the output and the error file that can be read, and their bytes."""
        for file_id in state.files:
            for attempt in range(1, ROUNDS + 1):
                raw = [line for line in self._api.download(file_id).splitlines() if line.strip()]
                lines = [line if isinstance(line := parsed(text), dict) else None for text in raw]
                if None not in lines:
                    break
                print(
                    f"File {file_id}, try {attempt}: {lines.count(None)} of {len(lines):,} lines are unreadable."
                )
            yield from ((line, own) for line, own in zip(lines, raw, strict=True) if line is not None)

    def _read(self, line: dict[str, Any], raw: bytes) -> dict[str, Any] | Failure:
        """Return the reply in ``line``, or what is wrong with it."""
        response, error = (as_object(line.get(name)) for name in ("response", "error"))
        status = response.get("status_code")
        if status == 200:
            return read_body(response.get("body"), raw, self.endpoint.secrets, self.endpoint.traces)
        if isinstance(status, int):
            return judge_status(status, response.get("body"), {})
        return Failure("again", f"{error.get('code')}: {error.get('message')}")

    def _settle(self, at: int, reply: dict[str, Any] | Failure) -> dict[str, Any] | None:
        """Return the row of a reply, or None where the question has to be asked again or is kept back."""
        if not isinstance(reply, Failure):
            self._some_answered = True
            return {"at": at, **reply, "usd": self._pay(at, reply)}
        self.counts["failures"] += 1
        usd = self._pay(at, {}) if reply.paid else 0.0
        if reply.kind == "stop":
            self._stop = reply
            return None
        if reply.kind != "refused":
            if "batch_expired" not in reply.reason:  # an expired batch counts as a whole
                self._rounds[at] = self._rounds.get(at, 0) + 1
            if self._rounds.get(at, 0) < (UNREADABLE_ATTEMPTS if reply.unreadable else ROUNDS):
                return None
        row = {"at": at, **refusal(reply, self.endpoint.secrets, usd)}
        if self._some_answered:
            return row
        self._refused.append(row)
        self._last_refusal = reply
        del self._open[self._questions.name(at)]
        return None

    def _pay(self, at: int, reply: dict[str, Any]) -> float | None:
        """Count what a reply cost; the most possible where it does not say."""
        spending = self.spending
        usd = self.endpoint.cost(spending, self._questions.chat(at), reply)
        usd = 0.0 if self._paid_elsewhere else usd
        spending.settle(0.0, usd)
        self.counts["input_tokens"] += reply.get("n_prompt_tokens") or 0
        self.counts["output_tokens"] += reply.get("n_output_tokens") or 0
        return usd if spending.priced else None

    @property
    def _shard(self) -> str:
        return f"{self._asker}-{self._questions.spec.shard}"
