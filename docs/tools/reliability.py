"""Write the figures that tests measured last into docs/reliability.md: ``make test-faults soak reliability``.

``python docs/tools/reliability.py FILE...`` reads pytest's JUnit files and what ``make soak`` wrote. A figure is a
property that a test recorded (``record_property``); the first of a test is the size of its run. Figures of tests that
the files do not have, or have from a smaller run, stay as they are in ``measured.json``. Each is shown with the promise
that names its test.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"
MEASURED = Path(__file__).with_name("measured.json")
#: The first line of a table whose last column is written here.
HEADER = "| promise | tested by | last measured |"

Measured = dict[str, dict[str, str]]


def figures_in(path: Path) -> Measured:
    """Return what the passed tests in a JUnit file, or a soak, recorded, by test, and when."""
    found: Measured = {}
    if path.suffix == ".json":
        found = json.loads(path.read_bytes())
    else:
        for case in ElementTree.parse(path).iter("testcase"):
            figures = {item.get("name", ""): item.get("value", "") for item in case.iter("property")}
            if figures and case.find("failure") is None and case.find("error") is None:
                found[f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"] = figures
    on = datetime.date.fromtimestamp(path.stat().st_mtime).isoformat()
    return {test: {**figures, "on": on} for test, figures in found.items()}


def merged(before: Measured, found: Measured) -> Measured:
    """Return the figures of both; of one test, those of the larger run, and of two alike, the new ones."""

    def size(figures: dict[str, str]) -> int:
        first = next(iter(figures.values()))
        return int(first) if first.isdigit() else 0

    new = {
        test: figures for test, figures in found.items() if size(figures) >= size(before.get(test, {"": ""}))
    }
    return dict(sorted((before | new).items()))


def with_figures(page: str, measured: Measured) -> str:
    """Return the page with the last column of its tables of promises filled."""
    named, lines, inside = set(re.findall(r"`([^`\n]+::[^`\n]+)`", page)), [], False
    for line in page.splitlines():
        cells = re.split(r"(?<!\\)\|", line)
        inside = line == HEADER or (inside and len(cells) == 5)
        if inside and line != HEADER and not line.startswith("|---"):
            tests = set(re.findall(r"`([^`]+)`", cells[2]))
            shown = [_shown(test, found) for test, found in measured.items() if _is_of(test, tests, named)]
            line = "|".join([*cells[:3], f" {'; '.join(shown)} " if shown else " ", ""])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _is_of(test: str, tests: set[str], named: set[str]) -> bool:
    """Tell whether a row with ``tests`` promises what ``test`` measures: it names it, or its file if no row does."""
    file, _, name = test.partition("::")
    whole = test.partition("[")[0]
    return bool(tests & {whole, name}) or (file in tests and whole not in named)


def _shown(test: str, figures: dict[str, str]) -> str:
    case = test.partition("[")[2].removesuffix("]")
    values = ", ".join(
        f"{name} {int(value):,}" if value.isdigit() else f"{name} {value}" for name, value in figures.items()
    )
    return f"{case}: {values}" if case else values


def main(files: list[str]) -> None:
    """Update the figures and the page."""
    measured: Measured = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    for name in files:
        measured = merged(measured, figures_in(Path(name)))
    MEASURED.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
