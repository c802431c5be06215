"""The journal: every reply that a model ever gave under the same settings, kept part by part, for good.

It belongs to no study: all studies and arms of a folder of results share it, so nothing is asked twice among them. No
rule declares it, so Snakemake never removes it. It holds what was paid for:

    results/.journal/{model}.{key}/settings.json   the format, which model this is and how it is sampled
                                   parts/*.parquet one file per finished chunk, never changed
                                   traces/*.parquet the traces of the part of the same name (``write_traces``)
                                   arriving/*.log  replies that are no part yet (``journal_files``)
                                   runs/*.json     one record per job: versions, device, start, end
                                   damaged/        parts that did not pass their checksum
                                   locks/          one file per study, arm and model, locked by its jobs
                                   claims/         what each job is asking right now (``journal_files.Claims``)

``key`` is a hash of all settings that can change a reply (``sample_settings``). A reply is known by the key of its
prompt, a digest of the very messages that the model received (``Questions.prompts``). So a *sample* is one reply of one
model to exactly what it saw; studies, arms, shards and the numbers of flows are no part of that.

A prompt that an arm has more than once, because two of its variants render the same text, is sampled as often: the
second has a key of its own. So has every prompt in each further asking of an arm (``repeat``): its second asking is a
sample of its own at any temperature, 0 included, because the question is whether the engine answers the same again.
Where something is drawn, a repeat draws anew (the seed of an answer follows from its key), and another seed gives other
samples, so everywhere but at temperature 0.

Every job writes parts of its own, whole or not at all, and reads the union of all: nothing is ever appended to a file
of another job, so that machines which share a file system need no lock to write. The name of a part names the job.
"""

import errno
import fcntl
import hashlib
import json
import os
import platform
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.errors import JournalError
from cinorms.core.files import write_whole
from cinorms.inference import job_state
from cinorms.inference.engine_kind import engine_kind, engine_modules
from cinorms.inference.journal_files import (
    FULL,
    NO_LOCKS,
    PART,
    Claims,
    LastChunkKept,
    ReplyLog,
    digest_of,
    explained,
    is_free,
    known_sum,
    logs_in,
    part_of,
    parts_in,
    read_log,
    records_in,
    traces_of,
    whole_parts,
    write_traces,
)
from cinorms.inference.spec import Spec, reasons

#: Keys of a spec that do not change the response to a variant of a flow: what is asked, not how.
NOT_SETTINGS = frozenset({"shard", "n_templates", "select", "order_method", "factors"})
#: Further keys that only decide what the messages are, and so are in the keys of prompts.
IN_MESSAGES = frozenset({"layout", "system", "scale"})


def sample_settings(spec: Spec) -> dict[str, Any]:
    """Return what the model of ``spec`` is and how it is sampled: all that can change a reply but the messages."""
    known = spec.engine in engine_modules()
    unseen = NOT_SETTINGS | IN_MESSAGES | (engine_kind(spec.engine).unseen if known else frozenset())
    settings = {name: _plain(value) for name, value in spec.as_plain().items() if name not in unseen}
    if spec.temperature == 0:  # nothing is drawn
        del settings["seed"]
    if spec.readout == "options":  # these are offered beside the messages
        settings["options"] = list(spec.answer_scale.options)
    return settings


def _plain(value: Any) -> Any:
    """Return a value of a spec as one of its journal: 0.0 and 0 are the same setting."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: What ``settings.json`` states of how a journal is laid out; only such journals are read and written. It is not in the
#: key, so that a version with another format finds a journal and refuses it before it asks what that holds.
FORMAT = 1
#: Kept free for the chunk in hand when the disk fills up.
SPARE_BYTES = 4 * 2**20
#: Seconds that a job waits for another that asks the same variants: on NFS a lock may outlive its job.
PATIENCE = 120.0
#: Most orders of a template and templates of an arm (cinorms.study.settings); the lock has one byte for each of them
#: in every asking of the arm.
_ORDERS, _TEMPLATES = 128, 10_000


class Asker(NamedTuple):
    """Who asks: parts and records of its jobs bear its mark, and what they spend counts as its own."""

    study: str = ""
    arm: str = ""
    model: str = ""

    @property
    def mark(self) -> str:
        """A short name for files."""
        return hashlib.blake2b(json.dumps(self).encode(), digest_size=6).hexdigest()


_NOBODY = Asker()


@dataclass
class Journal:
    """The journal of one model under one set of settings, as the job of one shard of ``asker`` uses it."""

    folder: Path
    spec: Spec
    asker: Asker = _NOBODY
    #: Settings in which the other journals of this model differ from this one.
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: The replies of this job that are no part yet.
        self.log = ReplyLog(self.folder, self._mark)

    @classmethod
    def at(cls, root: Path, spec: Spec, asker: Asker = _NOBODY) -> "Journal":
        """Return the journal of ``spec`` in ``root``, there or not.

        Raises ``JournalError`` where it is there in another format.
        """
        settings = sample_settings(spec)
        key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        folder = root / f"{_name_of(spec)}.{key}"
        path = folder / "settings.json"
        try:
            stated = json.loads(path.read_bytes())
            given = f"format {stated['format']!r}" if "format" in stated else "no format"
        except (FileNotFoundError, NotADirectoryError):
            return cls(folder, spec, asker)
        except (OSError, ValueError, TypeError) as error:
            given = f"no format ({error})"
        if given != f"format {FORMAT}":
            raise JournalError(
                f"{path}: states {given}, this version of cinorms reads format {FORMAT}. Run the version that wrote "
                "the journal. If this one did, the file is damaged: delete it, and it is written again. To ask and "
                f"pay for everything again, move {folder} to another place"
            )
        return cls(folder, spec, asker)

    @classmethod
    def of(cls, where: Mapping[str, Any], spec: Spec) -> "Journal":
        """Return the journal of ``spec`` where ``study.spec.journal_of`` says that it is, there or not."""
        return cls.at(Path(where["journal"]), spec, Asker(*where.get("asker", ())))

    def begin(self) -> "Journal":
        """Make the journal's folders, if they are not there, and return it.

        Raises ``JournalError`` before anything is asked if nothing can be written.
        """
        settings, root = sample_settings(self.spec), self.folder.parent
        text = json.dumps({**settings, "format": FORMAT}, sort_keys=True, indent=1, ensure_ascii=False)
        with explained(self.folder):
            for name in ("parts", "arriving", "runs", "locks", "claims"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            if reasons(self.spec):
                (self.folder / "traces").mkdir(exist_ok=True)
            write_whole(self.folder / "settings.json", text.encode(), self._mark)
        if self.is_empty:  # nothing is kept here yet: is a setting new?
            others = sorted(path for path in root.glob(f"{_name_of(self.spec)}.*") if path != self.folder)
            self.others = list(filter(None, (_difference(path, settings) for path in others)))
        return self

    def read(self, mend: bool = True) -> pa.Table:
        """Return every reply in the journal, oldest part first.

        A part that does not pass its checksum goes to ``damaged/`` (unless nothing is to ``mend``): what it held is
        asked again. What another asker could not get an answer to is left out: its trouble may be over.
        """
        # First what is arriving: it may become a part meanwhile.
        arriving = [
            (path.name, part_of(*read_log(path))) for path in logs_in(self.folder) if path != self.log.path
        ]
        tables = [PART.empty_table()]
        for path, data in whole_parts(self.folder, mend):
            table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
            tables.append(self._of_use(path.name, table))
        tables += [self._of_use(name, table) for name, table in arriving]
        return pa.concat_tables(tables).unify_dictionaries()

    def _of_use(self, name: str, table: pa.Table) -> pa.Table:
        own = name.split(".")[1].startswith(self.asker.mark)
        return table if own else table.filter(pc.is_null(table["error"]))

    def keep(self, part: pa.Table, traces: pa.Table | None = None) -> None:
        """Write a finished chunk, whole or not at all; its ``traces`` before it, in a file of their own.

        What of it is in the log of this job ends there.

        Raises ``JournalError`` where it cannot be written. Where the disk is full, the chunk goes into the
        space that was kept free for it, without its traces, and the error says so.
        """
        data = _as_bytes(part)
        beginning = self.log.name or f"{time.time_ns():020d}.{self._mark}"
        path = self.folder / "parts" / f"{beginning}.{part.num_rows}.{digest_of(data)}.parquet"
        try:
            self._write(path, data, traces)
        except JournalError as error:
            full = isinstance(error.__cause__, OSError) and error.__cause__.errno in FULL
            if not full or not self._spare.exists():
                raise
            self._spare.unlink()
            with explained(path.parent):
                write_whole(path, data, self._mark)
            self.log.end()
            without = ", without its traces" if traces is not None and len(traces) else ""
            raise LastChunkKept(f"{error}. The last chunk was still kept{without}.") from error.__cause__
        self.log.end()

    def _write(self, path: Path, data: bytes, traces: pa.Table | None) -> None:
        with explained(path.parent):
            if traces is not None and len(traces):
                write_traces(self.folder, path.name, traces, self._mark)
            write_whole(path, data, self._mark)

    def _settle(self) -> None:
        """Make parts of the logs of jobs that were killed."""
        for log in logs_in(self.folder):
            # Another job was faster, or another person's job left it: it is read where it is.
            with suppress(FileNotFoundError, PermissionError), log.open("r+b") as handle:
                is_left = is_free(handle, otherwise=log.stem.split(".")[1] == self._mark)
                if not is_left or log not in logs_in(self.folder):  # it may have become a part meanwhile
                    continue
                chunk, keys = read_log(log)
                if len(chunk):
                    part = part_of(chunk, keys)
                    data = _as_bytes(part)
                    name = f"{log.stem}.{part.num_rows}.{digest_of(data)}.parquet"
                    self._write(self.folder / "parts" / name, data, traces_of(part, chunk))
                log.unlink(missing_ok=True)

    @contextmanager
    def hold(self, places: Sequence[tuple[int, int]], patience: float = PATIENCE) -> Iterator[None]:
        """Hold the (template, order) ``places`` of the asker, so that no second job of it asks them.

        However the model is split into shards, two jobs that share a variant in one asking of the arm exclude each
        other; a repeat asks the same variants next to the first asking. The lock is the operating system's: it ends
        with the process, however that ends. What jobs of other studies and arms ask is kept apart by ``claims``.

        Raises ``JournalError`` where another job holds one of them for longer than ``patience`` seconds.
        """
        with explained(self.folder):
            handle = (self.folder / "locks" / self.asker.mark).open("ab")
        with handle:
            with explained(self.folder):
                end, first = time.monotonic() + patience, (self.spec.repeat - 1) * _TEMPLATES
                waiting = False
                places = [(first + template_no, order_no) for template_no, order_no in places]
                while not _lock(handle, places):
                    if time.monotonic() >= end:
                        raise JournalError(
                            f"another job asks the same variants{self._holder()}. Wait for it or stop it, then run "
                            f"again; what it answers is kept in {self.folder}"
                        )
                    if not waiting:
                        print(
                            f"Another job asks the same variants{self._holder()}: waiting {patience:.0f} s for it."
                        )
                        job_state.current().note(doing="waiting for another job that asks the same variants")
                        waiting = True
                    time.sleep(min(1.0, patience / 10))
                for folder in ("parts", "traces", "arriving"):
                    for left in (self.folder / folder).glob(f".*.{self._mark}.tmp"):
                        left.unlink(missing_ok=True)
                self._settle()
                self._keep_some_free()
            try:
                yield
            finally:
                self.log.close()
                self._spare.unlink(missing_ok=True)

    def _keep_some_free(self) -> None:
        try:
            with self._spare.open("wb") as spare:
                try:
                    os.posix_fallocate(spare.fileno(), 0, SPARE_BYTES)
                except OSError as error:
                    if error.errno in FULL:
                        raise
                    spare.write(b"\0" * SPARE_BYTES)  # a file system without fallocate
        except OSError:  # a part of it must not fill the disk
            self._spare.unlink(missing_ok=True)
            raise

    @property
    def claims(self) -> Claims:
        """What the jobs that use this journal are asking right now."""
        return Claims(self.folder / "claims", self._mark)

    def _holder(self) -> str:
        running = [record for record in self.runs() if record.get("ended") is None]
        if not running:
            return ""
        last = running[-1]
        return f" (started {last.get('started')} as process {last.get('process')} on {last.get('host')})"

    @property
    def _spare(self) -> Path:
        return self.folder / f"spare.{self._mark}"

    @property
    def _mark(self) -> str:
        return f"{self.asker.mark}-{self.spec.shard}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever kept in it."""
        return not parts_in(self.folder / "parts") and not logs_in(self.folder)

    def usd(self) -> float | None:
        """Return what the replies cost that the asker's jobs have kept; None where no price is known."""
        amounts = []
        for path in parts_in(self.folder / "parts"):
            if path.name.split(".")[1].startswith(f"{self.asker.mark}-"):
                # A part without prices, or one that cannot be read, has no amount.
                with suppress(OSError, KeyError, pa.ArrowException):
                    amounts.append(pc.sum(pq.read_table(path, columns=["usd"])["usd"]).as_py())
        for path in logs_in(self.folder):
            if path.name.split(".")[1].startswith(f"{self.asker.mark}-"):
                amounts.append(pc.sum(part_of(*read_log(path))["usd"]).as_py())
        return cast("float | None", known_sum(amounts))

    # --- Run records

    def start_run(self, facts: Mapping[str, Any]) -> Path:
        """Write the record of a job that begins; earlier jobs of this shard that never ended were killed."""
        now = datetime.now(UTC)
        for path, record in records_in(self.folder / "runs", f"{self.asker.mark}-"):
            last = tuple(map(record.get, ("shard", "ended", "status")))
            if last == (self.spec.shard, None, "running"):
                write_whole(path, _json({**record, "status": "killed"}))
        path = self.folder / "runs" / f"{now:%Y%m%dT%H%M%S.%fZ}.{self._mark}.json"
        record = {
            "asker": list(self.asker),
            "shard": self.spec.shard,
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
        ended = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        with suppress(OSError, ValueError):  # a full disk must not hide why the job ended
            record = json.loads(path.read_bytes())
            write_whole(path, _json({**record, **facts, "status": status, "ended": ended}))

    def runs(self) -> list[dict[str, Any]]:
        """Return the records of all jobs of the asker, oldest first."""
        return [record for _, record in records_in(self.folder / "runs", f"{self.asker.mark}-")]


def _lock(handle: IO[bytes], places: Sequence[tuple[int, int]]) -> bool:
    """Lock all ``places`` or none; tell which."""
    for template_no, order_no in places:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, template_no * _ORDERS + order_no)
        except OSError as error:
            if error.errno in NO_LOCKS:
                print("Journal: this file system has no locks; do not run the study twice at the same time.")
                return True
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            fcntl.lockf(handle, fcntl.LOCK_UN)
            return False
    return True


def _as_bytes(part: pa.Table) -> bytes:
    buffer = pa.BufferOutputStream()
    pq.write_table(part.select(PART.names).cast(PART), buffer, compression="zstd")
    data: bytes = buffer.getvalue().to_pybytes()
    return data


def _name_of(spec: Spec) -> str:
    """Return the beginning of the name of a model's journals: for people, and to find its others."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", str(spec.identity.get("source") or spec.model)).strip("-")[-60:]


def _difference(folder: Path, settings: Mapping[str, Any]) -> str:
    """Return in which settings another journal differs; nothing where it cannot be read."""
    other = None
    with suppress(OSError, ValueError):
        other = json.loads((folder / "settings.json").read_bytes())
    if not isinstance(other, dict):
        return ""
    names = [n for n in sorted({*settings, *other} - {"format"}) if settings.get(n) != other.get(n)]
    shown = [f"{name} {_short(other.get(name))} instead of {_short(settings.get(name))}" for name in names]
    return f"{folder.name}: {'; '.join(shown)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _json(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, indent=1, ensure_ascii=False, default=str).encode()
