"""Write the figures that tests measured last into docs/reliability.md: ``make test-faults reliability``.

``python docs/tools/reliability.py FILE...`` reads pytest's JUnit files and what ``make soak`` wrote. A figure is a
property that a test recorded (``record_property``). Figures of tests that the files do not have stay as they are in
``measured.json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reliability.md"
MEASURED = Path(__file__).with_name("measured.json")
BEGIN, END = "<!-- measured: written by docs/tools/reliability.py -->", "<!-- end of measured -->"


def figures_in(path: Path) -> dict[str, dict[str, str]]:
    """Return what the passed tests in a JUnit file recorded, by test."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        figures = {item.get("name", ""): item.get("value", "") for item in case.iter("property")}
        if figures and case.find("failure") is None and case.find("error") is None:
            found[f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"] = figures
    return found


def section(measured: dict[str, dict[str, str]]) -> str:
    """Return the part of the page that shows the figures."""
    rows = []
    for test, figures in sorted(measured.items()):
        file, _, name = test.partition("::")
        what = name.removeprefix("test_").replace("_", " ").replace("[", " (").replace("]", ")")
        shown = ", ".join(f"{name} {_grouped(value)}" for name, value in figures.items())
        rows.append(f"| {what} | {shown} | `{file}` |")
    return "\n".join([BEGIN, "| test | measured | in |", "|---|---|---|", *rows, END])


def _grouped(value: str) -> str:
    return f"{int(value):,}" if value.isdigit() else value


def with_section(page: str, measured: dict[str, dict[str, str]]) -> str:
    """Return the page with its figures replaced."""
    before, _, rest = page.partition(BEGIN)
    return before + section(measured) + rest.partition(END)[2]


def main() -> None:
    """Update the figures and the page."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    for name in sys.argv[1:]:
        path = Path(name)
        measured |= json.loads(path.read_bytes()) if path.suffix == ".json" else figures_in(path)
    MEASURED.write_text(json.dumps(dict(sorted(measured.items())), indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")


if __name__ == "__main__":
    main()
