"""Ask one shard: ``python -m cinorms.ask --spec JSON --vignettes FILE --variants FILE --out FILE ...``.

This is a module and not a Snakemake script: a touched script would ask every model again. It is at the package's root
because its name is part of the command that Snakemake recorded: moving it would run every asking job again.
``--tuning JSON`` holds what changes no response (``study.spec.make_tuning``), ``--checkpoint FILE`` is the record of
``cinorms.inference.checkpoints``. Keys come only from the environment.
"""

import argparse
import hashlib
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd

from cinorms.core import tables
from cinorms.core.ending import ending_in_time
from cinorms.core.errors import ConfigError, JournalError
from cinorms.core.logs import start_logging
from cinorms.core.run_process import end_with_run
from cinorms.core.version import version
from cinorms.inference import checkpoints, job_state
from cinorms.inference.collected_replies import QUESTIONS, CollectedReplies
from cinorms.inference.companions import Companion, is_ready, note_answered, read_companions
from cinorms.inference.engine_kind import Engine, engine_kinds, make_engine
from cinorms.inference.journal import Journal
from cinorms.inference.processes import end_with_parent
from cinorms.inference.questions import Questions
from cinorms.inference.spec import Spec

#: Packages whose versions a run record states in addition to those of the engines.
PACKAGES = ("pandas", "pyarrow", "numpy")
#: Seconds between two looks at what other jobs are asking.
PAUSE = 2.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask the shard that the arguments describe and write its responses."""
    parser = argparse.ArgumentParser(prog="cinorms.ask")
    for name in ("spec", "vignettes", "variants", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--tuning", default="{}")
    parser.add_argument("--checkpoint")
    given = parser.parse_args(arguments)
    tuning = json.loads(given.tuning)
    inputs = given.vignettes, given.variants, given.out, given.checkpoint or ""
    own = Companion(json.loads(given.spec), tuning, *inputs)
    key = os.environ.get(tuning.get("key_variable") or "")
    secrets = [*([key] if key else []), *checkpoints.tokens()]
    start_logging(given.log, secrets)
    signal.signal(signal.SIGTERM, _stop)
    end_with_run()
    started = time.monotonic()
    refused: ConfigError | None = None
    try:
        n = ask_job(own, key, secrets, write=True)
        seconds = time.monotonic() - started
        print(f"{own.spec['model']}: {n:,} responses in {seconds:.1f} s ({n / seconds:,.0f}/s)")
    except ConfigError as mistake:  # in this arm: the others may be right
        refused = mistake
    if "companions" in tuning:
        ask_companions(Path(tuning["companions"]), key, secrets)
    if refused:
        raise refused


def ask_companions(path: Path, key: str | None, secrets: Sequence[str]) -> None:
    """Ask for other jobs of this run what they will look for in the journal, while the engine is loaded.

    What cannot be asked for a companion is left to its own job, which says why.
    """
    companions, since = read_companions(path)
    for companion in companions:
        out = Path(companion.out)
        name = f"{out.parent.parent.name}, {out.stem}"
        if not is_ready(companion, since):
            print(f"Not asked for {name}: its prompts are not made or its checkpoint is not fetched yet.")
            continue
        try:
            n = ask_job(companion, key, secrets, write=False)
        except ConfigError as mistake:
            print(f"Not asked for {name}: {mistake}")
            continue
        except JournalError as trouble:  # its own job may be at work: what this one has to write is written
            print(f"Not asked for {name}, nor for those after it: {trouble}")
            return
        note_answered(path.parent.parent, companion)
        print(f"Asked for {name}: {n:,} responses are in the journal.")


def ask_job(job: Companion, key: str | None, secrets: Sequence[str], write: bool) -> int:
    """Ask what a job asks, ``write`` its responses or only keep them in its journal; return how many there are."""
    with job_state.followed(Path(job.out), secrets):
        # Which weights these are is only known after the fetch.
        known = checkpoints.known(Path(job.checkpoint)) if job.checkpoint else {}
        spec = Spec.from_plain(job.spec).with_identity(**known)
        vignettes = tables.read(job.vignettes, tables.VIGNETTES)
        variants = tables.read(job.variants, tables.PROMPTS)
        journal = Journal.of(job.tuning, spec).begin() if "journal" in job.tuning else None
        assert write or journal, f"{spec.model}: the replies of a companion are kept in its journal alone"
        engine = make_engine(spec, job.tuning, key)
        out = Path(job.out) if write else None
        return len(write_shard(spec, vignettes, variants, out, engine, journal))


def write_shard(
    spec: Spec,
    vignettes: pd.DataFrame,
    variants: pd.DataFrame,
    out: Path | None,
    engine: Engine,
    journal: Journal | None,
) -> pd.DataFrame:
    """Ask a shard with ``engine`` and write its responses to ``out``, if any; hold and fill ``journal`` meanwhile."""
    questions = Questions.of(spec, vignettes, variants)
    replies = CollectedReplies(questions, journal)
    with recorded(engine, replies):
        responses = ask_questions(engine, replies)
        if out:
            tables.write(responses, out, tables.RESPONSES, response_facts(questions))
    return responses


@contextmanager
def recorded(engine: Engine, replies: CollectedReplies) -> Iterator[None]:
    """Hold the questions of a shard in the journal while they are asked, and keep a record of it there."""
    questions, journal = replies.questions, replies.journal
    if journal is None:
        yield
        return
    places = zip(questions.variants["template_no"], questions.variants["order_no"], strict=True)
    with journal.hold([(int(t), int(o)) for t, o in places]):
        record, status = journal.start_run(run_facts(questions.spec)), "failed"
        try:
            yield
            status = "done"
        finally:
            facts = {"responses": replies.counts(), "replies": replies.facts()}
            journal.end_run(record, status, {**engine.facts(), **facts})


def ask_questions(engine: Engine, replies: CollectedReplies) -> pd.DataFrame:
    """Return the responses to the questions of ``replies``: those in the journal, and those of ``engine``."""
    questions, journal = replies.questions, replies.journal
    if journal:
        for other in journal.others:
            print(f"Ignoring a journal made with other settings: {other}")
        replies.recall()
        print(f"{replies.n_answered:,} of {len(questions.grid):,} responses are in the journal.")
    job_state.current().begin(len(questions.grid), replies.n_answered)
    ask_missing(engine, replies)
    return questions.named().join(replies.frame()).reset_index(drop=True)


def ask_missing(engine: Engine, replies: CollectedReplies) -> None:
    """Ask the questions that have no reply in ``replies``, and keep what comes."""
    questions, journal = replies.questions, replies.journal
    while len(todo := questions.missing(replies.answered)):
        if journal is None:
            engine.ask(questions, todo, replies)
            return
        with journal.claims.claim(questions.prompts[todo]) as own:
            if own.any():
                engine.ask(questions, todo[own], replies)
        if own.all():
            return
        # Until no other job asks any of the rest: what it was told is then in the journal.
        others = todo[~own]
        print(f"Another job asks {len(others):,} of the same prompts: waiting for its replies.")
        job_state.current().note(doing="waiting for replies to prompts that another job asks")
        while journal.claims.taken(questions.prompts[others]).any():
            time.sleep(PAUSE)
        replies.recall()


def response_facts(questions: Questions) -> dict[str, str]:
    """Return what is kept in the file of responses: spec, questions, version, and the first prompt with its hash.

    Nothing in it differs between two runs: the file is the same even if its job was killed in between.
    """
    spec = questions.spec
    facts = {"spec": json.dumps(spec.as_plain(), sort_keys=True)}
    facts |= {QUESTIONS: questions.digest, "cinorms": version(), "engine": spec.engine}
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
    versions = {"cinorms": version(), "python": platform.python_version()}
    for package in (*(name for kind in engine_kinds() for name in kind.packages), *PACKAGES):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    facts = {"engine": spec.engine, "spec": spec.as_plain()}
    return {**facts, "versions": versions, "system": platform.platform()}


def _stop(number: int, frame: object) -> None:
    """Leave on SIGTERM as on an error: every response so far is kept."""
    print("Stopped by SIGTERM; run again to ask what is missing.")
    sys.exit(128 + number)


if __name__ == "__main__":
    with ending_in_time():
        main()
elif __name__ == "__mp_main__":  # in a process that vLLM starts for this one
    end_with_parent()
