"""``python -m cinorms.run.status --configfile FILE``: what is done, running and missing in a study, and its cost.

Everything is read from files next to the responses: it works in any shell that sees them, during a run and after it.
``--watch`` shows it again every few seconds.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cinorms.core.errors import EngineError
from cinorms.core.logs import command
from cinorms.inference.job_state import FOLDER, AskingState, read_state
from cinorms.inference.store import Store, known_sum
from cinorms.run.case import (
    Left,
    asked_request,
    pairs_left,
    response_file,
    store_of,
)
from cinorms.run.progress import (
    Queued,
    dollars,
    duration,
    is_under_way,
    name_of,
    progress,
    trouble,
    waiting_jobs,
)
from cinorms.study.load import parser, read_study
from cinorms.study.requests import arms_of, job_of, shards_of
from cinorms.study.study import Study

#: Seconds between two looks with `--watch`.
WATCH = 5.0
#: Columns of the table, as they are shown.
COLUMNS = ("arm", "model", "state", "answered", "questions", "left", "time", "cost")


@dataclass(frozen=True)
class Row:
    """One model in one arm. ``questions`` and ``left`` are None while they depend on a file that is not here yet."""

    arm: str
    model: str
    state: str
    answered: int
    questions: int | None
    #: Prompts that a run would ask.
    left: int | None
    #: How long running jobs still take.
    time: str
    usd: float | None
    minutes: float | None
    gpus: int
    note: str


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the state of the study that the arguments name."""
    options = parser("status", "Show which parts of a study are done.")
    options.add_argument("--watch", action="store_true", help="show it again every few seconds, until Ctrl+C")
    chosen, _ = options.parse_known_args(arguments)
    study = read_study(chosen)
    while True:
        queue, silent = {}, ""
        try:
            queue = waiting_jobs(study.name, os.environ, Path.cwd())
        except EngineError as failure:
            silent = str(failure)
        text = as_text(study, rows_of(study, time.time(), queue), silent)
        print("\033[2J\033[H" * chosen.watch + text, flush=True)  # clear the terminal, and begin at its top
        if not chosen.watch:
            return 0
        time.sleep(WATCH)


def rows_of(study: Study, now: float, queue: Mapping[str, Queued] | None = None) -> list[Row]:
    """Return one row per model and arm that is asked; ``queue`` are the jobs that wait to ask."""
    return [_row(study, *pair, found, now, queue or {}) for pair, found in pairs_left(study)]


def as_text(study: Study, rows: Sequence[Row], problem: str = "") -> str:
    """Return the rows as a table for a terminal, followed by problems and the place of the results."""
    if not rows:
        return f"Study {study.name}: no model is asked; its answers come from files."
    cells = [
        [
            row.arm,
            row.model,
            row.state,
            *("?" if n is None else f"{n:,}" for n in (row.answered, row.questions, row.left)),
            row.time,
            _cost(row),
        ]
        for row in rows
    ]
    shown = _aligned([[*COLUMNS], *cells])
    notes = [f"{row.arm} / {row.model}: {row.note}" for row in rows if row.note]
    notes += [problem] if problem else []
    counts = ", ".join(f"{number} {state}" for state, number in Counter(row.state for row in rows).items())
    # What a model cost is stated with each of its arms.
    usd = {row.model: row.usd for row in rows if row.usd}
    spent = f"; {dollars(sum(usd.values()))} spent" if usd else ""
    page = study.results / "report" / "index.html"
    last = f"Report  {page}" if page.is_file() else "There is no report yet."
    return "\n".join([f"Study {study.name}: {counts}{spent}", *shown, *notes, last])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows of cells as lines: words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if name in ("arm", "model", "state") else ">" for name in COLUMNS]
    return [
        "  ".join(
            f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _row(
    study: Study, arm: str, model: str, found: Left | None, now: float, queue: Mapping[str, Queued]
) -> Row:
    job = job_of(study, model)
    is_planted = study.registry_entry(model).kind.planted
    shards = [] if is_planted else shards_of(study, job)
    states = [read_state(study.results / FOLDER, job, shard) for shard in shards]
    jobs = [state for state in states if state]
    alive = [state for state in jobs if state.is_alive(now)]
    state, note = _state(study, (arm, model), jobs, found, now)
    waiting = [queue[name] for shard in shards if (name := name_of(job, shard)) in queue]
    if waiting and state not in ("running", "done"):
        first = next((each for each in waiting if each.needs_help), waiting[0])
        state, note = first.state, first.note
    elif state == "stopped" and is_under_way(study.results / FOLDER, now):
        state, note = "waiting", "the run that is under way asks the rest"
    rates = [each.rate for each in alive]
    rate = sum(each for each in rates if each) if all(rates) else None
    # A job's time left is that of all its arms.
    left = sum((each.total or 0) - each.answered for each in alive)
    usd, minutes, gpus = (0.0, None, 0) if is_planted else _costs(study, job)
    return Row(
        arm,
        model,
        state,
        # What a running job has received counts: it is in the store.
        found.questions - found.left if found else 0,
        found and found.questions,
        found and found.left,
        duration(left / rate) if rate and state == "running" else "",
        usd,
        minutes,
        gpus,
        note,
    )


def _state(
    study: Study, pair: tuple[str, str], jobs: Sequence[AskingState], found: Left | None, now: float
) -> tuple[str, str]:
    """Return the state of a model in an arm in one word, and a note on it."""
    if found and found.is_current:
        return "done", ""
    alive = [state for state in jobs if state.is_alive(now)]
    if alive:
        return "running", trouble(alive, now) or (progress(alive, now) if any(s.doing for s in alive) else "")
    failed = [state for state in jobs if state.phase == "failed"]
    if failed:
        return "failed", failed[-1].trouble
    if found and not found.left:
        return "asked", "its replies are in the store; this run or the next makes its file"
    if found and response_file(study, *pair).exists():
        return "outdated", "its prompts or settings have changed since; a new run asks what is left"
    # A killed job could not record that it stopped.
    if any(state.phase != "done" for state in jobs):
        return "stopped", "run again to ask the rest"
    return "missing", ""


def _costs(study: Study, job: str) -> tuple[float | None, float | None, int]:
    """Return what the jobs of a model have cost this study: dollars, minutes, and on how many GPUs."""
    stores: dict[Path, Store] = {}
    for pair in arms_of(study, job):
        store = store_of(study, asked_request(study, *pair))
        stores[store.folder] = store
    runs = [run for store in stores.values() for run in store.runs() if run.get("ended")]
    seconds = [_seconds(run) for run in runs if run.get("study") == study.name]
    usd = known_sum(store.usd() for store in stores.values())
    gpus = max((int(run.get("gpus") or 0) for run in runs), default=0)
    return usd, sum(seconds) / 60 if seconds else None, gpus


def _seconds(run: Mapping[str, str]) -> float:
    started, ended = (datetime.fromisoformat(run[name]) for name in ("started", "ended"))
    return (ended - started).total_seconds()


def _cost(row: Row) -> str:
    if row.usd is not None:
        return dollars(row.usd)
    if row.minutes is None:
        return "-"
    amount = row.minutes * max(1, row.gpus)
    return f"{amount:,.{int(amount < 10)}f} {'GPU-min' if row.gpus else 'min'}"


if __name__ == "__main__":
    sys.exit(main())
