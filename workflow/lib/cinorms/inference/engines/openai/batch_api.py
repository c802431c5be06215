"""The calls of the Batch API, each tried until it is answered, and what the answers hold.

Answers are read from their JSON here, by type: an endpoint that calls itself compatible may send anything.
"""

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from cinorms.core.errors import EngineError
from cinorms.core.logs import redact
from cinorms.inference import job_state
from cinorms.inference.engines.openai.endpoint import Endpoint
from cinorms.inference.engines.openai.limiter import LONGEST_WAIT
from cinorms.inference.engines.openai.replies import clean, judge, unreadable

#: Seconds that the transfer of a file may take.
TRANSFER = 1800.0
#: Times that a call is tried.
ATTEMPTS = 8
#: Batches that are looked through for one with a mark, however old they say they are: clocks can be wrong.
LOOKED_THROUGH = 1_000
#: Seconds by which clocks disagree without anything being wrong.
CLOCKS = 3600.0

_MARK = "cinorms"
_PAGE = 100
T = TypeVar("T")


@dataclass(frozen=True)
class BatchState:
    """The state of a batch, as the API reports it."""

    id: str
    status: str
    #: The files that hold its replies and its failures, where there are any.
    files: tuple[str, ...] = ()
    #: Requests that have ended, and all.
    counts: tuple[int, int] | None = None
    #: Code and message of each reason why it was not taken.
    errors: tuple[tuple[str, str], ...] = ()
    mark: str | None = None
    #: In seconds since 1970, by the endpoint's clock.
    created: float | None = None


class BatchApi:
    """The files and batches of an endpoint; ``backoff`` is the first pause after a failure, in seconds."""

    def __init__(self, endpoint: Endpoint, backoff: float) -> None:
        # Here, as exports know the limits of a batch where the package is not installed.
        import openai

        from cinorms.inference.engines.openai.clients import BatchClient

        self._endpoint, self._backoff = endpoint, backoff
        self._client: Any = openai.OpenAI(**endpoint.client_settings, http_client=BatchClient())

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def upload(self, name: str, data: bytes) -> str:
        """Upload an input file and return its id."""
        files = self._client.files.with_raw_response
        return self._call(
            lambda: files.create(file=(name, data), purpose="batch", timeout=TRANSFER),
            lambda raw: _word(json.loads(raw)["id"]),
        )

    def create(self, file_id: str, mark: str, written: float) -> str:
        """Create a batch that bears ``mark`` and return its id; ``written`` is when it was written down."""
        batches = self._client.batches.with_raw_response
        return self._call(
            lambda: batches.create(
                input_file_id=file_id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_MARK: mark},
            ),
            lambda raw: self._id(_state(json.loads(raw))),
            lambda: self.look_up(mark, written),
        )

    def look_up(self, mark: str, written: float) -> str | None:
        """Return the id of the batch that bears ``mark``, if it was created."""
        batches = self._client.batches.with_raw_response
        after: str | None = None
        seen: set[str] = set()
        while True:
            given = {"limit": _PAGE} | ({"after": after} if after else {})
            page, more = self._call(partial(batches.list, **given), _page)
            for batch in page:
                if batch.mark == mark:
                    return self._id(batch)
            new = {batch.id for batch in page} - seen
            seen |= new
            last = page[-1] if page else None
            if last is None or not more or not new:
                return None
            # Newest first.
            older = last.created is None or last.created < written - CLOCKS
            if older and len(seen) >= LOOKED_THROUGH:
                return None
            after = last.id

    def state(self, batch_id: str) -> BatchState:
        """Return the state of a batch."""
        batches = self._client.batches.with_raw_response
        return self._call(
            lambda: batches.retrieve(batch_id), lambda raw: _state(json.loads(raw)), advice="batch"
        )

    def download(self, file_id: str) -> bytes:
        """Return the content of a file."""
        files = self._client.files
        return self._call(lambda: files.content(file_id, timeout=TRANSFER), bytes, advice="batch")

    def _id(self, created: BatchState) -> str:
        """Return the id of a batch, which is written down: it must not hold the key."""
        if redact(created.id, self._endpoint.secrets) != created.id:
            raise EngineError(
                f"model {self._endpoint.spec.model!r} at {self._endpoint.url}: the endpoint gives a batch an id "
                "that holds the key, and ids are stored; ask it with --config mode=live"
            )
        return created.id

    def _call(
        self,
        call: Callable[[], Any],
        read: Callable[[bytes], T],
        done_already: Callable[[], T | None] | None = None,
        advice: str = "model",
    ) -> T:
        """Call the API until it answers, and return what ``read`` makes of its answer.

        ``done_already`` looks whether a call that failed came through. ``advice`` is what to do where the endpoint
        does not know what the call names.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                raw = bytes(call().content)
            except Exception as error:
                failure = judge(error)
            else:
                try:
                    answer = read(raw)
                except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                    failure = unreadable("an answer that nobody can read to a call of the Batch API", raw)
                    break
                job_state.current().recovered()
                return answer
            hopeless = failure.kind in ("stop", "refused") or failure.unreadable
            if hopeless or attempt == ATTEMPTS or (failure.retry_after or 0) > LONGEST_WAIT:
                break
            wait = min(60.0, self._backoff * 2 ** (attempt - 1) * random.uniform(0.75, 1.25))
            wait = wait if failure.retry_after is None else failure.retry_after
            job_state.current().trouble(clean(failure.reason, self._endpoint.secrets), wait)
            time.sleep(wait)
            if done_already and (failure.paid or failure.kind == "again"):
                done = done_already()
                if done:
                    return done
        raise self._endpoint.explain(
            replace(failure, advice=advice) if failure.advice == "model" else failure
        )


def _state(batch: dict[str, Any]) -> BatchState:
    """Return the state of a batch from the API's answer; raise an exception if it has no id or no status."""
    counts, errors, marks = (as_object(batch.get(name)) for name in ("request_counts", "errors", "metadata"))
    numbers = [n for name in ("completed", "failed", "total") if isinstance(n := counts.get(name), int)]
    reasons = errors.get("data")
    reasons = list(map(as_object, reasons)) if isinstance(reasons, list) else []
    files = (batch.get("output_file_id"), batch.get("error_file_id"))
    mark, created = marks.get(_MARK), batch.get("created_at")
    return BatchState(
        id=_word(batch["id"]),
        status=_word(batch["status"]),
        files=tuple(_word(name) for name in files if name),
        counts=(numbers[0] + numbers[1], numbers[2]) if len(numbers) == 3 else None,
        errors=tuple(
            (str(reason.get("code") or ""), str(reason.get("message") or "no reason given"))
            for reason in reasons
        ),
        mark=mark if isinstance(mark, str) else None,
        created=float(created) if isinstance(created, int | float) else None,
    )


def _page(raw: bytes) -> tuple[list[BatchState], bool]:
    listed = json.loads(raw)
    return [_state(batch) for batch in listed["data"]], listed.get("has_more") is True


def _word(value: object) -> str:
    """Return a word or a number as text; raise an exception for anything else, and for what no address can hold."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise TypeError
    return str(value).encode("ascii").decode()


def as_object(value: object) -> dict[str, Any]:
    """Return what should be a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}
