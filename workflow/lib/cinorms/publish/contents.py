"""What a published folder holds: tables of the whole study, without anything about the machine that made them."""

import getpass
import gzip
import json
import os
import platform
import re
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from ipaddress import ip_address
from itertools import product
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cinorms.core.errors import DataError
from cinorms.core.logs import SHORTEST_KEY

#: Columns in front of tables that hold every arm and model.
WHO = {"arm": "Name of the arm.", "model": "Name of the model."}
#: Shortest name of a person or machine that is looked for: a shorter one is part of many words.
SHORTEST_NAME = 4
#: Names of users and machines that are on every other machine too.
_GENERIC = {
    *("localhost", "host", "node", "server", "container", "docker", "vagrant", "codespace", "debian"),
    *("root", "admin", "user", "users", "guest", "student", "nobody", "test", "runner", "builder", "jovyan"),
    *("ubuntu", "ec2-user", "home", "work", "data", "main", "app"),
}
# A name with a digit, a hyphen or a dot is looked for as a word. One of letters alone may be a word of any text (mark,
# grace, atlas): it counts only as a part of an absolute path or after ~ or // or next to @.
_AS_A_WORD = r"(?<![\w-]){0}(?![\w-])"
_AS_A_NAME = (
    r"(?:(?<![\w.:/-])(?:[A-Za-z]:)?[/\\](?:[^/\\\s\"']+[/\\])*|//|[~@]){0}(?![\w-]|\.\w)|(?<![\w.-]){0}@"
)
#: Scheme, host and port of an address; who logs in is left out.
_ADDRESS = re.compile(
    r"(https?://)(?:[^\s/@\"'<>]*@)?(\[[0-9a-f:.]+\]|[^\s/:?#@\"'<>\\]+)(:\d+)?", re.IGNORECASE
)
#: Ends of names that only a local network knows.
_LOCAL = (
    ".local",
    ".localdomain",
    ".internal",
    ".intranet",
    ".private",
    ".corp",
    ".lan",
    ".home",
    ".home.arpa",
)
#: A character behind a backslash: by its number, a control character, itself.
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([bfnrt])|(.))", re.DOTALL)


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


def without_places(value: Any) -> Any:
    """Return plain data in which a path of a machine is its last part, and a host of a local network has no name."""
    if isinstance(value, Mapping):
        return {str(without_places(str(name))): without_places(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [without_places(inner) for inner in value]
    if isinstance(value, str):
        if value.startswith(("/", "~/")):
            return PurePosixPath(value).name
        if PureWindowsPath(value).drive:
            return PureWindowsPath(value).name
        return _ADDRESS.sub(_public, value)
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


def internal_hosts(text: str) -> set[str]:
    """Return the hosts in the addresses of ``text`` that only a local network knows."""
    return {host for _, host, _ in _ADDRESS.findall(text) if _is_internal(host)}


def _is_internal(host: str) -> bool:
    with suppress(ValueError):
        address = ip_address(host.strip("[]"))
        return not (address.is_global or address.is_loopback)
    return host.lower() != "localhost" and ("." not in host or host.lower().endswith(_LOCAL))


def _public(address: re.Match[str]) -> str:
    scheme, host, port = address.groups("")
    return f"{scheme}internal.invalid" if _is_internal(host) else f"{scheme}{host}{port}"


class _Mark(NamedTuple):
    """What must not be published: how a message calls it, a text that is in it, and what it is as a whole."""

    shown: str
    part: str
    whole: re.Pattern[str]


def insist_on_nothing_personal(folder: Path, secrets: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
    """Raise ``DataError`` for a file with a name of this machine, its user, its folders, or one of ``secrets``.

    ``hosts`` are names of other machines. Tables are searched by their cells, archives by their members. What is
    neither text nor a table nor an archive is refused, because nobody knows what it holds.
    """
    marks = list(_marks(secrets, hosts))
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        for where, texts in (
            (name, pa.array([name])),
            *(_texts_in(name, path.read_bytes()) if path.is_file() else ()),
        ):
            if mark := _first(marks, texts):
                raise DataError(
                    f"{where}: contains {mark.shown}, which is only of this machine or network; take it out of the "
                    "study's settings, or out of the files whose responses were imported, and publish again"
                )


def _marks(secrets: Iterable[str], hosts: Iterable[str]) -> Iterator[_Mark]:
    for key in secrets:
        if len(key) >= SHORTEST_KEY:
            yield _Mark("a key", key, re.compile(re.escape(key)))
    home, node = Path.home(), platform.node()
    folders = {os.getcwd(), os.environ.get("PWD", ""), *([] if home.name in _GENERIC else [str(home)])}
    for folder in sorted(folders):
        if len(PurePath(folder).parts) > 2:  # /root or /work tells nothing
            yield _Mark(repr(folder), folder, re.compile(rf"{re.escape(folder)}(?!\w)"))
    names = {home.name, node, node.partition(".")[0], *hosts}
    with suppress(KeyError, OSError):  # a user without a name
        names.add(getpass.getuser())
    for name in sorted(names):
        if len(name) >= SHORTEST_NAME and name.lower() not in _GENERIC:
            form = _AS_A_NAME if name.isalpha() else _AS_A_WORD
            yield _Mark(repr(name), name, re.compile(form.format(re.escape(name))))


def _first(marks: Sequence[_Mark], texts: pa.Array) -> _Mark | None:
    """Return the first of ``marks`` that is in one of ``texts``, as it is or behind escapes such as those of JSON."""
    for mark in marks:
        found = texts.filter(pc.match_substring(texts, mark.part)).to_pylist()
        if any(mark.whole.search(text) for text in found):
            return mark
    for text in texts.filter(pc.match_substring(texts, "\\")).to_pylist():
        while "\\" in text:
            plainer = _ESCAPE.sub(_unescaped, text)
            if plainer == text:  # a last backslash that escapes nothing
                break
            text = plainer
            for mark in marks:
                if mark.part in text and mark.whole.search(text):
                    return mark
    return None


def _unescaped(escape: re.Match[str]) -> str:
    code, space, itself = escape.groups()
    return chr(int(code, 16)) if code else " " if space else str(itself)


def _texts_in(name: str, data: bytes) -> Iterator[tuple[str, pa.Array]]:
    """Yield the texts of a file, each with where it is: of a table the distinct cells."""
    if data.startswith(b"PAR1"):
        yield from _cells(name, pq.ParquetFile(pa.BufferReader(data)))
    elif data.startswith(b"\x1f\x8b"):
        yield from _texts_in(f"{name}, unpacked", gzip.decompress(data))
    elif zipfile.is_zipfile(BytesIO(data)):
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for member in archive.infolist():
                yield name, pa.array([f"{member.filename} {member.comment.decode(errors='replace')}"])
                yield from _texts_in(f"{name}, {member.filename}", archive.read(member))
    else:
        try:
            yield name, pa.array([data.decode()], pa.large_string())
        except UnicodeDecodeError:
            raise DataError(
                f"{name}: is neither text nor Parquet nor zip nor gzip, so nobody can tell what it holds; leave it out"
            ) from None


def _cells(name: str, file: pq.ParquetFile) -> Iterator[tuple[str, pa.Array]]:
    schema = file.schema_arrow
    about = [str(of) for of in (file.metadata.metadata, schema, *(each.metadata for each in schema))]
    yield f"{name}, metadata", pa.array(about)
    # Part by part: the texts of a whole study need not fit into memory.
    for group, column in product(range(file.num_row_groups), schema.names):
        cells = file.read_row_group(group, [column]).column(column)
        while pa.types.is_list(cells.type):
            cells = pc.list_flatten(cells)
        if pa.types.is_nested(cells.type):
            cells = pa.chunked_array([pa.array(map(str, cells.to_pylist()), pa.large_string())])
        if not pa.types.is_primitive(cells.type):
            texts = pc.unique(cells)
            yield f"{name}, column {column!r}", texts.cast(pa.large_string())
