"""The progress of a job, in a small file in the study's folder, for those who watch from outside.

``results/{study}/.progress/{model}.{shard}.json`` is written every few seconds, so that a killed job differs from one
that waits. Engines note what they do in ``current()``, which is written nowhere outside a job.
"""

import json
import os
import platform
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from cinorms.core.errors import CinormsError
from cinorms.core.files import replacing
from cinorms.core.logs import redact

#: Folder of these files, in that of a study.
FOLDER = ".progress"
#: Seconds between two writes.
HEARTBEAT = 1.5
#: Seconds of silence after which a job counts as dead; a shared disk shows a file late, and clocks differ a little.
SILENCE = 90.0
#: Seconds after the first replies before which there is no rate, and before which it says nothing about the time left:
#: vLLM on a CPU answers a batch in ten.
FIRST, YOUNG = 1.0, 30.0
#: Characters of a reason that are kept.
LONGEST = 160


@dataclass(frozen=True)
class AskingState:
    """How far one job is. Times are in seconds since 1970."""

    phase: Literal["starting", "asking", "done", "failed", "stopped"] = "starting"
    #: Questions of the job, and how many are answered; None before they are known.
    total: int | None = None
    answered: int = 0
    #: When the first answers came, and how many there were then.
    first: float | None = None
    before: int = 0
    #: What the job does when it does not ask, such as loading a checkpoint.
    doing: str = ""
    #: Why the last attempt failed, until one succeeds, and since when.
    trouble: str = ""
    since: float = 0.0
    #: Attempts that failed.
    failures: int = 0
    usd: float | None = None
    #: Tokens of prompts and replies, as far as the engine counts them.
    tokens: int = 0
    updated: float = 0.0
    host: str = ""
    process: int = 0

    @property
    def rate(self) -> float | None:
        """Answers per second since the first ones; None before there is one."""
        return (self.answered - self.before) / self._seconds if self._seconds >= FIRST else None

    @property
    def is_steady(self) -> bool:
        """Whether the rate says how long the rest takes."""
        return self._seconds >= YOUNG

    @property
    def _seconds(self) -> float:
        return self.updated - (self.first or self.updated)

    def is_alive(self, now: float) -> bool:
        """Tell whether the job that wrote this is still at work, as far as its file and this machine can tell."""
        at_work = self.phase in ("starting", "asking") and now - self.updated <= SILENCE
        return at_work and not is_gone(self.host, self.process)


def is_gone(host: object, process: object) -> bool:
    """Tell whether a process is known to have ended: one of another host may be at work, as far as this one knows."""
    if host != platform.node() or not isinstance(process, int):
        return False
    try:
        os.kill(process, 0)
        # A killed process may stay in the table, in a container above all, but without a command.
        return Path(f"/proc/{process}/cmdline").read_bytes() == b""
    except (OSError, OverflowError) as error:  # somebody else's process, or no /proc here
        return isinstance(error, ProcessLookupError)


class JobState:
    """The state of this job; may be changed from any thread. Without ``path`` it is written nowhere."""

    def __init__(self, path: Path | None = None, secrets: Sequence[str] = ()) -> None:
        self.state = AskingState(host=platform.node(), process=os.getpid())
        self._path, self._secrets = path, secrets
        self._lock, self._ended = threading.Lock(), threading.Event()

    def start(self) -> None:
        """Write the state now and every ``HEARTBEAT`` seconds, until ``end``."""
        self.write()
        threading.Thread(target=self._follow, daemon=True).start()

    def begin(self, total: int, answered: int) -> None:
        """Note that asking begins: ``answered`` of ``total`` questions have an answer already."""
        self.note(phase="asking", total=total, answered=answered, before=answered)

    def count(self, tokens: int = 0) -> None:
        """Note a new answer, and the ``tokens`` that it took; earlier trouble is over."""
        with self._lock:
            answered, tokens = self.state.answered + 1, self.state.tokens + tokens
            self.state = replace(self.state, answered=answered, tokens=tokens, trouble="", doing="")

    def find(self, answers: int) -> None:
        """Note answers that turn out to be known: they came without being asked, and say nothing about the rate."""
        with self._lock:
            answered, before = self.state.answered + answers, self.state.before + answers
            self.state = replace(self.state, answered=answered, before=before)

    def note(self, **changes: object) -> None:
        """Note what has changed: what the job does when it does not ask, say, or what it has spent so far."""
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def trouble(self, reason: str) -> None:
        """Note a failed attempt."""
        with self._lock:
            since = self.state.since if self.state.trouble else time.time()
            reason, failures = redact(reason, self._secrets)[:LONGEST], self.state.failures + 1
            self.state = replace(self.state, trouble=reason, since=since, failures=failures)

    def end(self, phase: Literal["done", "failed", "stopped"], reason: str = "") -> None:
        """Write the last state."""
        self._ended.set()
        self.note(phase=phase, trouble=redact(reason, self._secrets)[:LONGEST], doing="")
        self.write()

    def write(self) -> None:
        """Write the state."""
        with self._lock:
            self.state = replace(self.state, updated=time.time())
            if self.state.first is None and self.state.answered > self.state.before:
                self.state = replace(self.state, first=self.state.updated, before=self.state.answered)
            if self._path:
                # A full disk must not end what is paid for.
                with suppress(OSError), replacing(self._path) as part:
                    part.write_text(json.dumps(asdict(self.state)), encoding="utf-8")

    def _follow(self) -> None:
        while not self._ended.wait(HEARTBEAT):
            self.write()


_current = _nowhere = JobState()


def current() -> JobState:
    """Return the state of the job that runs in this process; one that is never written where there is none."""
    return _current


def state_file(progress: Path, model: str, shard: str) -> Path:
    """Return the file with the state of a job."""
    return progress / f"{model}.{shard}.json"


def failed_file(progress: Path, model: str, shard: str) -> Path:
    """Return the file that the job of a shard writes anew whenever it ends with questions that failed."""
    return progress / f"{model}.{shard}.failed"


def note_failed(progress: Path, model: str, shard: str, n_failed: int) -> None:
    """Write that questions failed, in other words than ever before: so the next run asks them again."""
    with replacing(failed_file(progress, model, shard)) as part:
        part.write_text(f"{n_failed} questions, {time.time_ns()}", encoding="utf-8")


@contextmanager
def followed(progress: Path, model: str, shard: str, secrets: Sequence[str] = ()) -> Iterator[JobState]:
    """Keep the state of the job that asks a shard of a model up to date in the folder ``progress``, to its end."""
    global _current
    _current = JobState(state_file(progress, model, shard), secrets)
    _current.start()
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
