"""Croissant: what machines need to find and load the tables of a published study (MLCommons, version 1.0)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core.files import sha256_of
from cinorms.publish.contents import Item


def _own(terms: str) -> dict[str, str]:
    return {term: f"cr:{term}" for term in terms.split()}


#: The terms of Croissant that the metadata uses, as its specification states them.
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **_own("citeAs column"),
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    **_own("equivalentProperty"),
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **_own("extract field fileProperty fileObject fileSet format includes isLiveDataset jsonPath key md5"),
    **_own("parentField path recordSet references regex repeated replace samplingRate"),
    "sc": "https://schema.org/",
    **_own("separator source subField transform"),
}
CONFORMS_TO = "http://mlcommons.org/croissant/1.0"


def croissant(about: Mapping[str, Any], items: Sequence[Item], folder: Path) -> dict[str, Any]:
    """Return the metadata of a folder: ``about`` describes the whole, ``items`` are its files."""
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": about["name"],
        "description": about["description"],
        "license": about["licence_url"],
        "url": about["url"],
        "version": about["version"],
        "datePublished": about["date"],
        "creator": {"@type": "sc:Organization", "name": about["creator"]},
        "citeAs": about["citation"],
        "distribution": [_file(item, folder) for item in items],
        "recordSet": [_records(item, folder) for item in items if item.columns],
    }


def _file(item: Item, folder: Path) -> dict[str, Any]:
    path = folder / item.path
    parquet = path.suffix == ".parquet"
    return {
        "@type": "cr:FileObject",
        "@id": item.path,
        "name": item.path,
        "description": item.holds,
        "contentUrl": item.path,
        "contentSize": f"{path.stat().st_size} B",
        # Croissant's own word for Parquet; the registered one is younger.
        "encodingFormat": "application/x-parquet" if parquet else item.encoding,
        "sha256": sha256_of(path),
    }


def _records(item: Item, folder: Path) -> dict[str, Any]:
    name = str(PurePosixPath(item.path).with_suffix(""))
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": item.holds,
        "field": list(_fields(item, name, folder)),
    }


def _fields(item: Item, records: str, folder: Path) -> Iterator[dict[str, Any]]:
    kinds = _kinds(folder / item.path)
    for column, holds in (item.columns or {}).items():
        kind, repeated = kinds[column]
        yield {
            "@type": "cr:Field",
            "@id": f"{records}/{column}",
            "name": f"{records}/{column}",
            "description": holds,
            "dataType": kind,
            **({"repeated": True} if repeated else {}),
            "source": {"fileObject": {"@id": item.path}, "extract": {"column": column}},
        }


def _kinds(path: Path) -> dict[str, tuple[str, bool]]:
    """Return the type of each column, and whether a cell holds several values."""
    if path.suffix == ".parquet":
        return {field.name: _kind(field.type) for field in pq.read_schema(path)}
    frame = pd.read_csv(path)
    return {
        str(name): _kind(pa.null() if column.isna().all() else pa.array(column, from_pandas=True).type)
        for name, column in frame.items()
    }


def _kind(kind: pa.DataType) -> tuple[str, bool]:
    if pa.types.is_list(kind):
        return _kind(kind.value_type)[0], True
    if pa.types.is_boolean(kind):
        return "sc:Boolean", False
    if pa.types.is_integer(kind):
        return "sc:Integer", False
    return ("sc:Float" if pa.types.is_floating(kind) else "sc:Text"), False
