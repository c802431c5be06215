"""cinorms' job, vLLM's run-batch, lm-evaluation-harness and Inspect: the same prompts, model and sampling, in turn.

    benchmarks/side_by_side/environments.sh
    .venv-vllm/bin/python benchmarks/side_by_side/compare.py CHECKPOINT --out side-by-side.json

``CHECKPOINT`` is a control model's (`make control` makes results/control/model). See benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
from contenders import FLOWS, HERE, ROOT, Contender, Work, contenders, fresh

#: Seconds between SIGTERM and SIGKILL, as SLURM has them.
KILL_WAIT = 30.0
OURS = "cinorms"


def main() -> None:
    given = arguments()
    adopt_orphans()
    tools = contenders(given.environments.resolve())
    names = given.only or list(tools)
    folder = given.folder.resolve()
    work = Work.write(given.checkpoint.resolve(), folder / "prompts", FLOWS)
    table: dict[str, Any] = {"prompts": work.n, "rounds": [], "kills": {}}
    if given.out.exists():
        table |= json.loads(given.out.read_text())
    for number in range(len(table["rounds"]), len(table["rounds"]) + given.rounds):
        table["rounds"].append({})
        for name in names[number % len(names) :] + names[: number % len(names)]:
            table["rounds"][-1][name] = measure(tools[name], work, folder)
            save(table, given.out)
    for name in names if given.kills else ():
        table["kills"].setdefault(name, {})["SIGTERM"] = kill(tools[name], work, folder, signal.SIGTERM)
        save(table, given.out)
    if given.kills and OURS in names:
        table["kills"][OURS]["SIGKILL"] = kill(tools[OURS], work, folder, signal.SIGKILL)
        save(table, given.out)
    show(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--environments", type=Path, default=ROOT, help="where environments.sh made them")
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build/side-by-side", help="for what the tools write"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", action="store_true", help="also kill every tool half-way and run it again")
    parser.add_argument("--only", nargs="+", help="tools by name")
    parser.add_argument("--out", type=Path, default=HERE / "results.json", help="new rounds are added to it")
    return parser.parse_args()


def adopt_orphans() -> None:
    """Let processes that a tool leaves behind become children of this one: their CPU time counts too."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER


def start(tool: Contender, work: Work, out: Path, saving: bool, witness: Path) -> subprocess.Popen[bytes]:
    """Start a tool, whose engine writes to ``witness`` what it receives."""
    witness.unlink(missing_ok=True)
    variables = {**os.environ, **tool.variables}
    for name in ("VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"):
        variables.pop(name, None)
    places = [
        str(HERE / "witness"),
        variables.get("PYTHONPATH", "") if "PYTHONPATH" in tool.variables else "",
    ]
    variables |= {
        "CINORMS_WITNESS": str(witness),
        "PYTHONPATH": ":".join(filter(None, places)),
        # Every tool finds compiled modules, and none writes into the environment of another.
        "PYTHONPYCACHEPREFIX": str(out.parent / "bytecode"),
    }
    command = tool.command(work, out, saving)
    with (out.parent / f"{tool.name.replace(' ', '-')}.log").open("wb") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=log, env=variables, cwd=out, start_new_session=True
        )


def measure(tool: Contender, work: Work, folder: Path) -> dict[str, Any]:
    """Run a tool from its start to its results on disk; start-up ends when its engine receives the first prompt."""
    out, witness = fresh(folder / "out"), folder / "witness.txt"
    before, started = _cpu_of_children(), time.time()
    process = start(tool, work, out, False, witness)
    while process.poll() is None and not (witness.exists() and witness.stat().st_size):
        time.sleep(0.05)
    cpu_at_first = sum(_cpu(each) for each in _family(process))
    process.wait()
    ended = time.time()
    _end(_family(process))
    cpu = _cpu_of_children() - before
    found = tool.answers(out) if not process.returncode else {}
    if len(found) != work.n:
        sys.exit(f"{tool.name}: {len(found)} of {work.n} answers; its log is in {folder}")
    seen = events(witness)
    first = seen["first"]
    return {
        "load": round(os.getloadavg()[0], 1),
        "startup_seconds": round(first - started, 2),
        "seconds": round(ended - first, 2),
        "startup_cpu_seconds": round(cpu_at_first, 2),
        "cpu_seconds": round(cpu - cpu_at_first, 2),
        "different_prompts": len(set(seen["asked"])),
        "prompts_sha256": hashlib.sha256("".join(sorted(seen["asked"])).encode()).hexdigest()[:16],
        "answers_sha256": hashlib.sha256(json.dumps(sorted(found.items())).encode()).hexdigest()[:16],
        "answers": dict(Counter(found.values()).most_common(8)),
    }


def _family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return a tool's processes, those that it has left behind among them."""
    return psutil.Process().children(recursive=True)


def _cpu(process: psutil.Process) -> float:
    with contextlib.suppress(psutil.Error):
        used = process.cpu_times()
        return float(used.user + used.system + used.children_user + used.children_system)
    return 0.0


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end(processes: list[psutil.Process]) -> None:
    """End what a tool has left behind, and reap it."""
    for each in processes:
        with contextlib.suppress(psutil.Error):
            each.kill()
    psutil.wait_procs(processes, timeout=10)


def kill(tool: Contender, work: Work, folder: Path, by: signal.Signals) -> dict[str, Any]:
    """Kill a tool when half of the prompts are answered, run it again, and count what its engine received."""
    out, witness = fresh(folder / "out"), folder / "witness.txt"
    process = start(tool, work, out, True, witness)
    while len(events(witness)["answered"]) < work.n / 2:
        if process.poll() is not None:
            sys.exit(f"{tool.name} ended before half of the prompts were answered; its log is in {folder}")
        time.sleep(0.05)
    family = _family(process)
    os.killpg(process.pid, by)
    if by == signal.SIGTERM:
        psutil.wait_procs(family, timeout=KILL_WAIT)
    _end(family)
    process.wait()
    before = events(witness)
    process = start(tool, work, out, True, witness)
    code = process.wait()
    _end(_family(process))
    after = events(witness)
    complete = not code and len(tool.answers(out)) == work.n
    answered = set(before["answered"])
    again = answered & set(after["asked"])
    return {
        "prompts": work.n,
        "answered_before": len(answered),
        "asked_after": len(after["asked"]),
        "answered_and_asked_again": len(again),
        "share_of_answered_asked_again": round(len(again) / len(answered), 3),
        "complete_in_the_end": complete,
    }


def events(path: Path) -> dict[str, Any]:
    """Return what a witness wrote, by kind; a last line that is not whole is left out."""
    found: dict[str, Any] = {"asked": [], "answered": [], "first": None}
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    for line in lines:
        if line.endswith("\n"):
            kind, name, moment = line.split()
            found[kind].append(name)
            found["first"] = found["first"] or float(moment)
    return found


def save(table: dict[str, Any], path: Path) -> None:
    table["summary"] = summary(table)
    path.write_text(json.dumps(table, indent=1) + "\n")


def summary(table: dict[str, Any]) -> dict[str, Any]:
    """Return the medians of each tool, and the ratios to cinorms' in the same round."""
    found: dict[str, Any] = {}
    for name in sorted({name for each in table["rounds"] for name in each}):
        rounds = [each[name] for each in table["rounds"] if name in each]
        pairs = [(each[OURS], each[name]) for each in table["rounds"] if name in each and OURS in each]
        found[name] = {
            "rounds": len(rounds),
            "startup_seconds": _median(r["startup_seconds"] for r in rounds),
            "prompts_per_second": _median(table["prompts"] / r["seconds"] for r in rounds),
            "cpu_seconds_per_1000_prompts": _median(
                1000 * r["cpu_seconds"] / table["prompts"] for r in rounds
            ),
            "its_seconds_over_cinorms": _median(its["seconds"] / ours["seconds"] for ours, its in pairs),
            "its_cpu_seconds_over_cinorms": _median(
                its["cpu_seconds"] / ours["cpu_seconds"] for ours, its in pairs
            ),
            "its_startup_over_cinorms": _median(
                its["startup_seconds"] / ours["startup_seconds"] for ours, its in pairs
            ),
            "same_prompts": {its["prompts_sha256"] for _, its in pairs}
            == {ours["prompts_sha256"] for ours, _ in pairs},
            "same_answers": {its["answers_sha256"] for _, its in pairs}
            == {ours["answers_sha256"] for ours, _ in pairs},
        }
    return found


def _median(values: Any) -> float | None:
    listed = list(values)
    return round(statistics.median(listed), 2) if listed else None


def show(table: dict[str, Any]) -> None:
    """Print the table for people."""
    print(
        f"{'':24}{'start-up':>10}{'prompts/s':>11}{'time':>9}{'CPU':>9}{'asked again':>13}   (time, CPU: cinorms = 1)"
    )
    for name, row in table["summary"].items():
        kills = table["kills"].get(name, {})
        again = ", ".join(f"{each['share_of_answered_asked_again']:.0%}" for each in kills.values())
        print(
            f"{name:24}{row['startup_seconds']:>8.1f} s{row['prompts_per_second']:>11.1f}"
            f"{row['its_seconds_over_cinorms'] or 0:>9.2f}{row['its_cpu_seconds_over_cinorms'] or 0:>9.2f}{again:>13}"
        )


if __name__ == "__main__":
    main()
