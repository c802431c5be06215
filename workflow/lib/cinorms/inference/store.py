"""The store: every reply that a model ever gave under the same settings, in append-only files, for good.

It belongs to no study: all studies and arms of a folder of results share it, so nothing is asked twice among them. No
rule declares it, so Snakemake never removes it: it holds what was paid for.

    results/.replies/{model}.{key}/settings.json    the format, which model this is and how it is sampled
                                   {start}.{id}.jsonl   the replies of one process, written as they arrive
                                   {number}.{id}.lease  what a process is asking now (``lease``)

``key`` is a hash of all settings that can change a reply (``sample_settings``). A reply is known by the key of its
prompt, a digest of the very messages that the model received and of which sample it is (``Questions.keys``).

Every process writes a file of its own and reads the union of all: nobody writes another's file, so nothing needs a
lock. A line is a checksum, a key, when it was written, and the reply as JSON; the first line, and the last of a process
that was not killed, are its record. What a kill has torn, the end of the last line, is left out. Of several replies to
a prompt the one that was written first counts, so that no later line changes what was collected; one that ``failed``
for a technical reason counts only until there is another.
"""

import errno
import hashlib
import json
import os
import platform
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cinorms.core.errors import StoreError
from cinorms.core.files import write_whole
from cinorms.inference.engine_kind import engine_kind, engine_modules
from cinorms.inference.lease import Lease
from cinorms.inference.questions import KEY_BYTES, Keys, Rows
from cinorms.inference.request import Request

#: Keys of a request that do not change the reply to a prompt: what is asked, not how.
NOT_SETTINGS = frozenset({"n_templates", "select", "order_method", "factors"})
#: Further keys that only decide what the messages are and which sample is asked, and so are in the keys of prompts.
IN_MESSAGES = frozenset({"layout", "system", "scale", "sample"})
#: How a store is laid out. One of another layout has another name, and is not read.
FORMAT = 1
#: Kept free for the replies that still arrive when the disk fills up.
SPARE_BYTES = 4 * 2**20
#: Seconds between two times that the disk is waited for: a machine that loses power loses no more.
SYNC = 2.0
#: What the operating system says where a disk is full.
FULL = (errno.ENOSPC, errno.EDQUOT)
#: The key of a record of a process, and where keys, times in nanoseconds and replies begin in a line.
_RECORD, _KEY, _TIME, _REPLY = b"0" * (2 * KEY_BYTES), 9, 10 + 2 * KEY_BYTES, 27 + 2 * KEY_BYTES
#: The key of what was paid without a reply; no prompt has it.
_CHARGE = b"-" * (2 * KEY_BYTES)
#: What a reply has before its trace, which comes last, and before its price, and what one that failed has: quotes
#: inside of texts are escaped, so no text has these.
_TRACE, _USD, _FAILED = b',"trace":', b'"usd":', b'"failed":true'
#: What a record states as text, and as a time.
_WORDS, _TIMES = ("study", "model", "shard"), ("started", "ended")
#: No reply costs so many dollars.
_MOST_USD = 1e6
#: What to do about what the operating system refuses.
_ADVICE = {
    **dict.fromkeys(FULL, "free some space there"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n)"),
    errno.EFBIG: "allow larger files (ulimit -f)",
}


def sample_settings(request: Request) -> dict[str, Any]:
    """Return what the model of ``request`` is and how it is sampled: all that can change a reply but the messages."""
    known = request.engine in engine_modules()
    unseen = NOT_SETTINGS | IN_MESSAGES | (engine_kind(request.engine).unseen if known else frozenset())
    settings = {name: value for name, value in request.plain().items() if name not in unseen}
    if request.temperature == 0:  # nothing is drawn
        del settings["seed"]
    if request.temperature is not None and request.temperature == int(request.temperature):
        settings["temperature"] = int(request.temperature)  # 1.0 and 1 are the same setting
    if request.readout == "options":  # these are offered beside the messages
        settings["options"] = list(request.answer_scale.options)
    return settings


def stores_of(study: Path) -> Path:
    """Return the folder with the stores of a study with this folder of results, and of all studies beside it."""
    return study.parent / ".replies"


class Store:
    """The replies of one model under one set of settings, as one process of ``study`` reads and adds to them."""

    def __init__(self, root: Path, request: Request, study: str = "") -> None:
        """Find the store of ``request`` in ``root``, there or not."""
        self.study, self.settings = study, {**sample_settings(request), "format": FORMAT}
        key = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:16]
        source = str(request.settings.get("source") or request.model)
        model = re.sub(r"[^A-Za-z0-9_-]+", "-", source).strip("-")[-60:]
        self.folder = root / f"{model}.{key}"
        self._handle, self._length, self._synced_at = -1, 0, 0.0
        self._path = self.folder / f"{time.time_ns():020d}.{secrets.token_hex(4)}.jsonl"
        self._spare = self.folder / ".spare"

    # --- Reading

    def read(self, keys: Keys) -> dict[int, bytes]:
        """Return the reply to each of ``keys`` that has one, by its place there: as JSON, without its trace."""
        return dict(self._replies(keys, _without_trace))

    def answered(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of ``keys`` have an answer: a reply that did not fail."""
        answered = np.ones(len(keys), dtype=bool)
        answered[Unanswered(self, keys).rows()] = False
        return answered

    def traces(self, keys: Keys) -> Iterator[tuple[int, str]]:
        """Yield the trace of each reply to ``keys`` that has one, with its place there."""
        for place, reply in self._replies(keys, bytes):
            if _TRACE in reply:
                trace = _decoded(reply).get("trace")
                if not isinstance(trace, str):
                    self.refuse(reply)
                yield place, trace

    def _replies(self, keys: Keys, part: Callable[[bytes], bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield the ``part`` of the reply that counts, to each of ``keys`` that has one, with its place there."""
        (places, others), found = _places(keys), dict[bytes, tuple[bool, bytes, bytes]]()
        for path in self.paths():
            for key, written, reply in _lines(path):
                if key in places:
                    failed, earlier = _FAILED in reply, found.get(key)
                    if earlier is None or (failed, written) < earlier[:2]:
                        found[key] = failed, written, part(reply)
        for key, (_, _, reply) in found.items():
            yield from ((place, reply) for place in (places[key], *others.get(key, ())))

    def refuse(self, reply: bytes) -> NoReturn:
        """Raise ``StoreError`` that names the line of a ``reply`` that is none, whatever its checksum says."""
        line = reply.removesuffix(b"}")  # its trace may follow
        _refuse(next(path for path in self.paths() if line in path.read_bytes()), line)

    def runs(self) -> list[dict[str, Any]]:
        """Return the records of the processes that have asked, oldest first."""
        return [_run(path) for path in self.paths()]

    def usd(self) -> float | None:
        """Return what the study has paid for replies in this store; None where no price is known."""
        return known_sum(usd for _, usd in paid_in(self.paths(), self.study))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever kept in it."""
        return not self.paths()

    def paths(self) -> list[Path]:
        """Return the files with replies, in a fixed order."""
        return sorted(self.folder.glob("*.jsonl"))

    # --- Writing

    def open(self, run: Mapping[str, Any]) -> None:
        """Begin the file of this process, if it has none, with its record.

        Raises ``StoreError`` before anything is asked if nothing can be written.
        """
        if self._handle >= 0:
            return
        with _explained(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            stated = json.dumps(self.settings, sort_keys=True, indent=1, ensure_ascii=False)
            write_whole(self.folder / "settings.json", stated.encode())
            # One name for all attempts of a job: a killed one leaves it behind.
            self._spare = self.folder / f".{self.study}.{run.get('model')}.{run.get('shard')}.spare"
            try:
                self._spare.write_bytes(b"\0" * SPARE_BYTES)
                self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
                begun = {
                    "study": self.study,
                    "started": _now(),
                    "host": platform.node(),
                    "process": os.getpid(),
                }
                self._write(_line(_RECORD, {**begun, **run}))
            except OSError:
                self._spare.unlink(missing_ok=True)
                raise

    @contextmanager
    def leased(self, keys: Iterable[bytes], who: Mapping[str, Any]) -> Iterator[Lease]:
        """Hold a lease on ``keys``, for as long as they are asked; others see study, model and shard of ``who``."""
        with _explained(self.folder):
            lease = Lease(self.folder, {name: who[name] for name in _WORDS}, keys)
        try:
            yield lease
        finally:
            lease.release()

    def add(self, key: bytes, reply: Mapping[str, Any]) -> None:
        """Append a reply, on the disk when this returns.

        Raises ``StoreError`` where the disk is full, once: what was arriving by then is kept in the space that was
        kept free for it.
        """
        stated = {name: value for name, value in reply.items() if value is not None and name != "trace"}
        trace = {"trace": reply["trace"]} if reply.get("trace") is not None else {}
        line = _line(key.hex().encode(), stated | trace)
        with _explained(self.folder):
            try:
                self._write(line)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                self._spare.unlink(missing_ok=True)
                self._write(line)
                raise

    def charge(self, usd: float) -> None:
        """Append what may have to be paid for a request that brought no reply."""
        with _explained(self.folder):
            self._write(_line(_CHARGE, {"usd": usd}))

    def close(self, end: Mapping[str, Any]) -> None:
        """End the file of this process with what its record lacks."""
        if self._handle < 0:
            return
        with suppress(OSError):  # a full disk must not hide why the job ended
            self._write(_line(_RECORD, {**end, "ended": _now()}))
            os.fsync(self._handle)
            self._spare.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = -1

    def _write(self, line: bytes) -> None:
        """Append a whole line or nothing."""
        try:
            if os.write(self._handle, line) < len(line):
                raise OSError(errno.ENOSPC, "the disk is full")
            now = time.monotonic()
            if now - self._synced_at >= SYNC:
                os.fdatasync(self._handle)
                self._synced_at = now
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._length)
            raise
        self._length += len(line)


class Unanswered:
    """The questions to ``keys`` without an answer in ``store``: as of ``look``, which reads what files have grown by.

    A question that fails after this was made is left to the next run.
    """

    def __init__(self, store: Store, keys: Keys) -> None:
        self._store, self._ends = store, dict[Path, int]()
        self._open, self._others = _places(keys)
        self.look(fails=False)
        #: Questions that failed since.
        self.n_failed = 0

    def __len__(self) -> int:
        return len(self._open) and len(self.rows())

    def look(self, fails: bool = True) -> int:
        """Read what is new; return how many questions that answers. Without ``fails``, what failed stays open."""
        n_answered, unanswered = 0, self._open
        for path in self._store.paths():
            for key, _, reply in _lines(path, self._ends):
                if key in unanswered and (fails or _FAILED not in reply):
                    n_answered += self.close(key, _FAILED in reply)
        return n_answered

    def close(self, key: bytes, failed: bool) -> int:
        """Note the reply to a key, in hexadecimal digits; return how many questions it answers."""
        if self._open.pop(key, None) is None:
            return 0
        n = 1 + len(self._others.get(key, ()))
        if failed:
            self.n_failed += n
        return 0 if failed else n

    def close_rows(self, rows: Rows) -> None:
        """Leave ``rows`` to the next run, if an engine has ended without a reply to them."""
        asked = set(rows.tolist())
        self._open = {key: place for key, place in self._open.items() if place not in asked}

    def keys(self) -> Iterable[bytes]:
        """Return the keys of the prompts that are open, in hexadecimal digits."""
        return self._open.keys()

    def rows(self) -> list[int]:
        """Return all open questions."""
        return [at for key, place in self._open.items() for at in (place, *self._others.get(key, ()))]

    def to_ask(self, held: Iterable[frozenset[bytes]] = ()) -> Rows:
        """Return an open question for each prompt, without those that others ``held``."""
        taken = frozenset[bytes]().union(*held)
        return np.array(sorted(at for key, at in self._open.items() if key not in taken), dtype=np.int64)


def paid_in(paths: Iterable[Path], study: str) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield model and shard of each job of ``study`` that paid for replies in the files of stores, and the dollars."""
    for path in paths:
        run = _run(path)
        if run.get("study") == study:
            paid = known_sum(
                _price(path, reply)
                for key, _, reply in _lines(path)
                if key != _RECORD and _USD in reply.partition(_TRACE)[0]
            )
            if paid is not None:
                yield (run["model"], run["shard"]), paid


def _price(path: Path, reply: bytes) -> float:
    usd = _decoded(reply).get("usd")
    if isinstance(usd, bool) or not isinstance(usd, int | float) or not 0 <= usd < _MOST_USD:
        _refuse(path, reply)
    return float(usd)


def _run(path: Path) -> dict[str, Any]:
    """Return the record of the process that wrote a file; one without an end was killed, or is at work."""
    run: dict[str, Any] = {"file": path.name}
    for key, _, reply in _lines(path):
        if key == _RECORD:
            run |= (record := _decoded(reply))
            if not record or not _is_record(run):
                _refuse(path, reply)
    return run


def _is_record(run: Mapping[str, Any]) -> bool:
    """Tell whether a record has what is read from it: its job, its times and its GPUs."""
    try:
        for name in _TIMES:
            datetime.fromisoformat(run.get(name, "2000-01-01"))
        int(run.get("gpus") or 0)
    except (TypeError, ValueError, OverflowError):
        return False
    # Where the first record is damaged, a later one stands alone.
    return all(isinstance(run.get(name), str) for name in _WORDS) or not any(name in run for name in _WORDS)


def _lines(path: Path, ends: dict[Path, int] | None = None) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield key, time and reply of each whole line after ``ends``, which is moved on; say how many are damaged."""
    n_damaged, end = 0, ends.get(path, 0) if ends else 0
    try:
        with path.open("rb") as file:
            file.seek(end)
            for line in file:
                if line[-1:] != b"\n":  # torn by a kill, or being written
                    break
                end += len(line)
                if line[:8] != b"%08x" % crc32(line[_KEY:-1]):
                    n_damaged += 1
                    continue
                if line[_REPLY - 1 : _REPLY + 1] != b" {" or line[-2:] != b"}\n":
                    _refuse(path, line)
                yield line[_KEY : _TIME - 1], line[_TIME : _REPLY - 1], line[_REPLY:-1]
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read ({error.strerror}); make it readable and run again. Without it, its replies would "
            "be asked and paid again"
        ) from error
    if ends is not None:
        ends[path] = end
    if n_damaged:
        print(f"{path}: {n_damaged} damaged lines are ignored; the replies in them are asked again.")


def _refuse(path: Path, text: bytes) -> NoReturn:
    """Raise ``StoreError`` with the number of the line that has ``text``."""
    line = path.read_bytes().partition(text)[0].count(b"\n") + 1
    raise StoreError(
        f"{path}: line {line} has a valid checksum, but is no reply that cinorms has written; delete the line and run "
        "again: what it replied to is asked again"
    )


def _decoded(reply: bytes) -> dict[str, Any]:
    """Return what a reply holds; nothing where it cannot be read."""
    try:
        decoded: dict[str, Any] = json.loads(reply)  # an object: `_lines` has seen its braces
    except (ValueError, RecursionError):
        return {}
    return decoded


def _without_trace(reply: bytes) -> bytes:
    head, trace, _ = reply.partition(_TRACE)
    return head + b"}" if trace else head


def _places(keys: Keys) -> tuple[dict[bytes, int], dict[bytes, list[int]]]:
    """Return the first place of each key, by its hexadecimal digits, and its other places where it has any."""
    size, digits = 2 * KEY_BYTES, keys.tobytes().hex().encode()
    names = [digits[at : at + size] for at in range(0, len(digits), size)]
    first, others = (
        dict(zip(reversed(names), reversed(range(len(names))), strict=True)),
        dict[bytes, list[int]](),
    )
    if len(first) < len(names):  # flows whose prompts are the same share replies
        for place, name in enumerate(names):
            if first[name] != place:
                others.setdefault(name, []).append(place)
    return first, others


def _line(key: bytes, content: Mapping[str, Any]) -> bytes:
    text = b"%s %016x " % (key, time.time_ns())
    text += json.dumps(content, separators=(",", ":"), default=_as_json).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _as_json(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into one message."""
    try:
        yield
    except OSError as error:
        otherwise = "make it writable, or give the study another folder with --directory"
        do = _ADVICE.get(error.errno or 0, otherwise)
        raise StoreError(
            f"{folder}: cannot write replies ({error.strerror}); {do}, then run again. "
            "All earlier replies are kept and are not asked again"
        ) from error


def known_sum(amounts: Iterable[float | None]) -> float | None:
    """Return the sum of the amounts that are known; None where none is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
