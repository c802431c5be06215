"""Ask one shard: ``python -m cinorms.ask --spec JSON --vignettes FILE --variants FILE --out FILE ...``.

This is a module and not a Snakemake script: a touched script would ask every model again. It is at the package's root
because its name is part of the command that Snakemake recorded: moving it would run every asking job again.
``--tuning JSON`` holds what changes no response (``study.spec.make_tuning``), ``--checkpoint FILE`` is the record of
``cinorms.inference.checkpoints``. Keys come only from the environment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms import __version__
from cinorms.core import tables
from cinorms.core.logs import start_logging
from cinorms.inference import checkpoints, job_state
from cinorms.inference.collected_replies import CollectedReplies
from cinorms.inference.engine import Engine
from cinorms.inference.engine_kind import engine_kinds, make_engine
from cinorms.inference.journal import Journal
from cinorms.inference.processes import end_with_parent
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec
from cinorms.prompts.orders import as_categorical

#: Packages whose versions a run record states in addition to those of the engines.
PACKAGES = ("pandas", "pyarrow", "numpy")


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask the shard that the arguments describe and write its responses."""
    parser = argparse.ArgumentParser(prog="cinorms.ask")
    for name in ("spec", "vignettes", "variants", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--tuning", default="{}")
    parser.add_argument("--checkpoint")
    given = parser.parse_args(arguments)
    spec, tuning = Spec.from_plain(json.loads(given.spec)), json.loads(given.tuning)
    if given.checkpoint:  # which weights these are is only known after the fetch
        spec = spec.with_identity(revision=json.loads(Path(given.checkpoint).read_bytes())["revision"])
    key = os.environ.get(tuning.get("key_variable") or "")
    secrets = [*([key] if key else []), *checkpoints.tokens()]
    start_logging(given.log, secrets)
    signal.signal(signal.SIGTERM, _stop)
    started = time.monotonic()
    with job_state.followed(Path(given.out), secrets):
        vignettes = tables.read(given.vignettes, tables.VIGNETTES)
        variants = tables.read(given.variants, tables.PROMPTS)
        responses = ask_and_write(spec, tuning, key, vignettes, variants, Path(given.out))
    seconds = time.monotonic() - started
    n = len(responses)
    print(f"{spec.model}: {n:,} responses in {seconds:.1f} s ({n / seconds:,.0f}/s)")


def ask_and_write(
    spec: Spec,
    tuning: Mapping[str, Any],
    key: str | None,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    out: Path,
) -> pd.DataFrame:
    """Ask a shard and write its responses to ``out``; ``tuning`` names the folder of journals, if any."""
    journals = Path(tuning["journal"]) if "journal" in tuning else None
    engine = make_engine(spec, tuning, key, Journal.at(journals, spec).folder if journals else None)
    journal = Journal.open(journals, spec) if journals else None
    return write_shard(spec, vignettes, variants, out, engine, journal)


def write_shard(
    spec: Spec,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    out: Path,
    engine: Engine,
    journal: Journal | None,
) -> pd.DataFrame:
    """Ask a shard with ``engine`` and write its responses to ``out``; hold and fill ``journal`` meanwhile."""
    questions = Questions.of(spec, vignettes, variants)
    places = list(zip(questions.variants["template_no"], questions.variants["order_no"], strict=True))
    with journal.hold([(int(t), int(o)) for t, o in places]) if journal else nullcontext():
        record = journal.start_run(run_facts(spec)) if journal else None
        status, replies = "failed", CollectedReplies(questions)
        try:
            responses = ask_questions(questions, engine, journal, replies)
            tables.write(responses, out, tables.RESPONSES, response_facts(questions))
            status = "done"
        finally:
            if journal and record:
                journal.end_run(record, status, {**engine.facts(), "responses": replies.counts()})
    return responses


def ask_questions(
    questions: Questions, engine: Engine, journal: Journal | None, replies: CollectedReplies
) -> pd.DataFrame:
    """Return the responses to ``questions``: those in the journal, and those of ``engine`` to the others."""
    if journal:
        for other in journal.others:
            print(f"Ignoring a journal made with other settings: {other}")
        replies.take_old(journal.read())
        print(f"{replies.n_answered:,} of {len(questions.grid):,} responses are in the journal.")

    state = job_state.current()
    state.begin(len(questions.grid), replies.n_answered)

    def keep(chunk: pd.DataFrame) -> None:
        part = replies.take(chunk)
        state.at_least(replies.n_answered)
        if journal:
            journal.keep(part)

    todo = questions.missing(replies.answered)
    if len(todo):
        engine.ask(questions, todo, keep)
    grid, table = questions.grid, replies.frame()
    variant = pd.Categorical.from_codes(grid["row"], categories=pd.Index(questions.variants["variant"]))
    order = as_categorical(grid["order_code"].to_numpy())
    return pd.DataFrame({"flow": grid["flow"], "variant": variant, "order": order}).join(table)


def response_facts(questions: Questions) -> dict[str, str]:
    """Return what is kept in the file of responses: spec, version, and the first prompt with its hash.

    Nothing in it differs between two runs: the file is the same even if its job was killed in between.
    """
    spec = questions.spec
    facts = {"spec": json.dumps(spec.as_plain(), sort_keys=True)}
    facts |= {"cinorms": __version__, "engine": spec.engine}
    if not len(questions.grid):
        return facts
    example = json.dumps(questions.chat(0), ensure_ascii=False)
    return {
        **facts,
        "example_prompt": example,
        "example_prompt_sha256": hashlib.sha256(example.encode()).hexdigest(),
    }


def run_facts(spec: Spec) -> dict[str, Any]:
    """Return what a run record states of any engine."""
    versions = {"cinorms": __version__, "python": platform.python_version()}
    for package in (*(name for kind in engine_kinds() for name in kind.packages), *PACKAGES):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    facts = {"engine": spec.engine, "spec": spec.as_plain()}
    return {**facts, "versions": versions, "system": platform.platform()}


def _stop(number: int, frame: object) -> None:
    """Leave on SIGTERM as on an error: every response so far is kept."""
    print("Stopped by SIGTERM; run again to ask what is missing.")
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
elif __name__ == "__mp_main__":  # in a process that vLLM starts for this one
    end_with_parent()
