"""Parquet files that carry a checksum of their own bytes, so that damage is found first; the tables of analyses."""

import hashlib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core.csv_files import write_csv
from cinorms.core.errors import REMEDY, damage_named
from cinorms.core.files import replacing

_KEY = "cinorms_sha256"
#: Placeholder for the checksum while it is computed.
_BLANK = b"0" * 64
#: What precedes the checksum in a file: the key and both lengths, as Parquet stores a pair of texts.
_BEFORE = b"\x18" + bytes([len(_KEY)]) + _KEY.encode() + b"\x18" + bytes([len(_BLANK)])


def with_checksum(table: pa.Table) -> bytes:
    """Return ``table`` as a Parquet file with its checksum; the same table always gives the same bytes."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, compression="zstd", version="2.6") as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_KEY: _BLANK.decode()})
    data: bytes = sink.getvalue().to_pybytes()
    place = data.rfind(_BEFORE) + len(_BEFORE)
    return data[:place] + _checksum(data, place) + data[place + len(_BLANK) :]


def verified(path: str | Path) -> pa.BufferReader:
    """Return the bytes of the file at ``path`` after comparing them with their checksum.

    Raises ``ValueError`` where they differ, or where there is none.
    """
    data = Path(path).read_bytes()
    place = data.rfind(_BEFORE) + len(_BEFORE)
    if place < len(_BEFORE):
        raise ValueError("it has no checksum: it is cut, or another program wrote it")
    if data[place : place + len(_BLANK)] != _checksum(data, place):
        raise ValueError("its bytes changed after it was written")
    return pa.BufferReader(data)


def write_tidy(frame: pd.DataFrame, parquet: str | Path, csv: str | Path) -> None:
    """Write an analysis' table twice: Parquet for programs, CSV for people; each whole or not at all."""
    data = with_checksum(pa.Table.from_pandas(frame, preserve_index=False))
    with replacing(parquet) as part:
        part.write_bytes(data)
    write_csv(frame, csv)


def read_tidy(parquet: str | Path) -> pd.DataFrame:
    """Read an analysis' table that ``write_tidy`` wrote."""
    with damage_named(parquet, REMEDY):
        frame: pd.DataFrame = pq.read_table(verified(parquet)).to_pandas()
    return frame


def _checksum(data: bytes, place: int) -> bytes:
    """Return the checksum of a file whose own checksum is at ``place``."""
    whole = memoryview(data)
    digest = hashlib.sha256(whole[:place])
    digest.update(_BLANK)
    digest.update(whole[place + len(_BLANK) :])
    return digest.hexdigest().encode()
