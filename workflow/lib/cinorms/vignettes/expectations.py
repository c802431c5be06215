"""Expected values (survey, law, policy): from a dataset's own column, or from a CSV file of stated norms."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.arrays import Floats
from cinorms.core.errors import DataError, listing

Range = tuple[float, float]


def from_vignettes(vignettes: pd.DataFrame, ends: Range, expected_range: Range | None = None) -> pd.DataFrame:
    """Return flow, expected (on the scale) and expected_source from the column ``expected`` of the vignettes.

    ``ends`` are the lowest and the highest level of the scale. ``expected_range`` holds the numbers for them in the
    column, by default the levels. Where nothing is expected, both are missing.
    """
    values = vignettes["expected"].to_numpy(dtype=np.float64, na_value=np.nan)
    source = np.full(len(values), None, dtype=object)
    source[~np.isnan(values)] = "dataset"
    return _frame(vignettes, _to_levels(values, expected_range or ends, ends), source)


def read_expected(
    path: str | Path,
    vignettes: pd.DataFrame,
    factors: Sequence[str],
    ends: Range,
    expected_range: Range | None = None,
) -> pd.DataFrame:
    """Return flow, expected (on the scale) and expected_source (line and note) from a CSV file of stated norms.

    The file has a column ``expected``, a column for each factor that matters (a name in ``factors``) and
    optionally ``note``. An empty cell means any level, so a row can state a norm for a slice. If several rows match
    a flow, the one that names most levels counts. Flows without a matching row have no expected value.
    ``ends`` and ``expected_range`` are as in `from_vignettes`.

    Raises `DataError`, naming the line, for an unknown column or level, a number that is none or out of range, a row
    that matches no flow, and two rows with equally many levels that state different values for a flow.
    """
    path, between = Path(path), expected_range or ends
    rows = _read_rows(path, list(factors), between)
    flows = vignettes[list(factors)].astype(str).reset_index(drop=True)
    for name in factors:
        levels = flows[name].unique()
        wrong = (rows[name] != "") & ~rows[name].isin(levels)
        if wrong.any():
            line, level = rows.loc[wrong, "line"].iloc[0], rows.loc[wrong, name].iloc[0]
            raise DataError(
                f"{path}: line {line}: {name}: {level!r} is not a level; {listing(level, levels)}"
            )
    match = _match(path, rows, flows)
    value = np.full(len(flows), np.nan)
    source = np.full(len(flows), None, dtype=object)
    stated = rows.loc[match["row"]]
    value[match["at"]] = _to_levels(stated["expected"].to_numpy(), between, ends)
    notes = np.where(stated["note"] == "", "", ": " + stated["note"])
    source[match["at"]] = "line " + stated["line"].astype(str).to_numpy() + notes
    return _frame(vignettes, value, source)


def _frame(vignettes: pd.DataFrame, value: Floats, source: npt.NDArray[np.object_]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "flow": vignettes["flow"].to_numpy(),
            "expected": pd.arrays.FloatingArray(value, np.isnan(value)),
            "expected_source": pd.array(source, dtype="str"),
        }
    )


def _to_levels(values: Floats, between: Range, ends: Range) -> Floats:
    """Return ``values`` moved linearly from the range ``between`` to the ``ends`` of the answer scale."""
    if between == ends:
        return values
    low, high = ends
    return low + (values - between[0]) * ((high - low) / (between[1] - between[0]))


def _read_rows(path: Path, factors: list[str], between: Range) -> pd.DataFrame:
    """Return the rows of the file: line, expected, note and every factor, empty where any level is meant."""
    lines, line = [], 1  # each row without spaces, and the line at which it begins
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for cells in reader:
                if any(trimmed := [cell.strip() for cell in cells]):
                    lines.append((line, trimmed))
                line = reader.line_num + 1
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a CSV file in UTF-8: {error}") from None
    if len(lines) < 2:
        raise DataError(f"{path}: has no rows; write a header and one row per stated norm")
    (_, header), *body = lines
    allowed = [*factors, "expected", "note"]
    for number, name in enumerate(header):
        if name not in allowed:
            raise DataError(f"{path}: line 1: {name!r} is not a column; {listing(name, allowed)}")
        if name in header[:number]:
            raise DataError(f"{path}: line 1: column {name!r} appears twice; keep one")
    if "expected" not in header:
        raise DataError(f"{path}: line 1: column 'expected' is missing; add it")
    rows = []
    for line, cells in body:
        if len(cells) != len(header):
            raise DataError(
                f"{path}: line {line}: has {len(cells)} cells, expected {len(header)} as in the header"
            )
        row = dict(zip(header, cells, strict=True))
        try:
            value = float(row["expected"])
        except ValueError:
            value = math.nan
        if not between[0] <= value <= between[1]:
            raise DataError(
                f"{path}: line {line}: expected is {row['expected']!r}; allowed: a number from {between[0]:g} to "
                f"{between[1]:g} (set expected_range for numbers with another range)"
            )
        rows.append({**dict.fromkeys(("note", *factors), ""), **row, "expected": value, "line": line})
    return pd.DataFrame(rows)


def _match(path: Path, rows: pd.DataFrame, flows: pd.DataFrame) -> pd.DataFrame:
    """Return, for each flow that rows match, its position ``at`` and the index ``row`` of what counts."""
    is_stated = rows[list(flows)] != ""
    pairs = []
    # One join for all rows that give levels of the same factors: rows may be many, such sets are few.
    for _, alike in is_stated.groupby(list(flows), sort=False):
        names = [name for name in flows if alike[name].iloc[0]]
        left = flows[names].assign(at=np.arange(len(flows)))
        right = rows.loc[alike.index, names].assign(row=alike.index, n_levels=len(names))
        joined = left.merge(right, on=names) if names else left.merge(right, how="cross")
        pairs.append(joined[["at", "row", "n_levels"]])
    matches = pd.concat(pairs, ignore_index=True)
    idle = ~rows.index.isin(matches["row"])
    if idle.any():
        line = rows.loc[idle, "line"].iloc[0]
        raise DataError(
            f"{path}: line {line}: no flow of the dataset has these levels together; correct the line"
        )
    most = matches.groupby("at")["n_levels"].transform("max")
    best = matches[matches["n_levels"] == most].sort_values(["at", "row"])
    first = best.drop_duplicates("at")
    value = rows["expected"].to_numpy()
    other = best.merge(first, on="at", suffixes=("", "_first"))
    differs = value[other["row"]] != value[other["row_first"]]
    if differs.any():
        pair = other[differs].iloc[0]
        earlier, later = rows.loc[pair["row_first"]], rows.loc[pair["row"]]
        raise DataError(
            f"{path}: lines {earlier['line']} and {later['line']} name equally many levels, but state "
            f"{earlier['expected']:g} and {later['expected']:g} for the flow {flows.iloc[pair['at']].to_dict()}; "
            "add a row with more levels, or drop one"
        )
    return first
