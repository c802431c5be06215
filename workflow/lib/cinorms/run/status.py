"""``python -m cinorms.run.status --configfile FILE``: what is done, running and missing in a study, and its cost.

Everything is read from files next to the responses: it works in any shell that sees them, during a run and after it.
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
from cinorms.inference.job_state import AskingState, read_state
from cinorms.inference.journal import Journal
from cinorms.inference.spending import spent_in
from cinorms.run.case import Left, asked_spec, response_file, responses_folder, shards_left
from cinorms.run.progress import (
    Queued,
    dollars,
    duration,
    is_under_way,
    name_of,
    pace_of,
    progress,
    trouble,
    waiting_jobs,
)
from cinorms.study.load import parser, read_study
from cinorms.study.spec import all_shards_of, journal_of, spending_folder
from cinorms.study.study import Study

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
    given, _ = parser("status", "Show which parts of a study are done.").parse_known_args(arguments)
    study = read_study(given)
    queue, silent = {}, ""
    try:
        queue = waiting_jobs(study.name, os.environ, Path.cwd())
    except EngineError as failure:
        silent = str(failure)
    print(as_text(study, rows_of(study, time.time(), queue), silent))
    return 0


def rows_of(study: Study, now: float, queue: Mapping[str, Queued] | None = None) -> list[Row]:
    """Return one row per model and arm that is asked; ``queue`` are the jobs that wait to ask."""
    return [_row(study, *pair, shards, now, queue or {}) for pair, shards in shards_left(study)]


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
    usd = [row.usd for row in rows if row.usd]
    spent = f"; {dollars(sum(usd))} spent" if usd else ""
    try:
        cap = spent_in(Path(spending_folder(str(responses_folder(study)))))
        taken = f", {dollars(cap)} of max_cost_usd taken" if cap is not None else ""
    except EngineError as damage:
        taken, notes = "", [*notes, str(damage)]
    page = Path("results", study.name, "report", "index.html")
    last = f"Report  {page}" if page.is_file() else "There is no report yet."
    return "\n".join([f"Study {study.name}: {counts}{spent}{taken}", *shown, *notes, last])


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
    study: Study,
    arm: str,
    model: str,
    shards: Mapping[str, Left] | None,
    now: float,
    queue: Mapping[str, Queued],
) -> Row:
    responses = responses_folder(study)
    states = {shard: read_state(responses, arm, model, shard) for shard in all_shards_of(study, arm, model)}
    alive = {shard: state for shard, state in states.items() if state and state.is_alive(now)}
    # What a running job has received and not journalled would be asked again: it does not count.
    answered = sum(shard.answered for shard in (shards or {}).values())
    questions = left = None
    if shards is not None:
        questions = sum(shard.questions for shard in shards.values())
        left = sum(shard.left for shard in shards.values())
    state, note = _state(study, arm, model, states, shards or {}, left, now)
    waiting = [queue[name] for shard in states if (name := name_of(arm, model, shard)) in queue]
    if waiting and state not in ("running", "done"):
        first = next((job for job in waiting if job.needs_help), waiting[0])
        state, note = first.state, first.note
    elif state == "stopped" and is_under_way(responses, now):
        state, note = "waiting", "the run that is under way asks the rest"
    pace = pace_of(list(alive.values()))
    kind = study.registry_entry(model).kind
    spec = asked_spec(study, arm, model, "1-of-1")
    journal = Journal.of(journal_of(study, arm, model, str(responses)), spec) if kind.journalled else None
    # A job's spending is in its state at once, in its journal a little later.
    spent = [state.usd for state in alive.values()] + ([journal.usd()] if journal else [])
    minutes, gpus = _minutes(journal) if journal else (None, 0)
    return Row(
        arm,
        model,
        state,
        answered,
        questions,
        left,
        duration(left / pace) if pace and left is not None else "",
        0.0 if kind.planted else max((usd for usd in spent if usd is not None), default=None),
        minutes,
        gpus,
        note,
    )


def _state(
    study: Study,
    arm: str,
    model: str,
    states: Mapping[str, AskingState | None],
    shards: Mapping[str, Left],
    left: int | None,
    now: float,
) -> tuple[str, str]:
    """Return the state of a model in an arm in one word, and a note on it."""
    alive = [state for state in states.values() if state and state.is_alive(now)]
    if alive:
        return "running", trouble(alive, now) or (progress(alive, now) if any(s.doing for s in alive) else "")
    done = {shard for shard, each in shards.items() if each.is_current}
    if done and len(done) == len(shards):
        return "done", ""
    others = [state for shard, state in states.items() if state and shard not in done]
    failed = [state for state in others if state.phase == "failed"]
    if failed:
        return "failed", failed[-1].trouble
    if left == 0:
        return "asked", "its replies are in the journal; this run or the next makes its file"
    if left and any(response_file(study, arm, model, shard).exists() for shard in set(shards) - done):
        return "outdated", "its prompts or settings have changed since; a new run asks what is left"
    # A killed job could not record that it stopped.
    if done or any(state.phase != "done" for state in others):
        return "stopped", "run again to ask the rest"
    return "missing", ""


def _minutes(journal: Journal) -> tuple[float | None, int]:
    """Return how long the jobs of a journal took together, and on how many GPUs."""
    ended = [run for run in journal.runs() if run.get("ended")]
    if not ended:
        return None, 0
    seconds = sum(
        (datetime.fromisoformat(run["ended"]) - datetime.fromisoformat(run["started"])).total_seconds()
        for run in ended
    )
    return seconds / 60, max(int(run.get("gpus") or 0) for run in ended)


def _cost(row: Row) -> str:
    if row.usd is not None:
        return dollars(row.usd)
    if row.minutes is None:
        return "-"
    amount = row.minutes * max(1, row.gpus)
    return f"{amount:,.{int(amount < 10)}f} {'GPU-min' if row.gpus else 'min'}"


if __name__ == "__main__":
    sys.exit(main())
