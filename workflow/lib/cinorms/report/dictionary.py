"""The data dictionary of a study: every file with a table, what a row of it is, and what each column holds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pandas as pd

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.csv_tables import (
    AGREEMENT,
    COMPARISON,
    CSV_TABLES,
    DICTIONARY,
    IMAGES,
    OVERRIDES,
    SENTENCES,
    TO_CODE,
)
from cinorms.core.errors import DataError
from cinorms.core.labels import listed
from cinorms.core.tables import CODES, READINGS, STAGES, VIGNETTES
from cinorms.entries.kind import kinds
from cinorms.figures.theme import ENDING
from cinorms.study.metadata import StudyMetadata

#: A row of the dictionary: file, what it holds, column, what that holds; the columns of a printed table are data.
Row = tuple[str, str, str | None, str | None]

_SECTIONS = (("tables", "analyses", ANY_PLANTED), ("figures", "figures", ENDING))
_FACTOR = "Level of each factor of the dataset, in words."
_PRINTED = "A table set out as in print; its headings are those in print."


def dictionary(study: StudyMetadata, headers: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return one row per file and column, in the order in which a study makes the files.

    ``headers`` are the columns of the files that depend on the study:
    `norms.csv`, and those of its tables and figures, by their place in the results.

    Raises ``DataError`` for a column that nothing describes.
    """
    return pd.DataFrame(_rows(study, headers), columns=list(DICTIONARY.about))


def described_files(study: StudyMetadata) -> list[str]:
    """Return the files whose headers `dictionary` needs."""
    return [
        "norms.csv",
        *(f"{part}/{name}.csv" for part, key, _ in _SECTIONS for name in getattr(study, key)),
    ]


def _rows(study: StudyMetadata, headers: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    levels = sorted({level for arm in study.arms.values() for level in arm.scale.binned.levels})
    coded = bool(study.hand_sample)
    for schema in STAGES:
        if schema in (READINGS, CODES) and not coded:
            continue
        file = schema.file.removeprefix("results/{study}/")
        holds = f"{schema.holds} One row per {listed(schema.key)}."
        factors = {"<factor>": _FACTOR} if schema.extra is not None else {}
        files = (file, file.replace(".parquet", ".csv")) if schema is VIGNETTES else (file,)
        for path, (name, about) in product(files, {**schema.described(levels), **factors}.items()):
            yield path, holds, name, about
    every = kinds("analyses")["flow_norms"]
    called = "; ".join(f"{name}: {label}" for name, label in study.labels.items())
    names = (
        {"model": f"{every.columns['model']} Pages, figures and printed tables call {called}."}
        if called
        else {}
    )
    yield from _described("norms.csv", every.sentence, headers, {**every.columns, **names})
    for folder, section, ending in _SECTIONS:
        for name, entry in getattr(study, section).items():
            meanings = {**entry.meanings, **ending}
            yield from _described(f"{folder}/{name}.csv", entry.sentence, headers, meanings)
    for name in study.settings["printed"]:
        yield f"printed/{name}.csv", _PRINTED, None, None
    made = {
        COMPARISON.name: study.settings.get("compare"),
        IMAGES.name: study.settings.get("compare"),
        SENTENCES.name: study.settings.get("compare"),
        OVERRIDES.name: study.settings.get("overrides"),
        TO_CODE.name: coded,
        AGREEMENT.name: coded,
    }
    for table in CSV_TABLES:
        holds = f"{table.holds} One row per {listed(table.key)}."
        for column, about in table.about.items() if made.get(table.name, True) else ():
            yield table.file, holds, column, about


def _described(
    file: str, holds: str, headers: Mapping[str, Sequence[str]], meanings: Mapping[str, str]
) -> Iterator[Row]:
    by_data = next((about for name, about in meanings.items() if name.startswith("<")), None)
    for column in headers[file]:
        about = meanings.get(column, by_data)
        if about is None:
            raise DataError(
                f"{file}: nothing describes column {column!r}; declare it in the columns of its kind"
            )
        yield file, holds, column, about
