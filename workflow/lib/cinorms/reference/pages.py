"""The pages and schemas of ``docs/reference``.

They are the keys of a study and of the model registry, a page per section of a study with every kind,
its keys and its columns, and the JSON schemas of both files for editors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cinorms.core.schema import schema_of
from cinorms.core.tables import CATEGORY, STAGES
from cinorms.core.validation import load_yaml
from cinorms.entries.kind import Kind
from cinorms.entries.registry import SECTIONS, kinds
from cinorms.inference.engine_kind import engine_kinds
from cinorms.inference.model_entry import entries_schema
from cinorms.inference.settings import EntrySettings
from cinorms.reference.keys import key_rows
from cinorms.reference.markdown import table
from cinorms.study.settings import StudySettings

TITLES = {"analyses": "Analyses", "figures": "Figures", "printed": "Printed tables"}
INTRODUCTIONS = {
    "analyses": "Each entry of a study's `analyses` makes one table, `results/{study}/tables/{name}.csv` (and "
    "`.parquet`, `.tex`). Every table ends with the column `any_planted`: whether any of its respondents is planted "
    "(simulated, with known norms).",
    "figures": "Each entry of a study's `figures` makes one figure, `results/{study}/figures/{name}.pdf` (and `.png`, "
    "`.svg`), its caption (`.txt`) and the numbers it shows (`.csv`).",
    "printed": "Each entry of a study's `printed` sets tables of `analyses` out as the papers print them: "
    "`results/{study}/printed/{name}.csv`, `.tex`, `.html`.",
}
_NOTE = "<!-- Written by `make reference` from the declarations in workflow/lib/cinorms; edit those. -->"


def pages(defaults: Path) -> dict[str, str]:
    """Return the text of each file of the reference by its name; ``defaults`` is config/config.yaml."""
    schemas = {"study.schema.json": study_schema(), "models.schema.json": entries_schema()}
    return {
        "study.md": study_page(load_yaml(defaults)),
        "models.md": models_page(),
        "tables.md": tables_page(),
        **{f"{section}.md": page(section) for section in SECTIONS},
        **{name: json.dumps(schema, indent=1, ensure_ascii=False) + "\n" for name, schema in schemas.items()},
    }


def study_page(defaults: Mapping[str, Any]) -> str:
    """Return the page of the keys of a study file."""
    schema = schema_of(StudySettings)
    about = "Every key of a study file. A study file may leave out any of them: config/config.yaml has the defaults."
    return "\n\n".join(["# Studies", _NOTE, about, _keys(schema, defaults)]) + "\n"


def models_page() -> str:
    """Return the page of the keys of the model registry: those of every engine, and what each adds."""
    about = "Every key of an entry of config/models.yaml."
    common = schema_of(EntrySettings)
    parts = ["# The model registry", _NOTE, about, "## Every engine", _keys(common)]
    for kind in engine_kinds():
        schema = schema_of(kind.settings())
        own = {name: key for name, key in schema["properties"].items() if name not in common["properties"]}
        parts += [f"## {kind.name}", _keys({**schema, "properties": own})]
    return "\n\n".join(parts) + "\n"


def tables_page() -> str:
    """Return the page of the tables that the stages of a study make, and of their columns."""
    about = (
        "The Parquet table that each stage makes, in the order of the stages. The tables of analyses are in "
        "[analyses](analyses.md)."
    )
    parts = ["# Tables of the stages", _NOTE, about]
    for contract in STAGES:
        key = ", ".join(f"`{name}`" for name in contract.key)
        rows = [
            (f"`{name}`", _type_name(kind), contract.about[name]) for name, kind in contract.columns.items()
        ]
        if contract.extra is not None:
            rows.append(("`<factor>`", _type_name(contract.extra), "Level of each factor of the dataset."))
        columns = table(("column", "type", "what it holds"), rows)
        parts += [f"## {contract.name}", f"`{contract.file}`, one row per {key}.", columns]
    return "\n\n".join(parts) + "\n"


def _type_name(kind: pa.DataType) -> str:
    return "text, each value stored once" if kind == CATEGORY else str(kind)


def page(section: str) -> str:
    """Return the page of a section: each kind with its keys and its columns."""
    parts = [f"# {TITLES[section]}", _NOTE, INTRODUCTIONS[section], _contents(kinds(section).values())]
    for kind in kinds(section).values():
        parts += [f"## {kind.name}", kind.about, _keys(kind.schema)]
        if kind.columns:
            parts.append(table(("column", "what it holds"), ((f"`{c.name}`", c.about) for c in kind.columns)))
    return "\n\n".join(parts) + "\n"


def study_schema() -> dict[str, Any]:
    """Return the JSON schema of a study file, for editors: also the entries of each kind are checked."""
    schema = schema_of(StudySettings)
    properties = dict(schema["properties"])
    for section in SECTIONS:
        each = {"oneOf": [kind.schema for kind in kinds(section).values()]}
        properties[section] = {**properties[section], "additionalProperties": each}
    return {**schema, "properties": properties}


def _contents(found: Iterable[Kind]) -> str:
    return table(("kind", "what it makes"), ((f"[{kind.name}](#{kind.name})", kind.about) for kind in found))


def _keys(schema: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    return table(("key", "value", "default", "what it does"), key_rows(schema, defaults))
