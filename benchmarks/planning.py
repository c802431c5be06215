"""How long Snakemake takes to plan a study: the PETS study, and one with ten times its arms, tables and figures.

    python benchmarks/planning.py [repetitions]

Prints the best wall time of `snakemake --version` (Snakemake's own start), of `snakemake -n` for both studies, what
each takes on top of the start, seconds of CPU for the same, and their numbers of jobs. All in one run, for a busy
machine is slow at everything: where seconds of CPU are far below those of the clock, others have the rest.
"""

from __future__ import annotations

import copy
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "config" / "pets2026.yaml"
COPIES = 10
#: Seconds on top of Snakemake's start that planning may take.
GOALS = {"PETS study": 3.0, "ten times that": 10.0}


def ten_times(study: dict[str, Any]) -> dict[str, Any]:
    """Return a study with ten copies of every arm, and of every table and figure that is made from it."""
    large = copy.deepcopy(study)
    for section in ("arms", "analyses", "figures"):
        large[section] = {
            f"{name}-{number}": renamed(entry, number)
            for number in range(COPIES)
            for name, entry in study[section].items()
        }
    return large


def renamed(entry: dict[str, Any], number: int) -> dict[str, Any]:
    """Return an entry that looks at the copies ``number`` of its arms and of its table."""
    changed = dict(entry)
    if "arms" in entry:
        changed["arms"] = [f"{arm}-{number}" for arm in entry["arms"]]
    if "table" in entry:
        changed["table"] = f"{entry['table']}-{number}"
    return changed


def run(*arguments: str) -> tuple[float, float, str]:
    """Return wall time and CPU time of Snakemake with ``arguments``, and what it printed."""
    started, used = time.perf_counter(), cpu_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments], cwd=ROOT, capture_output=True, text=True
    )
    seconds, used = time.perf_counter() - started, cpu_seconds() - used
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return seconds, used, done.stdout


def cpu_seconds() -> float:
    """Return the CPU time of every process started here that has ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder) / "large.yaml"
        study = yaml.safe_load(STUDY.read_text(encoding="utf-8"))
        # The kinds of tables set out as in print name single tables: they stay what they are in the study itself.
        large.write_text(yaml.safe_dump(ten_times({**study, "printed": {}})), encoding="utf-8")
        plan = ("-n", "--quiet", "rules", "--directory", folder, "--configfile")
        calls = {"snakemake --version": ("--version",)}
        calls |= {name: (*plan, str(file)) for name, file in zip(GOALS, (STUDY, large), strict=True)}
        found = {name: [run(*call) for _ in range(repetitions)] for name, call in calls.items()}
    best = {name: [min(run[which] for run in runs) for which in (0, 1)] for name, runs in found.items()}
    start, start_cpu = best["snakemake --version"]
    print(f"{'':20}{'s':>6}{'x start':>9}{'s more':>8}{'CPU s':>7}{'CPU s more':>12}{'goal':>6}{'jobs':>7}")
    for name, (seconds, cpu) in best.items():
        jobs = re.search(r"^total\s+(\d+)", found[name][0][2], re.MULTILINE)
        shown = f"{seconds:6.1f}{seconds / start:9.2f}{seconds - start:8.1f}{cpu:7.1f}{cpu - start_cpu:12.1f}"
        print(f"{name:20}{shown}{GOALS.get(name, ''):>6}{jobs.group(1) if jobs else '':>7}")


if __name__ == "__main__":
    main()
