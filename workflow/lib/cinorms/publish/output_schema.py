"""The columns of every file of a study as one versioned promise: what later versions may not take away.

``python -m cinorms.publish.output_schema FILE`` writes the schema of this version. ``--words FILE`` only brings the
sentences of an earlier one up to date, where a column was described anew and holds what it held.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cinorms.core.csv_tables import CSV_TABLES
from cinorms.core.logs import command
from cinorms.core.scales import PAPERS, papers_scale
from cinorms.core.tables import COUNT, STAGES
from cinorms.entries.kind import SECTIONS, kinds

#: Raise it by hand when a column disappears or no longer holds what it held; say so in CHANGELOG.md with the words
#: "Output schema N".
OUTPUT_SCHEMA = 2

#: A file, its key, and each column with its type and what it holds.
Files = Mapping[str, Any]


def output_schema() -> dict[str, Any]:
    """Return the schema of this version: its number, and every file with its key and columns."""
    return {"output_schema": OUTPUT_SCHEMA, "files": dict(_files())}


def _files() -> Iterator[tuple[str, dict[str, Any]]]:
    for contract in STAGES:
        columns = {
            name: {"type": str(contract.columns.get(name, COUNT)), "about": about}
            for name, about in contract.described(papers_scale(PAPERS[0]).levels).items()
        }
        yield contract.name, {"key": list(contract.key), "columns": columns}
    for table in CSV_TABLES:
        columns = {name: {"type": "csv", "about": about} for name, about in table.about.items()}
        yield f"csv/{table.name}", {"key": list(table.key), "columns": columns}
    for section in SECTIONS:
        for kind in kinds(section).values():
            columns = {name: {"type": "csv", "about": about} for name, about in kind.columns.items()}
            yield f"{section}/{kind.name}", {"key": list(kind.key), "columns": columns}


def broken(promised: Files, now: Files) -> list[str]:
    """Return what of the files ``promised`` is gone or different in the files ``now``; new columns break nothing."""
    found = []
    for file, was in promised.items():
        if file not in now:
            found.append(f"{file}: the file is gone")
            continue
        if was["key"] != now[file]["key"]:
            found.append(f"{file}: its key was {was['key']}, it is {now[file]['key']}")
        columns = now[file]["columns"]
        for name, column in was["columns"].items():
            if name not in columns:
                found.append(f"{file}: column '{name}' is gone")
            elif column["type"] != columns[name]["type"]:
                found.append(f"{file}: column '{name}' was {column['type']}, it is {columns[name]['type']}")
            elif column["about"] != columns[name]["about"]:
                found.append(
                    f"{file}: column '{name}' held {column['about']!r}, it holds {columns[name]['about']!r}"
                )
    return found


def in_new_words(promised: dict[str, Any], now: Files) -> dict[str, Any]:
    """Return an earlier schema with the sentences of now; files, columns, types and its number stay as they were."""
    files = json.loads(json.dumps(promised["files"]))
    for file, was in files.items():
        for name, column in was["columns"].items():
            described = now.get(file, {}).get("columns", {}).get(name)
            if described:
                column["about"] = described["about"]
    return {**promised, "files": files}


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Write the schema, or bring the sentences of one up to date."""
    parser = argparse.ArgumentParser(prog="cinorms.publish.output_schema")
    parser.add_argument(
        "--words", action="store_true", help="only the sentences of columns that are in the file"
    )
    parser.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    schema = output_schema()
    if given.words:
        earlier = json.loads(given.file.read_text(encoding="utf-8"))
        schema = in_new_words(earlier, schema["files"])
    given.file.write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
