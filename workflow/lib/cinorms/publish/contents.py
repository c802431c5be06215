"""What a published folder holds: tables of the whole study, without anything about the machine that made them."""

from __future__ import annotations

import getpass
import json
import os
import platform
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core.errors import DataError

#: Columns in front of tables that hold every arm and model.
WHO = {"arm": "Name of the arm.", "model": "Name of the model."}
#: Shortest name of a person or machine that is looked for: a shorter one is part of many words.
SHORTEST_NAME = 4


class Member(NamedTuple):
    """A table of one arm and model."""

    arm: str
    model: str
    path: str


@dataclass(frozen=True)
class Item:
    """A file of the folder: its path in there, what it holds, and of a table each column with what it holds."""

    path: str
    holds: str
    columns: Mapping[str, str] | None = None

    @property
    def encoding(self) -> str:
        """The media type of the file."""
        return {
            ".csv": "text/csv",
            ".json": "application/json",
            ".md": "text/markdown",
            ".parquet": "application/vnd.apache.parquet",
        }.get(Path(self.path).suffix, "text/plain")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(path.read_bytes()).hexdigest()


def without_places(value: Any) -> Any:
    """Return plain data in which a path of a machine is the last part of that path."""
    if isinstance(value, Mapping):
        return {str(without_places(str(name))): without_places(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(inner) for inner in value]
    if isinstance(value, str):
        if value.startswith(("/", "~/")):
            return PurePosixPath(value).name
        if PureWindowsPath(value).drive:
            return PureWindowsPath(value).name
    return value


def write_json(value: Any, path: Path) -> None:
    """Write plain data as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def copy_json(source: str | Path, path: Path) -> Any:
    """Copy a JSON file without paths of a machine, and return what it holds."""
    value = without_places(json.loads(Path(source).read_text(encoding="utf-8")))
    write_json(value, path)
    return value


def copy_table(source: str | Path, folder: Path, path: str, holds: str, about: Mapping[str, str]) -> Item:
    """Copy a CSV file; ``about`` describes its columns."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, folder / path)
    names = pd.read_csv(folder / path, nrows=0).columns
    return Item(path, holds, {str(name): about.get(str(name), "") for name in names})


def join_tables(
    members: Sequence[Member], folder: Path, path: str, holds: str, about: Mapping[str, str]
) -> Item:
    """Write the tables of all arms and models as one Parquet file, with the columns ``WHO`` in front."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    writer = None
    for one in members:
        table = pq.read_table(one.path)
        plain = [
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
        who = [pa.array([name] * len(table), pa.string()) for name in (one.arm, one.model)]
        whole = pa.table([*who, *plain], names=[*WHO, *table.column_names])
        # The columns of a dataset's own factors are in vignettes, never here: all members have the same columns.
        writer = writer or pq.ParquetWriter(folder / path, whole.schema, compression="zstd")
        writer.write_table(whole)
    assert writer is not None, "a study has an arm and a model"
    writer.close()
    names = pq.read_schema(folder / path).names
    return Item(path, holds, {name: {**WHO, **about}[name] for name in names})


def insist_on_nothing_personal(folder: Path, secrets: Iterable[str] = ()) -> None:
    """Raise ``DataError`` for a file with a name of this machine, its user, its folders, or one of ``secrets``."""
    named = [
        str(Path.home()),
        os.getcwd(),
        platform.node(),
        getpass.getuser() if os.environ.get("USER") else "",
    ]
    usual = {"root", "localhost", "runner", "user", "home", "work"}
    words = {word for word in named if len(word) >= SHORTEST_NAME and word not in usual and word != "/root"}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        for word in (*words, *(secret for secret in secrets if len(secret) >= SHORTEST_NAME)):
            if word.encode() in data:
                shown = "a key" if word in set(secrets) else repr(word)
                raise DataError(
                    f"{path.relative_to(folder)}: contains {shown}, which is only of this machine; take it out of the "
                    "study's settings, and publish again"
                )
