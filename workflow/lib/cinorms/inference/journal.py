"""The journal: every response a model gave to an arm, kept part by part while a job runs, and for good.

It is next to the responses, declared by no rule so that Snakemake never removes it, and holds what was paid for:

    responses/{arm}/{model}/.journal/{key}/settings.json     what every response in it was made with
                                           parts/*.parquet   one file per finished chunk, never changed
                                           runs/*.json       one record per job: versions, device, start, end
                                           damaged/          parts that did not pass their checksum

``key`` is a hash of all settings that can change a single response (``settings_of``), so that responses of
two settings cannot mix: going back to earlier settings finds their journal again. In it a response is known
by (flow, variant) and a hash of its prompt, so that other shards, more variants or a corrected vignette reuse
every response whose prompt is still the same.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.errors import JournalError
from cinorms.core.files import write_whole
from cinorms.inference import job_state
from cinorms.inference.spec import Spec

#: Keys of a spec that do not change the response to one prompt: the orders and texts are in the prompts' hashes,
#: and only planted respondents, which have no journal, use the factors.
NOT_SETTINGS = frozenset({"shard", "n_templates", "select", "order_method", "factors"})

_WORD = pa.dictionary(pa.int32(), pa.string())
#: A part: the responses, then the raw facts of each reply. Every column but the first three may be missing.
PART = pa.schema(
    [
        pa.field("flow", pa.int32(), nullable=False),
        pa.field("variant", _WORD, nullable=False),
        pa.field("prompt", pa.uint64(), nullable=False),
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
    ]
)

#: Kept free for the chunk in hand when the disk fills up.
SPARE_BYTES = 4 * 2**20
#: Seconds that a job waits for another that asks the same variants: on NFS a lock may outlive its job.
PATIENCE = 120.0
#: Most orders of a template (cinorms.study.settings.Orders); the lock has one byte per template and order.
_ORDERS = 128


def settings_of(spec: Spec) -> dict[str, Any]:
    """Return the keys of ``spec`` that can change the response to one prompt; 0.0 and 0 are the same setting."""
    return {name: _plain(value) for name, value in spec.as_plain().items() if name not in NOT_SETTINGS}


class LastChunkKept(JournalError):
    """The disk is full; the chunk in hand was still kept, so it must not be handed over again."""


@dataclass
class Journal:
    """The journal of one model in one arm under one set of settings, as one shard's job uses it."""

    folder: Path
    shard: str
    #: Settings in which the other journals of this model differ from this one.
    others: list[str] = field(default_factory=list)

    @classmethod
    def at(cls, root: Path, spec: Spec) -> Journal:
        """Return the journal of ``spec`` in ``root``, the folder of its model's journals, there or not."""
        key = hashlib.sha256(json.dumps(settings_of(spec), sort_keys=True).encode()).hexdigest()[:16]
        return cls(root / key, spec.shard)

    @classmethod
    def open(cls, root: Path, spec: Spec) -> Journal:
        """Open, or begin, the journal of ``spec`` in ``root``, the folder of its model's journals.

        Raises ``JournalError`` before anything is asked if nothing can be written.
        """
        journal, settings = cls.at(root, spec), settings_of(spec)
        text = json.dumps(settings, sort_keys=True, indent=1, ensure_ascii=False)
        with explained(journal.folder):
            for name in ("parts", "runs"):
                (journal.folder / name).mkdir(parents=True, exist_ok=True)
            write_whole(journal.folder / "settings.json", text.encode())
        journal.others = [
            difference
            for other in sorted(root.iterdir())
            if other != journal.folder and (difference := _difference(other / "settings.json", settings))
        ]
        return journal

    def read(self) -> pa.Table:
        """Return every response in the journal, oldest part first.

        A part that does not pass its checksum goes to ``damaged/``: what it held is asked again.
        """
        tables = [PART.empty_table()]
        for path in sorted((self.folder / "parts").glob("*.parquet")):
            data = path.read_bytes()
            if digest_of(data) == path.name.split(".")[3]:
                tables.append(_read_part(data))
            else:
                self._put_aside(path)
        return pa.concat_tables(tables).unify_dictionaries()

    def keep(self, part: pa.Table) -> None:
        """Write a finished chunk, whole or not at all.

        Raises ``JournalError`` where it cannot be written. Where the disk is full, the chunk goes into the
        space that was kept free for it, and the error says so.
        """
        buffer = pa.BufferOutputStream()
        pq.write_table(part.select(PART.names).cast(PART), buffer, compression="zstd")
        data = buffer.getvalue().to_pybytes()
        name = f"{time.time_ns():020d}.{self.shard}.{part.num_rows}.{digest_of(data)}.parquet"
        path = self.folder / "parts" / name
        try:
            with explained(path.parent):
                write_whole(path, data, self.shard)
        except JournalError as error:
            spare = self._spare
            if (
                not isinstance(error.__cause__, OSError)
                or error.__cause__.errno not in _FULL
                or not spare.exists()
            ):
                raise
            spare.unlink()
            with explained(path.parent):
                write_whole(path, data, self.shard)
            raise LastChunkKept(f"{error}. The last chunk was still kept.") from error.__cause__

    @contextmanager
    def hold(self, places: Sequence[tuple[int, int]], patience: float = PATIENCE) -> Iterator[None]:
        """Hold the (template, order) ``places`` of the journal, so that no second job asks them.

        However the model is split into shards, two jobs that share a variant exclude each other. The lock is
        the operating system's: it ends with the process, however that ends.

        Raises
        ------
        JournalError
            Where another job holds one of them for longer than ``patience`` seconds.

        """
        with explained(self.folder):
            handle = (self.folder / "lock").open("ab")
        with handle:
            with explained(self.folder):
                self._wait_for(handle, places, patience)
                for left in (self.folder / "parts").glob(f".*.{self.shard}.tmp"):
                    left.unlink(missing_ok=True)
                self._reserve()
            try:
                yield
            finally:
                self._spare.unlink(missing_ok=True)

    def _wait_for(self, handle: IO[bytes], places: Sequence[tuple[int, int]], patience: float) -> None:
        end = time.monotonic() + patience
        told = False
        while not _lock(handle, places):
            if time.monotonic() >= end:
                raise JournalError(
                    f"another job asks the same variants{self._holder()}. Wait for it or stop it, then run "
                    f"again; what it answers is kept in {self.folder}"
                )
            if not told:
                print(f"Another job asks the same variants{self._holder()}: waiting {patience:.0f} s for it.")
                job_state.current().doing("waiting for another job that asks the same variants")
                told = True
            time.sleep(min(1.0, patience / 10))

    def _holder(self) -> str:
        running = [record for record in self.runs() if record.get("ended") is None]
        if not running:
            return ""
        last = running[-1]
        return f" (started {last.get('started')} as process {last.get('process')} on {last.get('host')})"

    def _reserve(self) -> None:
        with self._spare.open("wb") as handle:
            try:
                os.posix_fallocate(handle.fileno(), 0, SPARE_BYTES)
            except OSError as error:
                if error.errno in _FULL:
                    raise
                handle.write(b"\0" * SPARE_BYTES)  # a file system without fallocate

    @property
    def _spare(self) -> Path:
        return self.folder / f"spare.{self.shard}"

    def n_kept(self) -> int:
        """Return how many responses are in the journal, without reading them."""
        return sum(int(path.name.split(".")[2]) for path in (self.folder / "parts").glob("*.parquet"))

    def usd(self) -> float | None:
        """Return what the responses in the journal cost; None where no price is known."""
        paths = (self.folder / "parts").glob("*.parquet")
        found = [_sum_of(path) for path in paths]
        known = [usd for usd in found if usd is not None]
        return sum(known) if known else None

    def _put_aside(self, path: Path) -> None:
        damaged = self.folder / "damaged"
        damaged.mkdir(exist_ok=True)
        rows = path.name.split(".")[2]
        print(
            f"Journal: {path.name} is damaged; its {rows} responses are asked again. The file is moved to {damaged}."
        )
        with suppress(FileNotFoundError):  # another shard was faster
            shutil.move(path, damaged / path.name)

    # --- Run records

    def start_run(self, facts: Mapping[str, Any]) -> Path:
        """Write the record of a job that begins; earlier jobs of this shard that never ended were killed."""
        now = datetime.now(UTC)
        for path, record in self._records():
            if (
                record.get("shard") == self.shard
                and record.get("ended") is None
                and record["status"] == "running"
            ):
                write_whole(path, _json({**record, "status": "killed"}))
        path = self.folder / "runs" / f"{now:%Y%m%dT%H%M%S.%fZ}.{self.shard}.json"
        record = {
            "shard": self.shard,
            "status": "running",
            "started": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "ended": None,
            "process": os.getpid(),
            "host": platform.node(),
            **facts,
        }
        with explained(path.parent):
            write_whole(path, _json(record))
        return path

    def end_run(self, path: Path, status: str, facts: Mapping[str, Any]) -> None:
        """Complete the record of a job that ends."""
        record = json.loads(path.read_bytes())
        ended = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        with suppress(OSError):  # a full disk must not hide why the job ended
            write_whole(path, _json({**record, **facts, "status": status, "ended": ended}))

    def runs(self) -> list[dict[str, Any]]:
        """Return the records of all jobs, oldest first."""
        return [record for _, record in self._records()]

    def _records(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        for path in sorted((self.folder / "runs").glob("*.json")):
            with suppress(ValueError, OSError):
                yield path, json.loads(path.read_bytes())


_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into one message."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            do = "free some space there"
        else:
            do = "make it writable, or give the study another folder with --directory"
        raise JournalError(
            f"{folder}: cannot write the journal ({error.strerror}); {do}, then run again. "
            "All earlier responses are kept and are not asked again"
        ) from error


def _read_part(data: bytes) -> pa.Table:
    """Return a part; a column that parts did not have when it was written is missing throughout."""
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    if table.schema.equals(PART):
        return table
    columns = [table[f.name] if f.name in table.column_names else pa.nulls(len(table), f.type) for f in PART]
    return pa.table(dict(zip(PART.names, columns, strict=True))).cast(PART)


def _sum_of(path: Path) -> float | None:
    """Return the sum of the column ``usd`` of a part; None where it has none, or cannot be read."""
    try:
        column = pq.read_table(path, columns=["usd"])["usd"]
    except (OSError, KeyError, pa.ArrowException):
        return None
    found: float | None = pc.sum(column).as_py()
    return found


def _lock(handle: IO[bytes], places: Sequence[tuple[int, int]]) -> bool:
    """Lock all ``places`` or none; tell which."""
    for template_no, order_no in places:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, template_no * _ORDERS + order_no)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                print("Journal: this file system has no locks; do not run the study twice at the same time.")
                return True
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            fcntl.lockf(handle, fcntl.LOCK_UN)
            return False
    return True


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _difference(path: Path, settings: Mapping[str, Any]) -> str:
    """Return in which settings another journal differs; nothing where it cannot be read."""
    try:
        other = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return ""
    names = [n for n in sorted({*settings, *other}) if settings.get(n) != other.get(n)]
    shown = [f"{name} {_short(other.get(name))} instead of {_short(settings.get(name))}" for name in names]
    return f"{path.parent.name}: {'; '.join(shown)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def digest_of(data: bytes) -> str:
    """Return the checksum that the name of a part holds."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=1, ensure_ascii=False, default=str).encode()
