"""The progress of a job, in a small file next to its responses, for those who watch from outside, and in its log.

``responses/{arm}/{model}/.progress/{shard}.json`` is written every two seconds while something changes, and less often
while nothing does, so that a killed job differs from a waiting one. Engines note what they do in ``current()``, which
is not written outside a job.
"""

import json
import os
import platform
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from cinorms.core.errors import CinormsError
from cinorms.core.files import write_whole
from cinorms.core.logs import redact
from cinorms.inference.spending import as_amount

#: Folder of these files, in that of a model's responses.
FOLDER = ".progress"
#: Seconds between two checks for something to write.
PERIOD = 2.0
#: Seconds after which an unchanged file is written again.
HEARTBEAT = 20.0
#: Seconds between two lines of the log that say how far the job is.
LOG_PERIOD = 30.0
#: Seconds of silence after which a job counts as dead; clocks of machines may differ a little.
SILENCE = 90.0
#: Seconds over which the rate is taken.
WINDOW = 60.0
#: Seconds over which the pace is taken: replies come in bursts of a whole batch.
PACE_WINDOW = 300.0
#: The pace is known once this share of what a job asks has come after its first replies, or so many seconds later.
PACE_SHARE, PACE_SECONDS = 0.1, 300.0
#: Characters of a reason that are kept.
LONGEST = 160


@dataclass(frozen=True)
class AskingState:
    """How far one job is. Times are in seconds since 1970."""

    arm: str
    model: str
    shard: str
    phase: Literal["starting", "asking", "done", "failed", "stopped"] = "starting"
    #: Questions of the shard, and how many are answered; None before they are known.
    total: int | None = None
    answered: int = 0
    #: Answers per second lately.
    rate: float | None = None
    #: Answers per second from which the time left follows; None before that means something.
    pace: float | None = None
    #: What the job does when it does not ask, such as loading a checkpoint.
    doing: str = ""
    #: Why the last attempt failed, until one succeeds, and the time of the next attempt.
    trouble: str = ""
    next_attempt: float | None = None
    #: Attempts that failed.
    failures: int = 0
    usd: float | None = None
    started: float = 0.0
    updated: float = 0.0
    host: str = ""
    process: int = 0

    def is_alive(self, now: float) -> bool:
        """Tell whether the job that wrote this is still at work, as far as its file can tell."""
        if self.phase not in ("starting", "asking") or now - self.updated > SILENCE:
            return False
        if self.host != platform.node():
            return True
        try:
            os.kill(self.process, 0)
            # A killed process whose parent was killed too may stay in the table, in a container above all.
            stat = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8")
            return stat.rpartition(")")[2].split()[0] != "Z"
        except ProcessLookupError:
            return False
        except OSError:  # somebody else's process, or no /proc here
            return True


class JobState:
    """The state of this job; may be changed from any thread. Without ``path`` it is written nowhere."""

    def __init__(self, state: AskingState, path: Path | None = None, secrets: Sequence[str] = ()) -> None:
        self.state = state
        self._path, self._secrets = path, secrets
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._written: AskingState | None = None
        self._history: deque[tuple[float, int]] = deque()
        self._answered_before = 0
        self._first: tuple[float, int] | None = None  # when the first replies were seen, and how many
        self._logged = (time.monotonic(), 0)  # when the log was told, and how many were answered then

    def begin(self, total: int, answered: int) -> None:
        """Note that asking begins: ``answered`` of ``total`` questions have an answer already."""
        self.note(phase="asking", total=total, answered=answered)
        self._history.clear()
        self._history.append((time.monotonic(), answered))
        self._answered_before, self._first = answered, None

    def count(self, answers: int = 1) -> None:
        """Note new answers; earlier trouble is over."""
        with self._lock:
            answered = self.state.answered + answers
            self.state = replace(self.state, answered=answered, trouble="", next_attempt=None, doing="")

    def at_least(self, answered: int) -> None:
        """Note that so many questions are answered, for an engine that counts none itself."""
        if answered > self.state.answered:
            self.count(answered - self.state.answered)

    def note(self, **changes: object) -> None:
        """Note what has changed: what the job does when it does not ask, say, or what it has spent so far."""
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def trouble(self, reason: str, wait: float) -> None:
        """Note a failed attempt, and the seconds to the next."""
        with self._lock:
            reason = redact(reason, self._secrets)[:LONGEST]
            at = max(self.state.next_attempt or 0.0, time.time() + wait)
            failures = self.state.failures + 1
            self.state = replace(self.state, trouble=reason, next_attempt=at, failures=failures)

    def follow(self) -> None:
        """Write the state every ``PERIOD`` seconds if needed, until ``end``."""
        self.write()
        while not self._ended.wait(PERIOD):
            self.write()

    def end(self, phase: Literal["done", "failed", "stopped"], reason: str = "") -> None:
        """Write the last state."""
        self._ended.set()
        self.note(phase=phase, trouble=redact(reason, self._secrets)[:LONGEST], next_attempt=None, doing="")
        self.write()

    def write(self) -> None:
        """Write the state if it has changed, or has not been written for a while."""
        with self._lock:
            now = time.time()
            fresh = self._with_rate()
            same = self._written is not None and self._written == replace(
                fresh, updated=self._written.updated
            )
            if self._path is None or (same and now - fresh.updated < HEARTBEAT):
                return
            self._written = self.state = replace(fresh, updated=now)
            with suppress(OSError):  # a full disk must not end what is paid for
                write_whole(self._path, json.dumps(asdict(self._written)).encode(), self.state.shard)
            told, answered = self._logged
            if fresh.answered != answered and time.monotonic() - told >= LOG_PERIOD:
                self._logged = time.monotonic(), fresh.answered
                print(f"{fresh.answered:,} of {fresh.total or 0:,} answered.")

    def _with_rate(self) -> AskingState:
        """Return the state with the rate of the last minute and, once it means something, the pace."""
        now, answered = time.monotonic(), self.state.answered
        while len(self._history) > 1 and now - self._history[0][0] > PACE_WINDOW:
            self._history.popleft()
        self._history.append((now, answered))
        if answered > self._answered_before and self._first is None:
            self._first = now, answered
        pace = None
        if self._first is not None:  # the time before the first replies says nothing about the others
            seconds, new = now - self._first[0], answered - self._first[1]
            todo = (self.state.total or 0) - self._answered_before
            if seconds >= PACE_SECONDS or new >= PACE_SHARE * todo:
                pace = self._rate_over(min(seconds, PACE_WINDOW))
        return replace(self.state, rate=self._rate_over(WINDOW), pace=pace)

    def _rate_over(self, seconds: float) -> float | None:
        """Return the answers per second of the last ``seconds``; None where there is none."""
        now, answered = self._history[-1]
        before, then = next(past for past in self._history if now - past[0] <= seconds)
        rate = (answered - then) / (now - before) if now - before >= 1 else None
        return round(rate, 2) if rate else None


_nowhere = JobState(AskingState("", "", ""))
_current = _nowhere


def current() -> JobState:
    """Return the state of the job that runs in this process; one that is never written where there is none."""
    return _current


@contextmanager
def followed(out: Path, secrets: Sequence[str] = ()) -> Iterator[JobState]:
    """Keep the state of the job that writes the responses ``out`` up to date, to its end."""
    global _current
    arm, model, shard = out.parent.parent.name, out.parent.name, out.stem
    path = out.parent / FOLDER / f"{shard}.json"
    with suppress(OSError):  # the journal says it in words
        path.parent.mkdir(parents=True, exist_ok=True)
    now = time.time()
    begun = AskingState(
        arm, model, shard, started=now, updated=now, host=platform.node(), process=os.getpid()
    )
    _current = JobState(begun, path, secrets)
    threading.Thread(target=_current.follow, daemon=True).start()
    try:
        yield _current
        _current.end("done")
    except (SystemExit, KeyboardInterrupt):
        _current.end("stopped")
        raise
    except BaseException as failure:
        expected = isinstance(failure, CinormsError)
        reason = str(failure).splitlines()[0] if expected else f"{type(failure).__name__}: {failure}"
        _current.end("failed", reason)
        raise
    finally:
        _current = _nowhere


def read_state(responses: Path, arm: str, model: str, shard: str) -> AskingState | None:
    """Return the last state of the job of a shard; None where none was written, or not by this version."""
    path = responses / arm / model / FOLDER / f"{shard}.json"
    try:
        state = AskingState(**json.loads(path.read_bytes()))
        for field in fields(AskingState):
            value = getattr(state, field.name)
            if isinstance(field.default, str) or field.default is MISSING:
                value.encode("utf-8")
            elif value is not None or field.default is not None:
                as_amount(value)
    except (OSError, ValueError, TypeError, AttributeError):
        return None
    return state
