"""Parquet files that carry a digest of their own bytes, so that any damage is found before they are parsed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_KEY = "cinorms_sha256"
#: Placeholder for the digest while the digest is computed.
_BLANK = b"0" * 64
#: What precedes the digest in a file: the key and both lengths, as Parquet stores a pair of texts.
_BEFORE = b"\x18" + bytes([len(_KEY)]) + _KEY.encode() + b"\x18" + bytes([len(_BLANK)])
#: Part of the schema. A program that edits a table keeps it and writes no digest.
_MARK = {b"cinorms_sealed": b"sha256"}


def seal(table: pa.Table) -> bytes:
    """Return ``table`` as a Parquet file with its digest; the same table always gives the same bytes."""
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **_MARK})
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", version="2.6") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: _BLANK.decode()})
    data: bytes = sink.getvalue().to_pybytes()
    place = data.rfind(_BEFORE) + len(_BEFORE)
    return data[:place] + _digest(data, place) + data[place + len(_BLANK) :]


def unseal(path: str | Path) -> pa.BufferReader:
    """Return the bytes of the file at ``path`` after comparing them with their digest.

    Raises ``ValueError`` where they differ. A file of an earlier version has no digest and is returned unchecked.
    """
    data = Path(path).read_bytes()
    place = data.rfind(_BEFORE) + len(_BEFORE)
    found = place >= len(_BEFORE)
    if found and data[place : place + len(_BLANK)] != _digest(data, place):
        raise ValueError("its bytes changed after it was written")
    source = pa.BufferReader(data)
    if not found and _MARK.items() <= (pq.read_schema(source).metadata or {}).items():
        raise ValueError("another program wrote it")
    source.seek(0)
    return source


def _digest(data: bytes, place: int) -> bytes:
    """Return the digest of a file whose own digest is at ``place``."""
    whole = memoryview(data)
    digest = hashlib.sha256(whole[:place])
    digest.update(_BLANK)
    digest.update(whole[place + len(_BLANK) :])
    return digest.hexdigest().encode()
