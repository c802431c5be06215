"""The progress of a job, in a small file in the study's folder, for those who watch from outside.

``results/{study}/.progress/{model}.{shard}.json`` is written every two seconds while something changes, and less often
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
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from cinorms.core.errors import CinormsError
from cinorms.core.files import write_whole
from cinorms.core.logs import redact

#: Folder of these files, in that of a study.
FOLDER = ".progress"
#: Seconds between two checks for something to write.
PERIOD = 2.0
#: Seconds after which an unchanged file is written again.
HEARTBEAT = 20.0
#: Seconds of silence after which a job counts as dead; clocks of machines may differ a little.
SILENCE = 90.0
#: Seconds over which the rate is taken: replies come in bursts of a whole batch.
WINDOW = 300.0
#: Seconds after the first replies before which the rate means nothing: vLLM on a CPU answers a batch in ten.
YOUNG = 30.0
#: Characters of a reason that are kept.
LONGEST = 160


@dataclass(frozen=True)
class AskingState:
    """How far one job is. Times are in seconds since 1970."""

    model: str
    shard: str
    phase: Literal["starting", "asking", "done", "failed", "stopped"] = "starting"
    #: Questions of the job, and how many are answered; None before they are known.
    total: int | None = None
    answered: int = 0
    #: Answers per second lately, from which the time left follows; None before that means something.
    rate: float | None = None
    #: What the job does when it does not ask, such as loading a checkpoint.
    doing: str = ""
    #: Why the last attempt failed, until one succeeds, and since when.
    trouble: str = ""
    since: float | None = None
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
        #: When so many were answered, since the first replies: the time before says nothing about the others.
        self._history: deque[tuple[float, int]] = deque()
        self._answered_before = 0

    def begin(self, total: int, answered: int) -> None:
        """Note that asking begins: ``answered`` of ``total`` questions have an answer already."""
        self.note(phase="asking", total=total, answered=answered)
        self._history.clear()
        self._answered_before = answered

    def count(self, answers: int = 1) -> None:
        """Note new answers; earlier trouble is over."""
        with self._lock:
            answered = self.state.answered + answers
            self.state = replace(self.state, answered=answered, trouble="", since=None, doing="")

    def note(self, **changes: object) -> None:
        """Note what has changed: what the job does when it does not ask, say, or what it has spent so far."""
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def trouble(self, reason: str) -> None:
        """Note a failed attempt."""
        with self._lock:
            reason, failures = redact(reason, self._secrets)[:LONGEST], self.state.failures + 1
            since = self.state.since or time.time()
            self.state = replace(self.state, trouble=reason, since=since, failures=failures)

    def follow(self) -> None:
        """Write the state every ``PERIOD`` seconds if needed, until ``end``."""
        self.write()
        while not self._ended.wait(PERIOD):
            self.write()

    def end(self, phase: Literal["done", "failed", "stopped"], reason: str = "") -> None:
        """Write the last state."""
        self._ended.set()
        self.note(phase=phase, trouble=redact(reason, self._secrets)[:LONGEST], since=None, doing="")
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

    def _with_rate(self) -> AskingState:
        """Return the state with the rate of the last minutes, once it means something."""
        now, answered, history = time.monotonic(), self.state.answered, self._history
        if answered > self._answered_before:
            history.append((now, answered))
        while history and now - history[0][0] > WINDOW:
            history.popleft()
        before, then = history[0] if history else (now, answered)
        rate = (answered - then) / (now - before) if now - before >= YOUNG else None
        return replace(self.state, rate=rate and round(rate, 2))


_nowhere = JobState(AskingState("", ""))
_current = _nowhere


def current() -> JobState:
    """Return the state of the job that runs in this process; one that is never written where there is none."""
    return _current


def state_file(progress: Path, model: str, shard: str) -> Path:
    """Return the file with the state of a job."""
    return progress / f"{model}.{shard}.json"


@contextmanager
def followed(progress: Path, model: str, shard: str, secrets: Sequence[str] = ()) -> Iterator[JobState]:
    """Keep the state of the job that asks a shard of a model up to date in the folder ``progress``, to its end."""
    global _current
    path = state_file(progress, model, shard)
    with suppress(OSError):  # the store says it in words
        path.parent.mkdir(parents=True, exist_ok=True)
    now = time.time()
    begun = AskingState(model, shard, started=now, updated=now, host=platform.node(), process=os.getpid())
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


def read_state(progress: Path, model: str, shard: str) -> AskingState | None:
    """Return the last state of the job of a shard; None where none was written, or not by this version."""
    try:
        return AskingState(**json.loads(state_file(progress, model, shard).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
