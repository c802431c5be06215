"""Logs: what a job prints goes to its log file; why it failed goes there, and to the terminal now or at the end.

Also what a command does where Ctrl+C stops it, or where nobody reads on (``make check | head``).
"""

import errno
import json
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TextIO

from cinorms.core.errors import CinormsError, first_few

P = ParamSpec("P")

#: What a command ends with that cannot do its work, whatever the reason. It is no command's verdict.
CANNOT = 2
#: Environment variable that is set by a run that lists all failures at its end.
FAILURES_AT_THE_END = "CINORMS_FAILURES_AT_THE_END"
#: Line in a log above the reason of a failure.
_MARK = "-- why this job failed --"
# ASSUME: a key has at least 8 characters; a shorter one guards nothing and may be a part of any answer.
SHORTEST_KEY = 8
#: Most characters of a file's name or of an unexpected error in a message.
MOST_SHOWN = 300
#: Number of last lines to show of a log that states no reason.
_LAST_LINES = 5


class WithoutSecrets:
    """A text stream that never shows secrets."""

    def __init__(self, stream: TextIO, secrets: Sequence[str]) -> None:
        self._stream = stream
        self._secrets = secrets

    def write(self, text: str) -> int:
        """Write ``text`` with a mark in place of every secret."""
        return self._stream.write(redact(text, self._secrets))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with a mark in place of every secret, also where it is escaped or has lost a line end."""
    forms = {form for secret in secrets for form in _forms(secret)}
    # The longest first: a secret may begin with another one.
    for form in sorted(filter(None, forms), key=len, reverse=True):
        text = text.replace(form, "[key]")
    return text


@cache
def _forms(secret: str) -> set[str]:
    """Return what a message may show of a secret: with or without its line end, and escaped in any way."""
    forms = {secret, secret.strip()}
    for form in (secret, secret.strip()):
        data = form.encode("utf-8", "backslashreplace")
        forms |= {json.dumps(form)[1:-1], ascii(form)[1:-1], repr(form)[1:-1], repr(data)[2:-1]}
    return forms


def start_logging(path: str | Path, secrets: Sequence[str] = ()) -> None:
    """Send everything printed from now on to the file ``path``, and any failure also to the terminal.

    A user's mistake (``CinormsError``) is shown as its one message, everything else with its traceback.
    ``secrets`` appear in neither. In a run that lists failures at its end (`FAILURES_AT_THE_END`), the terminal gets
    nothing here.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = WithoutSecrets(sys.stderr, secrets)
    # A message must always be written, also with odd characters from an endpoint or a file.
    stream = path.open("w", encoding="utf-8", errors="backslashreplace", buffering=1)
    log: Any = WithoutSecrets(stream, secrets)
    sys.stdout = sys.stderr = log

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        message = without_traceback(error) or "".join(traceback.format_exception(kind, error, trace))
        at_the_end = bool(os.environ.get(FAILURES_AT_THE_END))
        try:
            log.write(f"{_MARK}\n{message}\n")
        except OSError:  # the disk of the log may be the one that is full
            at_the_end = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        if not at_the_end:
            terminal.write(f"\n{message}\n(log: {path})\n\n")

    sys.excepthook = report


def command(lead: str = "") -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Turn every failure of a command's ``main`` into one message below ``lead`` and the exit code `CANNOT`.

    Python itself would end with 1, which is the verdict of a gate that fails or of a check that finds an error.
    """

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @wraps(main)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> int:
            try:
                return main(*args, **kwargs)
            except Exception as error:
                message = without_traceback(error)
                if not message and isinstance(error, OSError) and error.strerror:
                    name = str(error.filename or "the output")[:MOST_SHOWN]
                    message = f"{name}: cannot be used ({error.strerror})"
                if not message:
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    what = traceback.format_exception_only(error)[-1].strip()[:MOST_SHOWN]
                    message = (
                        f"{what} ({Path(last.filename).name}, line {last.lineno})\n"
                        "This is a fault of cinorms: please report it with the command and these lines "
                        "(CONTRIBUTING.md)."
                    )
                print("", *filter(None, (lead, message)), "", sep="\n", file=sys.stderr)
                return CANNOT

        return guarded

    return decorate


def failure_in(path: str | Path) -> str:
    """Return why the job with this log failed, in a few lines; empty where there is no log.

    For an unexpected error this is the last line of its traceback. For a log without a failure of this library (a
    killed job, or another program) it is the last lines.
    """
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    _, marked, message = text.rpartition(f"{_MARK}\n")
    lines = [line.rstrip() for line in (message if marked else text).splitlines() if line.strip()]
    if marked and lines and lines[0].startswith("Traceback"):
        return f"{lines[-1]}\nThis is unexpected; the log has the traceback."
    return "\n".join(lines if marked else lines[-_LAST_LINES:])


def failures(jobs: Collection[tuple[str, Sequence[str], str]]) -> str:
    """Return why ``jobs`` failed: each reason once, with its jobs and one log.

    A job is its name, its logs, and what a cluster says of its end, if anything.
    """
    if not jobs:
        return ""
    jobs_of: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for name, logs, said in jobs:
        # A job that the cluster refused may have a log, which is that of an earlier one.
        reason = said or next(filter(None, map(failure_in, logs)), "The job ended without a message.")
        jobs_of.setdefault(reason, []).append((name, logs))
    lines = ["", f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'} failed; all other results are kept:"]
    for reason, failed in jobs_of.items():
        lines += ["", f"  {first_few([name for name, _ in failed])}"]
        lines += [f"    {line}" for line in reason.splitlines()]
        lines += [f"    (log: {log})" for log in failed[0][1][:1] if Path(log).exists()]
    return "\n".join([*lines, ""])


def without_traceback(error: BaseException) -> str | None:
    """Return the one message for a failure; None for an unexpected error."""
    if isinstance(error, CinormsError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "Stopped by Ctrl+C; run again to do the rest."
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, OSError) and link.errno in (errno.ENOSPC, errno.EDQUOT):
            where = f" ({link.filename})" if link.filename else ""
            return f"The disk is full{where}: free some space and run again. Earlier results are kept."
        if isinstance(link, OSError) and link.errno in (errno.EMFILE, errno.ENFILE):
            return "Too many files are open: allow more (ulimit -n) and run again. Earlier results are kept."
        no_thread = str(link) == "can't start new thread"
        if no_thread or (isinstance(link, OSError) and link.errno == errno.EAGAIN):
            return (
                "No more processes or threads can be started: allow more (ulimit -u), or use fewer cores "
                "(CORES=1), and run again. Earlier results are kept."
            )
        if isinstance(link, MemoryError):
            what = f" ({link})" if str(link) else ""
            return f"There is not enough memory{what}: free some and run again. Earlier results are kept."
        link = link.__cause__ or link.__context__
    return None


class LeavableStream:
    """A stream whose reader may leave: what comes then goes nowhere, and the command ends as it would have."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        """Write ``text`` as long as somebody reads."""
        return self._tried(self._stream.write, text)

    def flush(self) -> None:
        """Flush as long as somebody reads."""
        self._tried(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _tried(self, work: Callable[..., Any], *arguments: str) -> Any:
        try:
            return work(*arguments)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)
            return work(*arguments)


def prepare() -> None:
    """Make Ctrl+C one line from here on, and a reader who leaves none."""
    sys.excepthook = _end
    sys.stdout, sys.stderr = LeavableStream(sys.stdout), LeavableStream(sys.stderr)


def _end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        print("\nStopped by Ctrl+C.", file=sys.stderr)  # Python then ends with 130
    else:
        sys.__excepthook__(kind, error, trace)
