"""The vignettes of a dataset: from its design, a CSV file or ConfAIde's files."""

from pathlib import Path

import numpy as np
import pandas as pd

from cinorms.core.csv_files import check_header
from cinorms.core.errors import DataError, damage_named
from cinorms.vignettes import agent_files
from cinorms.vignettes.designs import Columns, Dataset, expand, factor_columns
from cinorms.vignettes.source_files import get

#: ConfAIde separates instruction and scenario by these two characters, a backslash and an n.
CONFAIDE_BREAK = "\\n"

#: What tables and figures show for a level that is empty in a CSV file.
EMPTY_LABEL = "(empty)"


def read_vignettes(dataset: Dataset, cache_dir: str | Path, mirror: str | Path | None = None) -> pd.DataFrame:
    """Return the flows of ``dataset`` under the schema ``tables.VIGNETTES``, one column per factor.

    ``expected`` is in the units of ``dataset.expected_range`` and missing where nothing is known. Files are
    looked for in the folder ``mirror``, then in ``cache_dir``, then fetched.

    Raises ``DataError`` where a file is not as declared.
    """
    if dataset.source == "design":
        return expand(dataset)
    files = {key: get(file, cache_dir, mirror) for key, file in dataset.sources.items()}
    path = files["vignettes"]
    if dataset.source in agent_files.SOURCES:
        frame = agent_files.read_records(path, dataset)
    elif dataset.columns is not None:
        frame = _read_csv(path, dataset.columns)
    else:
        frame = _read_confaide(path, files["labels"], dataset)
    if frame.empty:
        raise DataError(f"{path}: has no rows; a dataset needs at least one")
    n_flows = dataset.n_flows()
    if n_flows is not None and len(frame) != n_flows:
        raise DataError(f"{path}: has {len(frame)} rows, the dataset's file declares {n_flows}")
    empty = frame["vignette"].str.strip() == ""
    if empty.any():
        raise DataError(f"{path}: row {_first(empty)} has no vignette")
    if dataset.expected_range is not None:
        low, high = dataset.expected_range
        outside = frame["expected"].notna() & ~frame["expected"].between(low, high)
        if outside.any():
            row = _first(outside)
            raise DataError(
                f"{path}: flow {row}: expected value {frame['expected'].iloc[row]} is outside expected_range "
                f"[{low}, {high}]"
            )
    if "flow" not in frame:
        frame.insert(0, "flow", np.arange(len(frame), dtype=np.int32))
    return frame


def _read_csv(path: Path, columns: Columns) -> pd.DataFrame:
    check_header(path)
    try:
        raw = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as a CSV file in UTF-8: {error}") from None
    wanted = [columns.vignette, *columns.factors.values(), *([columns.expected] if columns.expected else [])]
    absent = [name for name in wanted if name not in raw.columns]
    if absent:
        raise DataError(f"{path}: has no column {absent[0]!r}; it has: {', '.join(raw.columns)}")
    frame = pd.DataFrame(index=raw.index)
    for name, column in columns.factors.items():
        values = raw[column].replace("", EMPTY_LABEL)
        # Categories in the order in which they first come.
        frame[name] = values.astype(pd.CategoricalDtype(list(dict.fromkeys(values))))
    frame["vignette"] = raw[columns.vignette]
    frame["expected"] = _numbers(path, raw[columns.expected]) if columns.expected else np.nan
    return frame


def _first(wrong: pd.Series) -> int:
    return int(wrong.to_numpy().argmax())


def _lines(path: Path) -> list[str]:
    # Not splitlines(), which also breaks at characters that a story may hold.
    with damage_named(path, "give a text file in UTF-8"):
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def _numbers(path: Path, values: pd.Series) -> pd.Series:
    is_stated = values.str.strip() != ""
    numbers = pd.to_numeric(values.where(is_stated), errors="coerce").astype("float64")
    wrong = is_stated & numbers.isna()
    if wrong.any():
        row = _first(wrong)
        raise DataError(f"{path}: row {row}: expected value {values[row]!r} is not a number")
    return numbers


def _read_confaide(vignettes: Path, labels: Path, dataset: Dataset) -> pd.DataFrame:
    """Return ConfAIde's scenarios, without the instruction before them, with the levels of its factors."""
    frame = factor_columns(dataset)
    lines = _lines(vignettes)
    values = pd.Series(_lines(labels), dtype="str")
    for path, count in ((vignettes, len(lines)), (labels, len(values))):
        if count != len(frame):
            raise DataError(f"{path}: has {count} lines, the dataset's factors make {len(frame)} flows")
    without = [number for number, line in enumerate(lines) if CONFAIDE_BREAK not in line]
    if without:
        raise DataError(
            f"{vignettes}: line {without[0] + 1} has no {CONFAIDE_BREAK!r} between instruction and scenario"
        )
    frame["vignette"] = pd.array([line.partition(CONFAIDE_BREAK)[2].strip() for line in lines], dtype="str")
    frame["expected"] = _numbers(labels, values)
    return frame
