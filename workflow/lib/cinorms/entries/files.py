"""The files that an entry is made from, and how they are read."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core import tables
from cinorms.core.checksums import read_tidy
from cinorms.core.labels import relabelled
from cinorms.entries.entry import ENTRIES, Entry, Pair, Selected
from cinorms.entries.kind import PER_MODEL
from cinorms.vignettes.factors import has_levels

_SCHEMAS = {
    "answers": tables.ANSWERS,
    "norms": tables.NORMS,
    "again": tables.AGAIN,
    "vignettes": tables.VIGNETTES,
    "prompts": tables.PROMPTS,
    "planted": tables.PLANTED,
}


def inputs_of(entry: Entry[Any], results: str) -> dict[str, list[str]]:
    """Return the files that an entry is made from: ``frames``, in the order of ``selected``, and ``also``.

    Vignettes and prompts come in the order of the entry's arms, what was planted in that of ``respondents``.
    """

    def per_pair(folder: str, pairs: Sequence[Pair], suffix: str = "parquet") -> list[str]:
        return [f"{results}/{folder}/{arm}/{model}.{suffix}" for arm, model in pairs]

    options: Any = entry.options
    paths_of: dict[str, Callable[[], list[str]]] = {
        "answers": lambda: per_pair("answers", entry.selected),
        "norms": lambda: per_pair("norms", entry.selected),
        "again": lambda: per_pair("again", entry.selected),
        "vignettes": lambda: [
            f"{results}/vignettes/{entry.factors_of[a].dataset}.parquet" for a in entry.arms
        ],
        "prompts": lambda: [f"{results}/prompts/{arm}.parquet" for arm in entry.arms],
        "planted": lambda: per_pair("planted", entry.respondents),
        "coefficients": lambda: per_pair("planted", entry.respondents, "json"),
        "table": lambda: [f"{results}/tables/{options.table}.parquet"],
        "tables": lambda: [f"{results}/tables/{name}.parquet" for name in options.sources],
        "registry": list,
        "expected": lambda: [options.expected] if options.expected else [],
    }
    kind = entry.declared
    return {"frames": paths_of[kind.reads](), **{name: paths_of[name]() for name in kind.made_from}}


def make(entry: Entry[Any], paths: Mapping[str, Sequence[str]]) -> Any:
    """Return what an entry's kind makes of its files, named as `inputs_of` names them.

    This is where the models of figures and printed tables get their labels: what is drawn knows no other names.
    """
    if entry.labels:
        entry = ENTRIES.validate_python(ENTRIES.dump_python(entry), context=entry.labels)
    return call(entry, read_selected(entry, paths.get("frames", [])), read_further(entry, paths))


def call(entry: Entry[Any], selected: Sequence[Selected], further: Mapping[str, Any]) -> Any:
    """Return what an entry's kind makes of tables, with the flows of answers and norms that ``select`` names."""
    kind = entry.declared
    if select := getattr(entry.options, "select", None):
        vignettes = further["vignettes"]
        flows = {arm: table.loc[has_levels(table, select), "flow"] for arm, table in vignettes.items()}

        def chosen(tables: Sequence[Selected]) -> list[Selected]:
            frames = [table.frame[table.frame["flow"].isin(flows[table.arm])] for table in tables]
            pairs = zip(tables, frames, strict=True)
            return [table._replace(frame=frame.reset_index(drop=True)) for table, frame in pairs]

        per_model = [name for name in kind.also if name in PER_MODEL]
        further = {**further, **{name: chosen(further[name]) for name in per_model}}
        selected = chosen(selected)
    made = kind.function(selected, entry, **{name: further[name] for name in kind.also})
    return kind.arranged(made) if isinstance(made, pd.DataFrame) else made


def read_selected(entry: Entry[Any], paths: Sequence[str]) -> list[Selected]:
    """Read the tables that an entry is made from, ``paths`` in the order of ``entry.selected``.

    A kind that reads a ``table`` has one: that of the analysis it names, whose arms and models are columns. One that
    reads ``tables`` has one for each analysis that it names; one that reads the registry has none.
    """
    reads, options = entry.declared.reads, entry.options
    if reads in PER_MODEL:
        return _read_pairs(reads, entry, paths)
    names = [options.table] if reads == "table" else getattr(options, "sources", ())
    return [
        Selected("", name, relabelled(read_tidy(path), entry.labels))
        for name, path in zip(names, paths, strict=True)
    ]


def read_further(entry: Entry[Any], paths: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Read what the kind takes besides, from the files that `inputs_of` named."""
    further: dict[str, Any] = {}
    for name in entry.declared.made_from:
        if name in PER_MODEL:
            further[name] = _read_pairs(name, entry, paths[name])
        elif name == "expected":
            further[name] = Path(paths[name][0]) if paths[name] else None
        elif name in ("vignettes", "prompts"):
            frames = {path: tables.read(path, _SCHEMAS[name]) for path in dict.fromkeys(paths[name])}
            further[name] = {arm: frames[path] for arm, path in zip(entry.arms, paths[name], strict=True)}
        else:
            schema = _SCHEMAS.get(name)  # coefficients are JSON
            further[name] = {
                pair: tables.read(path, schema) if schema else json.loads(Path(path).read_bytes())
                for pair, path in zip(entry.respondents, paths[name], strict=True)
            }
    return further


def _read_pairs(stage: str, entry: Entry[Any], paths: Sequence[str]) -> list[Selected]:
    frames = [tables.read(path, _SCHEMAS[stage]) for path in paths]
    return [Selected(*pair, frame) for pair, frame in zip(entry.selected, frames, strict=True)]
