"""``python -m cinorms.run.status --configfile FILE``: what is done, running and missing in a study, and its cost.

Everything is read from files next to the responses: it works in any shell that sees them, during a run and after it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cinorms.core import tables
from cinorms.core.logs import command
from cinorms.inference.job_state import State, read_state
from cinorms.inference.journal import Journal
from cinorms.inference.spec import Spec
from cinorms.inference.spending import spent_in
from cinorms.prompts.variants import select_flows
from cinorms.run.checks.case import is_asked_as, response_file, responses_folder
from cinorms.run.study_file import parser, read_study
from cinorms.run.words import dollars, duration, progress, trouble
from cinorms.study.spec import all_shards_of, journal_of, make_spec, spending_folder
from cinorms.study.study import Study
from cinorms.vignettes.designs import expand

#: Columns of the table, as they are shown.
COLUMNS = ("arm", "model", "state", "answered", "questions", "left", "cost")


@dataclass(frozen=True)
class Row:
    """One model in one arm. ``questions`` is None while the number depends on a file that has not been read."""

    arm: str
    model: str
    state: str
    answered: int
    questions: int | None
    left: str
    usd: float | None
    minutes: float | None
    gpus: int
    note: str


@command()
def main(arguments: Sequence[str] | None = None) -> int:
    """Print the state of the study that the arguments name."""
    given, _ = parser("status", "Show which parts of a study are done.").parse_known_args(arguments)
    study = read_study(given)
    print(as_text(study, rows_of(study, time.time())))
    return 0


def rows_of(study: Study, now: float) -> list[Row]:
    """Return one row per model and arm that is asked."""
    return [_row(study, arm, model, now) for arm in study.arms_from("model") for model in study.models(arm)]


def as_text(study: Study, rows: Sequence[Row]) -> str:
    """Return the rows as a table for a terminal, followed by problems and the place of the results."""
    if not rows:
        return f"Study {study.name}: no model is asked; its answers come from files."
    cells = [
        [
            row.arm,
            row.model,
            row.state,
            f"{row.answered:,}",
            "?" if row.questions is None else f"{row.questions:,}",
            row.left,
            _cost(row),
        ]
        for row in rows
    ]
    shown = _aligned([[*COLUMNS], *cells])
    notes = [f"{row.arm} / {row.model}: {row.note}" for row in rows if row.note]
    states = {
        state: sum(row.state == state for row in rows) for state in dict.fromkeys(row.state for row in rows)
    }
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    usd = [row.usd for row in rows if row.usd]
    cap = spent_in(Path(spending_folder(str(responses_folder(study)))))
    spent = f"; {dollars(sum(usd))} spent" if usd else ""
    taken = f", {dollars(cap)} of max_cost_usd taken" if cap is not None else ""
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


def _row(study: Study, arm: str, model: str, now: float) -> Row:
    shards, responses = all_shards_of(study, arm, model), responses_folder(study)
    spec = _spec(study, arm, model)
    kind = study.registry_entry(model).kind
    journal = Journal.of(journal_of(study, arm, model, str(responses)), spec) if kind.journalled else None
    files = {shard: response_file(study, arm, model, shard) for shard in shards}
    states = {shard: read_state(responses, arm, model, shard) for shard in shards}
    alive = [state for state in states.values() if state and state.is_alive(now)]
    done = {shard: _n_rows(path) for shard, path in files.items() if path.is_file()}
    finished = sum(done.values())
    questions = _n_questions(study, arm, model)
    if questions is None and len(done) == len(shards):
        questions = finished
    # Of a job that ended early: what it found in the journal counts too, although other jobs have kept it.
    begun = sum(state.answered for shard, state in states.items() if state and shard not in done)
    answered = max(finished + begun, journal.n_kept() if journal else 0)
    answered = answered if questions is None else min(answered, questions)
    state, note = _state(states, alive, done, answered, now)
    if state == "done" and not all(is_asked_as(path, spec) for path in files.values()):
        state, note = "outdated", "asked with other settings; a new run asks what changed"
    left = sum(each.rate or 0.0 for each in alive)
    # A job's spending is in its state at once, in its journal a little later.
    known = [usd for usd in (journal.usd() if journal else None, *[s.usd for s in alive]) if usd is not None]
    minutes, gpus = _minutes(journal) if journal else (None, 0)
    return Row(
        arm,
        model,
        state,
        answered,
        questions,
        duration((questions - answered) / left) if left and questions else "",
        0.0 if kind.planted else max(known, default=None),
        minutes,
        gpus,
        note,
    )


def _state(
    states: dict[str, State | None], alive: Sequence[State], made: Container[str], answered: int, now: float
) -> tuple[str, str]:
    """Return the state of a model in an arm in one word, and a note on it; ``made`` are the shards with a file."""
    if alive:
        return "running", trouble(alive, now) or (progress(alive, now) if any(s.doing for s in alive) else "")
    if all(shard in made for shard in states):
        return "done", ""
    failed = [state for state in states.values() if state and state.phase == "failed"]
    if failed:
        return "failed", failed[-1].trouble
    if all(state and (state.phase == "done" or shard in made) for shard, state in states.items()):
        return "asked", "its replies are in the journal; this run or the next makes its file"
    # A killed job could not record that it stopped.
    if any(state and state.phase != "done" for state in states.values()) or answered:
        return "stopped", "run again to ask the rest"
    return "missing", ""


def _spec(study: Study, arm: str, model: str) -> Spec:
    """Return the settings with which a model is asked in an arm, with the fetched checkpoint, if any."""
    spec = make_spec(study, arm, model, "1-of-1")
    record = Path("results", study.name, "checkpoints", f"{model}.json")
    if study.registry_entry(model).kind.checkpoint and record.is_file():
        spec = spec.with_identity(revision=json.loads(record.read_bytes())["revision"])
    return spec


def _n_rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


def _n_questions(study: Study, arm: str, model: str) -> int | None:
    """Return how many questions a model is asked in an arm; None if that depends on a file that is not here yet."""
    settings = study.arms[arm]
    path = Path("results", study.name, "vignettes", f"{settings.dataset}.parquet")
    dataset = study.dataset(settings.dataset)
    if path.is_file():
        flows = tables.read(path, tables.VIGNETTES)
    elif dataset.source == "design" and dataset.design is not None:
        flows = expand(dataset.design, study.null_principle(settings.dataset))
    else:
        return None
    selected = select_flows(flows, settings.plain()["select"])
    return len(selected) * study.templates(arm, model) * settings.orders.count * settings.repeat


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
