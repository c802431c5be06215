"""The files of a journal: parts (their columns, their checksum in the name), traces, logs, records of jobs, claims.

A trace of 2,000 tokens is a hundred times as long as an answer, and no two are the same. In a part, every job and every
table of responses would read and hold them all. So the traces of a part are in a file of the same name in the folder
``traces``, and only who wants to read them opens it. Their lengths are columns of the part.

A claim is a file with the keys of the prompts that one job is asking, so that no two jobs ask the same at the same
time. The job holds a lock on it, which is the operating system's and ends with the process, however that ends: a claim
whose lock is free counts for nothing. Where a file system has no locks there are no claims, and at worst two jobs ask
the same. Nobody waits in a circle: a job gives up its claim before it waits for another's.
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.errors import JournalError
from cinorms.core.files import write_whole
from cinorms.inference.questions import KEY_BYTES, Keys, as_column

#: What the operating system says where a disk is full, and where a file system has no locks.
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
#: What to do about it, and about other things that it refuses.
_ADVICE = {
    **dict.fromkeys(FULL, "free some space there"),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (ulimit -n)"),
    errno.EFBIG: "allow larger files (ulimit -f)",
}
#: Names of parts: moment, job, number of replies, checksum. Of records of jobs, batches and spending: never hidden.
_PART = re.compile(r"\d+\.[^.]+\.\d+\.[0-9a-f]{24}\.parquet")
RECORD = re.compile(r"[^.].*\.json")
_UNFINISHED = re.compile(r"\..*\.tmp")

_named: set[Path] = set()


class LastChunkKept(JournalError):
    """The disk is full; the chunk in hand was still kept, so it must not be handed over again."""


@contextmanager
def explained(folder: Path, what: str = "the journal") -> Iterator[None]:
    """Turn what the file system refuses into one message: ``what`` cannot be written."""
    try:
        yield
    except OSError as error:
        otherwise = "make it writable, or give the study another folder with --directory"
        do = _ADVICE.get(error.errno or 0, otherwise)
        raise JournalError(
            f"{folder}: cannot write {what} ({error.strerror}); {do}, then run again. "
            "All earlier responses are kept and are not asked again"
        ) from error


def digest_of(data: bytes) -> str:
    """Return the checksum that the name of a part holds."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def own_files(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Return the entries of ``folder`` whose whole name ``pattern`` matches, by name; say once which others are there.

    Others are a desktop's, a person's, or of a program that synchronises folders: ``._x.parquet``, ``x (1).parquet``.
    """
    entries = sorted(folder.iterdir()) if folder.is_dir() else []
    paths = [path for path in entries if pattern.fullmatch(path.name)]
    own = set(paths)
    name_once(folder, [path for path in entries if path not in own and not _UNFINISHED.fullmatch(path.name)])
    return paths


def name_once(folder: Path, foreign: Iterable[Path]) -> None:
    """Print which files of ``folder`` are ignored, if this process has not done so."""
    if new := set(foreign) - _named:
        _named.update(new)
        shown = ", ".join(sorted(path.name for path in new)[:3]) + (", ..." if len(new) > 3 else "")
        print(
            f"{folder}: ignoring {len(new)} that cinorms did not write: {shown}; remove what you do not need"
        )


def parts_in(folder: Path) -> list[Path]:
    """Return the parts in ``folder``, oldest first."""
    paths = own_files(folder, _PART)
    name_once(folder, foreign := [path for path in paths if path.is_dir()])
    return [path for path in paths if path not in foreign]


def whole_parts(folder: Path, mend: bool = True) -> Iterator[tuple[Path, bytes]]:
    """Yield the parts in the folder of a journal that pass their checksum, oldest first, with their content.

    The others go to ``damaged/``: what they held is asked again. Without ``mend`` they stay where they are, unnamed.

    Raises ``JournalError`` where a part cannot be read: its replies are paid for.
    """
    for path in parts_in(folder / "parts"):
        _, _, n_rows, digest, _ = path.name.split(".")
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # another job put it aside
            continue
        except OSError as error:
            raise JournalError(
                f"{path}: cannot be read ({error.strerror}); make it readable and run again. Without it, its "
                f"{n_rows} replies would be asked and paid again"
            ) from error
        if digest_of(data) == digest:
            yield path, data
        elif mend:
            damaged = folder / "damaged"
            try:
                damaged.mkdir(exist_ok=True)
                shutil.move(path, damaged / path.name)
                where = f"The file is moved to {damaged}."
            except FileNotFoundError:  # another shard was faster
                continue
            except OSError as error:
                where = (
                    f"The file stays in {path.parent}: it cannot be moved to {damaged} ({error.strerror})."
                )
            print(f"Journal: {path.name} is damaged; its {n_rows} responses are asked again. {where}")


def records_in(folder: Path, mark: str = "") -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the records of jobs in ``folder``, oldest first, without those that cannot be read.

    With ``mark`` only those of the jobs whose names begin with it.
    """
    for path in own_files(folder, RECORD):
        if mark and not path.name.split(".")[-2].startswith(mark):
            continue
        with suppress(ValueError, OSError):
            if isinstance(record := json.loads(path.read_bytes()), dict):
                yield path, record


def known_sum(amounts: Iterable[Any]) -> Any:
    """Return the sum of the amounts that are known; None where none is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


class Claims:
    """The claims in ``folder``; ``own`` names the file of this job."""

    def __init__(self, folder: Path, own: str) -> None:
        self._folder, self._path = folder, folder / f"{own}.keys"

    @contextmanager
    def claim(self, keys: Keys) -> Iterator[npt.NDArray[np.bool_]]:
        """Claim what nobody else has claimed of ``keys``, and yield which that is."""
        with (self._folder / "lock").open("ab") as door:
            try:
                fcntl.lockf(door, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                yield np.ones(len(keys), dtype=bool)
                return
            free = ~self.taken(keys)
            handle = self._path.open("wb")
            fcntl.lockf(handle, fcntl.LOCK_EX)
            handle.write(keys[free].tobytes())
            handle.flush()
        with handle:
            try:
                yield free
            finally:
                with suppress(OSError):
                    self._path.unlink(missing_ok=True)

    def taken(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which of ``keys`` a job that is alive has claimed."""
        column, claimed_by_others = as_column(keys), np.zeros(len(keys), dtype=bool)
        for path in self._folder.glob("*.keys"):
            if path == self._path:
                continue
            # A file that is gone, or that nobody holds, is of a job that has ended.
            with suppress(OSError), path.open("r+b") as handle:
                claimed = b"" if is_free(handle) else handle.read()
                whole = len(claimed) // KEY_BYTES * KEY_BYTES  # its job may be writing it
                values = np.frombuffer(claimed[:whole], dtype=f"V{KEY_BYTES}")
                is_in: pa.BooleanArray = pc.is_in(column, value_set=as_column(values))
                claimed_by_others |= is_in.to_numpy(zero_copy_only=False)
        return claimed_by_others


def is_free(handle: IO[bytes], otherwise: bool = True) -> bool:
    """Lock a file and tell whether nobody else had; ``otherwise`` where the file system has no locks."""
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return otherwise and error.errno not in (errno.EAGAIN, errno.EACCES)
    return True


#: A file of traces: the prompt's key and the trace.
TRACES = pa.schema([pa.field("prompt", pa.binary(KEY_BYTES), nullable=False), ("trace", pa.string())])
#: How hard they are compressed: on real text 9 makes them a quarter smaller than the default, as fast as models write.
LEVEL = 9


def traces_of(part: pa.Table, chunk: pd.DataFrame) -> pa.Table | None:
    """Return the traces of a finished chunk, of which ``part`` is the journal's part; None where it has none."""
    if "trace" not in chunk:
        return None
    texts = [
        text.encode("utf-8", "replace").decode() if isinstance(text, str) else None for text in chunk["trace"]
    ]
    table = pa.table([part["prompt"], pa.array(texts, pa.string())], schema=TRACES)
    return table.filter(pc.is_valid(table["trace"]))


def write_traces(folder: Path, name: str, traces: pa.Table, mark: str) -> None:
    """Write the traces of the part ``name`` of the journal in ``folder``, whole or not at all."""
    (folder / "traces").mkdir(exist_ok=True)
    buffer = pa.BufferOutputStream()
    pq.write_table(traces, buffer, compression="zstd", compression_level=LEVEL, use_dictionary=False)
    write_whole(folder / "traces" / name, buffer.getvalue().to_pybytes(), mark)


def read_traces(folder: Path, prompts: Keys) -> Iterator[pd.DataFrame]:
    """Yield the traces of ``prompts`` in the journal in ``folder``, a part at a time.

    Columns: ``at`` (place in ``prompts``), ``trace``. As among the replies, the first to a prompt counts. A prompt
    without a trace, or one whose trace was lost to a full disk, is in none of them.
    """
    wanted = as_column(prompts)
    seen = np.zeros(len(prompts), dtype=bool)
    for part, data in whole_parts(folder, mend=False):
        keys = (
            pq.ParquetFile(pa.BufferReader(data))
            .read(["prompt"], use_threads=False)["prompt"]
            .combine_chunks()
        )
        at = pc.index_in(wanted, keys).is_valid().to_numpy(zero_copy_only=False) & ~seen
        seen |= at
        path = folder / "traces" / part.name
        if at.any() and path.is_file():
            table = pq.read_table(path)
            row = pc.index_in(wanted.filter(pa.array(at)), table["prompt"].combine_chunks())
            traced = np.flatnonzero(row.is_valid().to_numpy(zero_copy_only=False))
            traces = table["trace"].take(row.take(pa.array(traced))).to_pandas()
            yield pd.DataFrame({"at": np.flatnonzero(at)[traced], "trace": traces.to_numpy()})


_WORD = pa.dictionary(pa.int32(), pa.string())
#: A part: the prompt's key, the response, then the raw facts of the reply. Every column but the first may be missing.
PART = pa.schema(
    [
        pa.field("prompt", pa.binary(KEY_BYTES), nullable=False),
        ("text", _WORD),
        ("finish_reason", _WORD),
        ("n_prompt_tokens", pa.int32()),
        ("n_output_tokens", pa.int32()),
        ("p_options", pa.list_(pa.float32())),
        ("error", _WORD),  # why there is no text
        ("reply_id", pa.string()),
        ("created", pa.int64()),  # seconds since 1970, by the endpoint's clock
        ("answered_by", _WORD),  # the model that the endpoint says answered
        ("fingerprint", _WORD),
        ("usd", pa.float64()),
        ("n_trace_tokens", pa.int32()),
        # none: there is no trace; whole: the model ended it; cut: the budget, or the limit of the request, cut it
        # short; unclosed: the model ended its turn in it. Missing where the engine does not say.
        ("trace_status", _WORD),
    ]
)
#: Raised for a value that does not have the type of its column.
_NOT_STORABLE = (pa.ArrowException, ValueError, TypeError, OverflowError)


def part_of(chunk: pd.DataFrame, keys: Keys) -> pa.Table:
    """Return a finished chunk (see ``engine_kind.Keep``) of the prompts ``keys`` as a part.

    A reply that the journal cannot hold becomes an error; the other replies of its chunk are kept.
    """
    try:
        return _strict_part(chunk, keys)
    except _NOT_STORABLE:
        rows = []
        for number in range(len(chunk)):
            row, key = chunk.iloc[[number]], keys[[number]]
            try:
                rows.append(_strict_part(row, key))
            except _NOT_STORABLE:
                digest = hashlib.sha256(repr(row.to_dict("records")).encode("utf-8", "backslashreplace"))
                error = f"a reply that the journal cannot hold (sha256 {digest.hexdigest()})"
                rows.append(_strict_part(pd.DataFrame({"finish_reason": ["error"], "error": error}), key))
        return pa.concat_tables(rows).unify_dictionaries()


def _strict_part(chunk: pd.DataFrame, keys: Keys) -> pa.Table:
    columns = [as_column(keys)]
    for field in list(PART)[1:]:
        if field.name not in chunk:
            columns.append(pa.nulls(len(chunk), field.type))  # the engine reports nothing
        elif isinstance((column := chunk[field.name]).dtype, pd.CategoricalDtype):
            columns.append(pa.array(column.array).cast(field.type))
        elif pa.types.is_dictionary(field.type):
            columns.append(pa.array(column, pa.string(), from_pandas=True).dictionary_encode())
        else:
            columns.append(pa.array(column, field.type, from_pandas=True))
    return pa.Table.from_arrays(columns, schema=PART)


# --- The log of a job: replies that have arrived and are no part of the journal yet, appended to a file one by one
# A part is written when there are many replies, or when the oldest has waited (``engine_kind.Handover``). A job that is
# killed before that keeps its log, and the next job makes a part of it. A line is the length of a reply, its checksum
# and the reply as JSON; what a kill has torn, the end of the last line, is left out.
# The part has the log's moment and mark in its name. A log next to its part has nothing of its own: its job was killed
# between the two. As long as a job lives, it holds a lock on its log.

#: Seconds between two times that the disk is waited for: a machine that loses power loses no more.
SYNC = 0.5
_LOG = re.compile(r"\d+\.[^.]+\.log")


class ReplyLog:
    """The log of the job ``mark`` in the journal in ``folder``; its file is there while it has something."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._folder, self._mark = folder / "arriving", mark
        self.path: Path | None = None
        self._handle, self._length, self._synced_at, self._synced = -1, 0, 0.0, 0
        self._is_off = False

    @property
    def name(self) -> str | None:
        """The beginning of the name of the part that these replies become; None where there are none."""
        return self.path.stem if self.path else None

    def add(self, keys: Iterable[bytes], rows: Sequence[Mapping[str, Any]]) -> None:
        """Append replies; where the disk refuses, they wait for their part in memory alone."""
        lines = b"".join(map(_line, keys, rows))
        if self._is_off or (not lines and self.path is None):
            return
        try:
            if self.path is None:
                self._open()
            if lines and os.write(self._handle, lines) < len(lines):
                raise OSError("the disk is full")
            self._length += len(lines)
            now = time.monotonic()
            if self._synced < self._length and now - self._synced_at >= SYNC:
                os.fdatasync(self._handle)
                self._synced, self._synced_at = self._length, now
        except OSError as error:
            self._is_off = True
            print(f"{self._folder}: replies are kept in parts alone: {error}")
            with suppress(OSError):
                os.ftruncate(self._handle, self._length)

    def end(self) -> None:
        """Remove the file: its replies are a part now."""
        if self.path:  # before its lock is free: another job would make a second part of it
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave the file as it is; what comes goes into another."""
        if self._handle >= 0:
            os.close(self._handle)
        self.path, self._handle, self._length, self._synced, self._is_off = None, -1, 0, 0, False

    def _open(self) -> None:
        path = self._folder / f"{time.time_ns():020d}.{self._mark}.log"
        # It has its name once it is locked: a log that nobody holds is made a part of, and removed.
        unlocked = path.with_name(f".{path.name}.{self._mark}.tmp")
        self._handle = os.open(unlocked, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.path = unlocked.rename(path)


def logs_in(folder: Path) -> list[Path]:
    """Return the logs of the journal in ``folder`` that are no part yet, oldest first."""
    paths = own_files(folder / "arriving", _LOG)
    parts = {part.name.rsplit(".", 3)[0] for part in parts_in(folder / "parts")} if paths else set()
    return [path for path in paths if path.stem not in parts]


def read_log(path: Path) -> tuple[pd.DataFrame, Keys]:
    """Return the replies in a log as a chunk, and the keys of their prompts."""
    rows: list[dict[str, Any]] = []
    keys = b""
    for key, row in _replies(path):
        keys += key
        rows.append(row)
    return pd.DataFrame(rows, dtype=object), np.frombuffer(keys, dtype=f"V{KEY_BYTES}")


def _line(key: bytes, row: Mapping[str, Any]) -> bytes:
    plain = {name: value for name, value in row.items() if name != "at"}
    content = json.dumps([key.hex(), plain], default=_plain, separators=(",", ":")).encode()
    return b"%d %s %s\n" % (len(content), digest_of(content).encode(), content)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _replies(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:  # it has become a part
        return
    n_damaged = 0
    for line in lines[:-1]:
        length, _, rest = line.partition(b" ")
        digest, _, content = rest.partition(b" ")
        if length != b"%d" % len(content) or digest != digest_of(content).encode():
            n_damaged += 1
            continue
        key, row = json.loads(content)
        yield bytes.fromhex(key), row
    if n_damaged:
        print(f"Journal: {n_damaged} replies in {path.name} are damaged and are asked again.")
