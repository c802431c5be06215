"""The reference, written from the declarations: ``python -m cinorms.study.reference DOCS`` (``make reference``).

``DOCS/reference`` gets a page per section of a study with every kind, its keys and its columns, and the JSON schema
of study files for editors.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.validation import TYPES, bounds
from cinorms.entries.kind import Kind
from cinorms.entries.registry import SECTIONS, kinds

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


def main(arguments: Sequence[str]) -> None:
    """Write the reference into the folder that the arguments name."""
    folder = Path(arguments[0]) / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the text of each file of the reference by its name."""
    found = {f"{section}.md": page(section) for section in SECTIONS}
    return found | {"entries.schema.json": json.dumps(entries_schema(), indent=1, ensure_ascii=False) + "\n"}


def page(section: str) -> str:
    """Return the page of a section: each kind with its keys and its columns."""
    parts = [f"# {TITLES[section]}", _NOTE, INTRODUCTIONS[section], _contents(kinds(section).values())]
    for kind in kinds(section).values():
        parts += [f"## {kind.name}", kind.about, _keys(kind.schema)]
        if kind.columns:
            parts.append(_rows(("column", "what it holds"), ((f"`{c.name}`", c.about) for c in kind.columns)))
    return "\n\n".join(parts) + "\n"


def entries_schema() -> dict[str, Any]:
    """Return the JSON schema of the entries of a study file, for editors."""
    one_of = {s: {"oneOf": [kind.schema for kind in kinds(s).values()]} for s in SECTIONS}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The analyses, figures and printed tables of a study",
        "type": "object",
        "properties": {
            section: {"type": "object", "additionalProperties": schema} for section, schema in one_of.items()
        },
    }


def _contents(found: Iterable[Kind]) -> str:
    return _rows(("kind", "what it makes"), ((f"[{kind.name}](#{kind.name})", kind.about) for kind in found))


def _keys(schema: Mapping[str, Any]) -> str:
    needed = schema["required"]
    rows = [
        (
            f"`{name}`",
            type_words(field),
            "required" if name in needed else default_words(field),
            field.get("description", ""),
        )
        for name, field in schema["properties"].items()
        if name != "kind"
    ]
    return _rows(("key", "value", "default", "what it does"), rows)


def type_words(field: Mapping[str, Any]) -> str:
    """Return in words what a key can be."""
    if "anyOf" in field:
        return " or ".join(type_words(way) for way in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    types = [field["type"]] if isinstance(field["type"], str) else field["type"]
    words = " or ".join(TYPES[name] for name in types)
    limits = bounds(field)
    return f"{words} ({limits})" if limits else words


def default_words(field: Mapping[str, Any]) -> str:
    """Return the default of a key as a cell; empty where leaving it out has a meaning of its own."""
    value = field.get("default")
    if value is None or value == "":
        return ""
    return f"`{json.dumps(value)}`" if isinstance(value, list | dict) else f"`{value}`"


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
