"""Runs the rows of docs/artifact.md in a fresh clone of this repository: ``python -m tests.artifact_rows``.

The column CI of the page describes what is run of each row. A row's counts ("25 of 26", "1,788,264") must be in what
its command prints.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Row(NamedTuple):
    """A row that names a command: all its cells, the command, and the cell in the column CI."""

    text: str
    command: str
    ci: str


def rows(page: str) -> Iterator[Row]:
    """Yield the rows of tables with the columns `command` and `CI`."""
    columns: list[str] = []
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")] if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif "command" in columns and not set(line) <= set("|-"):
            found = re.match(r"`([^`]+)`", cells[columns.index("command")])
            if found is None or len(cells) != len(columns) or columns[-1] != "CI":
                raise SystemExit(f"docs/artifact.md: a row without a command or its CI: {line}")
            yield Row(line, found[1], cells[-1])


def counts(text: str) -> list[str]:
    """Return what counts of a row can look like in the output of its command."""
    ratios = [rf"\b{a}(?: of |/){b}\b" for a, b in re.findall(r"\b(\d+) of (\d+)\b", text)]
    return ratios + [rf"(?<![\d,]){number}(?![\d,])" for number in re.findall(r"\b\d+(?:,\d{3})+\b", text)]


@cache
def run(command: str, clone: Path) -> tuple[int, str]:
    """Run a command; return its exit code and what it prints."""
    begun = time.monotonic()
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    print(f"{time.monotonic() - begun:5.0f} s  exit {done.returncode}  {command}", flush=True)
    return done.returncode, done.stdout


def check(row: Row, command: str, clone: Path) -> str:
    """Return what is wrong with a row, or nothing."""
    code, printed = run(command, clone)
    if code:
        return f"{command}: exit code {code}\n{printed[-2000:]}"
    missing = [count for count in counts(row.text) if not re.search(count, printed)]
    return f"{command}: prints no {missing}, which its row states" if missing else ""


def main() -> None:
    """Run every row that is to be run, each command once."""
    wrong, steps = [], (ROOT / ".ci/run").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        if (ROOT / ".venv").exists():  # setting it up again shows nothing new
            (clone / ".venv").symlink_to(ROOT / ".venv")
        for row in rows((clone / "docs/artifact.md").read_text(encoding="utf-8")):
            command = row.command if row.ci == "row" else row.ci.strip("`")
            if row.ci == "step":
                if not re.search(rf"\b{re.escape(row.command)}\b", steps):
                    wrong.append(f"{row.command}: no step of .ci/run has this command")
            elif row.ci.startswith("no: "):
                print(f"not run ({row.ci[4:]}): {row.command}")
            else:
                wrong += filter(None, [check(row, command, clone)])
    sys.exit("\n".join(dict.fromkeys(wrong)) or None)


if __name__ == "__main__":
    main()
