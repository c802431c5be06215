"""The data dictionary of a study: every file with a table, what a row of it is, and what each column holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.csv_tables import (
    AGREEMENT,
    COMPARISON,
    CONTROL,
    CSV_TABLES,
    DICTIONARY,
    OVERRIDES,
    SENTENCES,
    TO_CODE,
)
from cinorms.core.errors import DataError
from cinorms.core.labels import listed
from cinorms.core.tables import CODES, REPEATS, STAGES
from cinorms.entries.registry import kinds
from cinorms.figures.theme import ENDING
from cinorms.study.facts import StudyFacts

#: A row of the dictionary: file, what it holds, column, what that holds.
Row = tuple[str, str, str, str]

_FACTOR = "Level of each factor of the dataset, in words."
_PRINTED = "A table set out as in print; its headings are those in print."


def dictionary(study: StudyFacts, headers: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return one row per file and column, in the order in which a study makes the files.

    ``headers`` are the columns of the files that depend on the study:
    `norms.csv`, and those of its tables and figures, by their place in the results.

    Raises ``DataError`` for a column that nothing describes.
    """
    rows = [*_stages(study), *_named(headers, study), *_others(study)]
    return pd.DataFrame(rows, columns=list(DICTIONARY.about))


def described_files(study: StudyFacts) -> list[str]:
    """Return the files whose headers `dictionary` needs."""
    tables, figures = ([f"{part}/{name}.csv" for name in getattr(study, key)] for part, key in _SECTIONS)
    return ["norms.csv", *tables, *figures]


_SECTIONS = (("tables", "analyses"), ("figures", "figures"))


def _stages(study: StudyFacts) -> Iterator[Row]:
    for contract in STAGES:
        if contract is CODES and not study.coder:
            continue
        if contract is REPEATS and not any(arm.repeat > 1 for arm in study.arms.values()):
            continue
        file = contract.file.removeprefix("results/{study}/")
        holds = f"{contract.holds} One row per {listed(contract.key)}."
        levels = sorted({level for arm in study.arms.values() for level in arm.scale.binned.levels})
        for name, about in contract.described(levels).items():
            yield file, holds, name, about
        if contract.extra is not None:
            yield file, holds, "<factor>", _FACTOR


def _named(headers: Mapping[str, Sequence[str]], study: StudyFacts) -> Iterator[Row]:
    every = kinds("analyses")["flow_norms"]
    meanings = {column.name: column.about for column in every.columns}
    yield from _rows("norms.csv", every.sentence, headers["norms.csv"], meanings)
    for folder, section in _SECTIONS:
        ending = (ANY_PLANTED,) if section == "analyses" else ENDING
        for name, entry in getattr(study, section).items():
            file = f"{folder}/{name}.csv"
            further = {column.name: column.about for column in ending}
            yield from _rows(file, entry.sentence, headers[file], {**entry.meanings, **further})


def _rows(file: str, holds: str, header: Sequence[str], meanings: Mapping[str, str]) -> Iterator[Row]:
    by_data = next((about for name, about in meanings.items() if name.startswith("<")), None)
    for column in header:
        about = meanings.get(column, by_data)
        if about is None:
            raise DataError(
                f"{file}: nothing describes column {column!r}; declare it in the columns of its kind"
            )
        yield file, holds, column, about


def _others(study: StudyFacts) -> Iterator[Row]:
    for name in study.printed:
        yield f"printed/{name}.csv", _PRINTED, "", ""
    left_out = {
        COMPARISON.name: not study.compared,
        SENTENCES.name: not study.compared,
        OVERRIDES.name: not study.settings.get("overrides"),
        CONTROL.name: study.name != "control",
        TO_CODE.name: not study.coder,
        AGREEMENT.name: not study.coder,
    }
    for table in CSV_TABLES:
        holds = f"{table.holds} One row per {listed(table.key)}."
        for column, about in table.about.items() if not left_out.get(table.name) else ():
            yield table.file, holds, column, about
