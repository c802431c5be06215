"""The files of a journal: parts that bear their checksum in their name, and records of jobs."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.errors import JournalError

#: What the operating system says where a disk is full.
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses into one message."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            do = "free some space there"
        else:
            do = "make it writable, or give the study another folder with --directory"
        raise JournalError(
            f"{folder}: cannot write the journal ({error.strerror}); {do}, then run again. "
            "All earlier responses are kept and are not asked again"
        ) from error


def digest_of(data: bytes) -> str:
    """Return the checksum that the name of a part holds."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def n_rows_of(path: Path) -> int:
    """Return the number of replies in a part, which its name states."""
    return int(path.name.split(".")[2])


def read_part(data: bytes, schema: pa.Schema) -> pa.Table:
    """Return a part; a column that parts did not have when it was written is missing throughout."""
    table = pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)
    if table.schema.equals(schema):
        return table
    columns = [
        table[f.name] if f.name in table.column_names else pa.nulls(len(table), f.type) for f in schema
    ]
    return pa.table(dict(zip(schema.names, columns, strict=True))).cast(schema)


def facts_of(replies: pa.Table) -> dict[str, Any]:
    """Return what replies say of themselves, as plain data: tokens, times, who answered, errors."""
    created = pc.min_max(replies["created"]).as_py()
    return {
        "replies_kept": len(replies),
        "input_tokens": pc.sum(replies["n_prompt_tokens"]).as_py(),
        "output_tokens": pc.sum(replies["n_output_tokens"]).as_py(),
        "first_reply": created["min"],
        "last_reply": created["max"],
        "errors": _counts(replies["error"]),
        "answered_by": _counts(replies["answered_by"]),
        "fingerprints": _counts(replies["fingerprint"]),
    }


def _counts(words: pa.ChunkedArray) -> dict[str, int]:
    """Return how often each word occurs; missing ones do not count."""
    found = pc.value_counts(pc.cast(words.drop_null(), pa.string())).to_pylist()
    return {row["values"]: row["counts"] for row in sorted(found, key=lambda row: str(row["values"]))}


def put_aside(path: Path, damaged: Path) -> None:
    """Move a part that does not pass its checksum to the folder ``damaged``, and say so."""
    damaged.mkdir(exist_ok=True)
    print(
        f"Journal: {path.name} is damaged; its {n_rows_of(path)} responses are asked again. "
        f"The file is moved to {damaged}."
    )
    with suppress(FileNotFoundError):  # another shard was faster
        shutil.move(path, damaged / path.name)


def records_in(folder: Path, pattern: str = "*.json") -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the records of jobs in ``folder``, oldest first, without those that cannot be read."""
    for path in sorted(folder.glob(pattern)):
        with suppress(ValueError, OSError):
            yield path, json.loads(path.read_bytes())


def usd_of(path: Path) -> float | None:
    """Return the sum of the column ``usd`` of a part; None where it has none, or cannot be read."""
    try:
        column = pq.read_table(path, columns=["usd"])["usd"]
    except (OSError, KeyError, pa.ArrowException):
        return None
    found: float | None = pc.sum(column).as_py()
    return found
