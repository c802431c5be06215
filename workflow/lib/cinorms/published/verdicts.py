"""What the authors of CI-RL published of agents: answers to a question, and a judge's verdicts on each item.

Records are joined to flows by the number at the end of their name: main1 is flow 0.
"""

import csv
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cinorms.core.errors import DataError, listing
from cinorms.core.scales import Scale
from cinorms.core.tables import SHARED
from cinorms.published.frames import category
from cinorms.vignettes.agent_files import items_of

#: An answer is its letter, in brackets or not, with what follows.
_LETTER = re.compile(r"\s*\(?([A-Z])\b")


def read_letters(
    path: Path, column: str, options: Mapping[str, str], vignettes: pd.DataFrame, scale: Scale
) -> pd.DataFrame:
    """Return the answers in a column of a CSV file: a letter for each option. Another text is ``invalid``."""
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    if not rows or "name" not in rows[0] or column not in rows[0]:
        raise DataError(f"{path}: has no column 'name' or no column {column!r}")
    for option in options.values():
        if option not in scale.options:
            raise DataError(
                f"{path}: a letter stands for {option!r}, no option; {listing(option, scale.options)}"
            )
    found = [_LETTER.match(row[column] or "") for row in rows]
    told = [options.get(match[1]) if match else None for match in found]
    levels = [None if option is None else scale.levels[scale.options.index(option)] for option in told]
    return _answers(path, [row["name"] for row in rows], levels, vignettes)


def read_verdicts(path: Path, vignettes: pd.DataFrame, scale: Scale) -> pd.DataFrame:
    """Return the actions in a file of verdicts: which sensitive items of each flow a judge calls leaked.

    Raises ``DataError`` where the items are not those of the flow.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        judged: dict[str, list[tuple[str, bool]]] = {}
        for name, of in found.items():
            judged[name] = [(str(item), bool(leaked)) for item, leaked in of["secret_judgment"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: is not a file of verdicts ({type(error).__name__}: {error})") from None
    sensitive = [[SHARED * leaked for _, leaked in of] for of in judged.values()]
    levels: list[int | None] = [scale.levels[-1] if any(of) else scale.levels[0] for of in sensitive]
    answers = _answers(path, list(judged), levels, vignettes, sensitive=sensitive)
    items = items_of(vignettes)
    for flow, of in zip(_flows(path, list(judged)), judged.values(), strict=True):
        if [item for item, _ in of] != items[flow]["sensitive"]:
            raise DataError(f"{path}: the items of flow {flow} are not those of the dataset")
    nothing: list[list[int]] = [[] for _ in range(len(answers))]
    return answers.assign(needed=pd.Series(nothing, answers.index, dtype=object))


def _flows(path: Path, names: list[str]) -> list[int]:
    numbers = [re.search(r"(\d+)$", name) for name in names]
    flows = [int(match[1]) - 1 for match in numbers if match]
    if len(flows) != len(names) or len(set(flows)) != len(flows):
        raise DataError(f"{path}: a record's name has no number of its own at its end")
    return flows


def _answers(
    path: Path, names: list[str], levels: list[int | None], vignettes: pd.DataFrame, **columns: Any
) -> pd.DataFrame:
    """Return an answers table (`tables.ANSWERS`) of the only variant, sorted by flow."""
    flows = _flows(path, names)
    if unknown := sorted(set(flows) - set(vignettes["flow"])):
        raise DataError(f"{path}: flow {unknown[0]} is none of the dataset's {len(vignettes)} flows")
    missing = np.array([level is None for level in levels])
    n = len(flows)
    table = pd.DataFrame({"flow": np.array(flows, dtype=np.int32), **columns})
    table = table.assign(
        variant=category(np.zeros(n, dtype=np.int8), ["0_0"]),
        order=category(np.full(n, -1), []),
        level=pd.arrays.IntegerArray(np.array([level or 0 for level in levels], dtype=np.int8), missing),
        status=category(missing.astype(np.int8), ["ok", "invalid"]),
        rule=category(np.zeros(n, dtype=np.int8), ["published"]),
        p_options=None,
    )
    return table.sort_values("flow", ignore_index=True)
