"""Tables of analyses: written twice, read back from the Parquet file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core.csv_files import write_csv
from cinorms.core.files import replacing
from cinorms.core.sealing import seal, unseal
from cinorms.core.tables import REMEDY, damage_named


def write_tidy(frame: pd.DataFrame, parquet: str | Path, csv: str | Path) -> None:
    """Write an analysis' table twice: Parquet for programs, CSV for people; each whole or not at all."""
    data = seal(pa.Table.from_pandas(frame, preserve_index=False))
    with replacing(parquet) as part:
        part.write_bytes(data)
    write_csv(frame, csv)


def read_tidy(parquet: str | Path) -> pd.DataFrame:
    """Read an analysis' table that ``write_tidy`` wrote."""
    with damage_named(parquet, REMEDY):
        frame: pd.DataFrame = pq.read_table(unseal(parquet)).to_pandas()
    return frame
