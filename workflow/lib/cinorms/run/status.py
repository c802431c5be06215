"""``python -m cinorms.run.status --configfile FILE``: what is done, running and missing in a study, and its cost.

Everything is read from files next to the responses: it works in any shell that sees them, during a run and after it.
``--watch`` shows it again every few seconds.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cinorms.core.errors import EngineError
from cinorms.core.logs import command
from cinorms.inference.job_state import FOLDER, AskingState, read_state
from cinorms.inference.store import known_sum
from cinorms.report.closing import said_first
from cinorms.run.left import (
    Left,
    asked_request,
    pairs_left,
    response_file,
    store_of,
)
from cinorms.run.progress import is_under_way, progress
from cinorms.run.slurm import Waiting, job_name, waiting_jobs
from cinorms.study.load import parser, read_study
from cinorms.study.plan import dollars
from cinorms.study.requests import arms_of, cap_notes, job_of, shards_of
from cinorms.study.study import Study

#: Seconds between two looks with `--watch`.
WATCH = 5.0


#: Which files Snakemake takes for current it alone knows: after `--touch`, or without its records, also these.
OUTDATED = (
    "its prompts or settings have changed since; a new run asks what is left. If that finds nothing to do "
    "(after `--touch`, say), add `--forceall`: what is in the store is not asked again"
)


class Row(NamedTuple):
    """One model in one arm; a number is None where it is not known: a file is not here yet, or a model has no price."""

    arm: str
    model: str
    state: str
    #: Prompts with a reply in the store, what a running job has received so far among them.
    answered: int
    questions: int | None
    #: Prompts that a run would ask.
    left: int | None
    #: What this study has paid for the model in all arms: dollars, or its jobs' minutes.
    cost: str
    usd: float | None
    note: str


#: Columns of the table, which are the first of a row; those that hold words are to the left.
COLUMNS = Row._fields[:7]
WORDS = ("arm", "model", "state")


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the state of the study that the arguments name."""
    options = parser("status", "Show which parts of a study are done.")
    options.add_argument("--watch", action="store_true", help="show it again every few seconds, until Ctrl+C")
    chosen, _ = options.parse_known_args(arguments)
    study = read_study(chosen)
    while True:
        rows, silent = rows_of(study, time.time(), {}), ""
        # Of a study that is done no job waits.
        if any(row.state != "done" for row in rows):
            try:
                rows = rows_of(study, time.time(), waiting_jobs(study.name, os.environ, Path.cwd()))
            except EngineError as failure:
                silent = str(failure)
        text = as_text(study, rows, silent)
        print("\033[2J\033[H" * chosen.watch + text, flush=True)  # clear the terminal, and begin at its top
        if not chosen.watch:
            return 0
        time.sleep(WATCH)


def rows_of(study: Study, now: float, queue: Mapping[str, Waiting]) -> list[Row]:
    """Return one row per model and arm that is asked; ``queue`` are the jobs that wait to ask."""
    costs = cache(lambda job: _costs(study, job))
    rows = []
    for (arm, model), left in pairs_left(study):
        job, is_planted = job_of(study, model), study.registry_entry(model).planted
        shards = [] if is_planted else shards_of(study, job)
        states = [found for shard in shards if (found := read_state(study.results / FOLDER, job, shard))]
        names = [job_name(arm, model)] if is_planted else [job_name(job, shard) for shard in shards]
        waiting = [queue[name] for name in names if name in queue]
        state, note = _state(study, (arm, model), left, states, len(shards), waiting, now)
        answered, questions, to_ask = (left.questions - left.left, *left[:2]) if left else (0, None, None)
        cost, usd = ("$0", 0.0) if is_planted else costs(job)
        rows.append(Row(arm, model, state, answered, questions, to_ask, cost, usd, note))
    return rows


def as_text(study: Study, rows: Sequence[Row], problem: str = "") -> str:
    """Return the rows as a table for a terminal, followed by notes, problems and the place of the results."""
    if not rows:
        return f"Study {study.name}: no model is asked; its answers come from files."
    cells = [
        ["?" if cell is None else f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row]
        for row in rows
    ]
    columns = []
    for name, *column in zip(COLUMNS, *cells, strict=False):
        width, side = max(map(len, (name, *column))), "<" if name in WORDS else ">"
        columns.append([f"{cell:{side}{width}}" for cell in (name, *column)])
    shown = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    # What is true of a model in several arms is printed once.
    arms: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.note:
            arms.setdefault((row.model, row.note), []).append(row.arm)
    notes = [f"{', '.join(names)} / {model}: {note}" for (model, note), names in arms.items()]
    counts = ", ".join(f"{number} {state}" for state, number in Counter(row.state for row in rows).items())
    # What a model cost is stated with each of its arms.
    usd = sum({row.model: row.usd or 0 for row in rows}.values())
    spent = f"; {dollars(usd)} spent" if usd else ""
    page = study.results / "report" / "index.html"
    last = f"Report  {page}" if page.is_file() else "There is no report yet."
    done = page.is_file() and all(row.state == "done" for row in rows)
    said = ["", *said_first(study, str(study.results)), ""] if done else []
    lines = [
        f"Study {study.name}: {counts}{spent}",
        *shown,
        *notes,
        *cap_notes(study),
        *filter(None, [problem]),
        *said,
        last,
    ]
    return "\n".join(lines)


def _state(
    study: Study,
    pair: tuple[str, str],
    found: Left | None,
    jobs: Sequence[AskingState],
    n_shards: int,
    waiting: Sequence[Waiting],
    now: float,
) -> tuple[str, str]:
    """Return the state of a model in an arm in one word, and a note on it."""
    if found and found.is_current and not found.left:
        return "done", ""
    if alive := [state for state in jobs if state.is_alive(now)]:
        return "running", progress(alive, now)
    if waiting:
        return next((job for job in waiting if job.needs_help), waiting[0])
    if found and found.is_current:
        return "done", f"{found.left:,} questions failed for technical reasons; a new run asks them again"
    if failed := [state for state in jobs if state.phase == "failed"]:
        return "failed", failed[-1].trouble
    if found and not found.left:
        return "asked", "its replies are in the store; this run or the next makes its file"
    if found and response_file(study, *pair).exists():
        return "outdated", OUTDATED
    if jobs and is_under_way(study.results / FOLDER, now):
        return "waiting", "the run that is under way asks the rest"
    if len(jobs) in (0, n_shards) and all(state.phase == "done" for state in jobs):
        return "missing", ""
    return "stopped", "run again to ask the rest"


def _costs(study: Study, job: str) -> tuple[str, float | None]:
    """Return what the jobs of a model have cost this study, and the dollars where prices are known."""
    stores = {
        (store := store_of(study, asked_request(study, *pair))).folder: store for pair in arms_of(study, job)
    }
    usd = known_sum(store.usd() for store in stores.values())
    if usd is not None:
        return dollars(usd), usd
    runs = [run for store in stores.values() for run in store.runs()]
    ended = [run for run in runs if run.get("ended") and run.get("study") == study.name]
    if not ended:
        return "-", None
    gpus = max(int(run.get("gpus") or 0) for run in ended)
    seconds = sum(_seconds(run) for run in ended) * max(1, gpus)
    return f"{seconds / 60:,.{int(seconds < 600)}f} {'GPU-min' if gpus else 'min'}", None


def _seconds(run: Mapping[str, str]) -> float:
    started, ended = (datetime.fromisoformat(run[name]) for name in ("started", "ended"))
    return (ended - started).total_seconds()


if __name__ == "__main__":
    sys.exit(main())
