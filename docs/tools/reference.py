"""The pages of the reference (`make docs`): ``python docs/tools/reference.py FOLDER``, in the project's folder.

They have the keys of a study and of the model registry, and one per section has every kind, its keys and its columns.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from cinorms.analyses.columns import ANY_PLANTED
from cinorms.core.csv_tables import CSV_TABLES
from cinorms.core.labels import listed
from cinorms.core.schema import in_words, schema_of
from cinorms.core.tables import CATEGORY, COUNT, STAGES
from cinorms.core.yaml_files import load_yaml
from cinorms.entries.kind import SECTIONS, kinds
from cinorms.figures.theme import ENDING
from cinorms.gate.claims import KINDS as CLAIMS
from cinorms.gate.policy import PolicyFile
from cinorms.inference.respondent_kinds import respondent_kind, respondent_names
from cinorms.inference.settings import EntrySettings
from cinorms.study.settings import StudySettings

Row = tuple[str, str, str, str]


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


TITLES = {"analyses": "Analyses", "figures": "Figures", "printed": "Printed tables"}
INTRODUCTIONS = {
    "analyses": "Each entry of a study's `analyses` makes one table, `results/{study}/tables/{name}.csv` (and "
    "`.parquet`). Every table ends with the column `any_planted`: "
    f"{_lower(*ANY_PLANTED.values())} Every study also has a table of kind `flow_norms` of all its arms and models, "
    "`results/{study}/norms.csv` (and `.parquet`).",
    "figures": "Each entry of a study's `figures` makes one figure, `results/{study}/figures/{name}.pdf` (and `.png`, "
    "`.svg`), its caption (`.txt`) and the values it shows (`.csv`). Every such CSV file ends with the columns "
    + " and ".join(f"`{name}`: {_lower(about).removesuffix('.')}" for name, about in ENDING.items())
    + ".",
    "printed": "Each entry of a study's `printed` lays out tables of `analyses` like those in the papers: "
    "`results/{study}/printed/{name}.csv`, `.tex`, `.html`.",
}


def pages(defaults: Path) -> dict[str, str]:
    """Return the text of each page by its name; ``defaults`` is config/config.yaml."""
    study, common = schema_of(StudySettings), schema_of(EntrySettings)
    models = [
        "## The model registry",
        "Every key of an entry of config/models.yaml, whatever its engine:",
        _keys(common),
    ]
    for engine in map(respondent_kind, respondent_names()):
        schema = schema_of(engine.settings)
        own_keys = {
            name: key for name, key in schema["properties"].items() if name not in common["properties"]
        }
        models += [f"### Engine {engine.name}", _keys({**schema, "properties": own_keys})]
    policies = [
        "Every key of a policy, the file with the claims of a [gate](../gate.md).",
        _keys(schema_of(PolicyFile)),
    ]
    for claim in CLAIMS.values():
        policies += [f"## {claim.name}", f"A claim of this kind: {_lower(claim.about)}", _keys(claim.schema)]
    return {
        "study.md": _page(
            "Studies and models",
            "Every key of a study file. A study file may leave out any of them: config/config.yaml has the defaults.",
            _keys(study, load_yaml(defaults)),
            *models,
        ),
        "tables.md": tables_page(),
        "policies.md": _page("Policies", *policies),
        **{f"{section}.md": section_page(section) for section in SECTIONS},
    }


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def tables_page() -> str:
    """Return the page of the tables that every study has: those of its stages, and CSV files for people."""
    about = (
        "The Parquet tables of the stages, in their order, and the CSV files for people. See [analyses](analyses.md) "
        "for the tables of analyses and [figures](figures.md) for the data of figures. Each study describes its own "
        "tables in `results/{study}/dictionary.csv`."
    )
    parts = [about, "## Tables of the stages"]
    for schema in STAGES:
        rows = [(f"`{name}`", _type_name(kind), schema.about[name]) for name, kind in schema.columns.items()]
        if schema.counts:
            after = list(schema.columns).index(schema.counts) + 1
            levels = "Valid answers at each level: `n_m2`, `n_m1`, `n_0`, `n_p1`, `n_p2` for -2 to 2."
            rows.insert(after, ("`n_<level>`", _type_name(COUNT), levels))
        if schema.extra is not None:
            rows.append(("`<factor>`", _type_name(schema.extra), "Level of each factor of the dataset."))
        holds = f"`{schema.file}`: {schema.holds} {_per(schema.key)}"
        parts += [f"### {schema.name}", holds, table(("column", "type", "what it holds"), rows)]
    parts.append("## CSV files for people")
    for file in CSV_TABLES:
        holds = f"`results/{{study}}/{file.file}`: {file.holds} {_per(file.key)}"
        parts += [f"### {file.name}", holds, _columns(file.about.items())]
    return _page("Tables of every study", *parts)


def _per(key: Sequence[str]) -> str:
    return f"One row per {listed([f'`{name}`' for name in key])}."


def _type_name(kind: pa.DataType) -> str:
    return "text, each value stored once" if kind == CATEGORY else str(kind)


def section_page(section: str) -> str:
    """Return the page of a section: a list of its kinds, and for each kind its keys and its columns."""
    contents = ((f"[{kind.name}](#{kind.name})", kind.about) for kind in kinds(section).values())
    parts = [INTRODUCTIONS[section], table(("kind", "what it makes"), contents)]
    for kind in kinds(section).values():
        parts += [f"## {kind.name}", kind.about, _keys(kind.schema)]
        if kind.columns:
            parts.append(f"{'Its data have one' if section == 'figures' else 'One'} {_per(kind.key)[4:]}")
            parts.append(_columns(kind.columns.items()))
    return _page(TITLES[section], *parts)


def _columns(about: Iterable[tuple[str, str]]) -> str:
    return table(("column", "what it holds"), ((f"`{name}`", text) for name, text in about))


def _keys(schema: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> str:
    return table(("key", "value", "default", "what it does"), key_rows(schema, defaults))


# --- Tables of keys: key, value, default, what it does


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def key_rows(schema: Mapping[str, Any], defaults: Any, above: str = "") -> Iterator[Row]:
    """Yield a row for every key, those of nested settings among them; a default is that of ``defaults``, if any."""
    stated = defaults if isinstance(defaults, Mapping) else {}
    for name, field in schema["properties"].items():
        key, default = f"{above}{name}", stated.get(name, field.get("default"))
        if name == "kind":
            continue
        if "properties" in field:
            # A value that a class fills in for itself is not a default of the file.
            inner = default if name in stated else {k: v for k, v in (default or {}).items() if v is not None}
            yield from key_rows(field, inner, f"{key}.")
        else:
            needed = name in schema.get("required", [])
            default_cell = "required" if needed else default_words(default, name in stated)
            yield f"`{key}`", in_words(field, "`"), default_cell, field.get("description", "")
            yield from _named_rows(schema, field, key)


def _named_rows(schema: Mapping[str, Any], field: Mapping[str, Any], key: str) -> Iterable[Row]:
    """Return the rows of the keys that each value of a mapping has; one row where another key has them already."""
    each = field.get("additionalProperties")
    if not isinstance(each, Mapping) or "properties" not in each:
        return []
    keys = each["properties"].keys()
    for same, other in schema["properties"].items():
        if other.get("properties", {}).keys() == keys:
            needed = " and ".join(f"`{name}`" for name in each.get("required", []))
            about = f"{each['description']} Required: {needed}; a key that is left out is that of `{same}`."
            return [(f"`{key}.<name>`", f"a mapping with the keys of `{same}`", "", about)]
    return key_rows(each, None, f"{key}.<name>.")


def default_words(value: Any, stated: bool = False) -> str:
    """Return a default as a cell; empty where leaving the key out has a meaning of its own."""
    if value == "" or (value is None and not stated) or (isinstance(value, dict) and value):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(Path("config/config.yaml")).items():
        (folder / name).write_text(text, encoding="utf-8")
