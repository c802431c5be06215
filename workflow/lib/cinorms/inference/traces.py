"""Traces: the text that models write before their answers, kept beside the journal's parts and not in them.

A trace of 2,000 tokens is a hundred times as long as an answer, and no two are the same. In a part, every job and every
table of responses would read and hold them all. So the traces of a part are in a file of the same name in the folder
``traces``, and only who wants to read them opens it. Their lengths are columns of the part.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.files import write_whole
from cinorms.inference.journal_files import whole_parts
from cinorms.inference.prompt_keys import KEY_BYTES, Keys, as_column

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
    found = pa.table([part["prompt"], pa.array(texts, pa.string())], schema=TRACES)
    return found.filter(pc.is_valid(found["trace"]))


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
            place = pc.index_in(wanted.filter(pa.array(at)), table["prompt"].combine_chunks())
            found = np.flatnonzero(place.is_valid().to_numpy(zero_copy_only=False))
            traces = table["trace"].take(place.take(pa.array(found))).to_pandas()
            yield pd.DataFrame({"at": np.flatnonzero(at)[found], "trace": traces.to_numpy()})
