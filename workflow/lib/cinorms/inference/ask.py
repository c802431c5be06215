"""Ask the questions of one job: ``python -m cinorms.inference.ask --requests JSON --runtime JSON ...``.

This is a module and not a Snakemake script: a touched script would ask every model again. Its name is part of the
command that Snakemake records: moving it runs every asking job again.
``--requests`` has the name and the request of each arm, ``--runtime`` what changes no reply (``study.requests``).
The other options name a file for each of them. Keys come only from the environment.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cinorms.core import tables
from cinorms.core.ending import ending_in_time
from cinorms.core.errors import ConfigError
from cinorms.core.files import write_whole
from cinorms.core.logs import start_logging
from cinorms.core.run_process import end_with_run
from cinorms.core.version import version
from cinorms.inference import checkpoints, job_state
from cinorms.inference.cap import left_to_spend
from cinorms.inference.engine_kind import Engine, engine_kind
from cinorms.inference.processes import end_with_parent
from cinorms.inference.questions import Questions, Rows
from cinorms.inference.request import Request
from cinorms.inference.store import Store

#: Packages whose versions a run record states in addition to those of the engine.
PACKAGES = ("pandas", "pyarrow", "numpy")


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask what the arguments describe, and write down that it was asked."""
    parser = argparse.ArgumentParser(prog="cinorms.inference.ask")
    for name in ("requests", "runtime", "out", "log"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("vignettes", "variants", "checkpoints"):
        parser.add_argument(f"--{name}", nargs="*", default=[])
    options = parser.parse_args(arguments)
    runtime = json.loads(options.runtime)
    key = os.environ.get(runtime.get("key_variable") or "")
    secrets = [*([key] if key else []), *checkpoints.tokens()]
    start_logging(options.log, secrets)
    signal.signal(signal.SIGTERM, _stop)
    end_with_run()
    requests = [(arm, Request.from_plain(plain)) for arm, plain in json.loads(options.requests)]
    with job_state.followed(Path(runtime["progress"]), runtime["model"], runtime["shard"], secrets):
        for number, record in enumerate(options.checkpoints):
            # Which weights these are is only known after the fetch.
            requests[number] = (
                requests[number][0],
                requests[number][1].with_settings(**checkpoints.fetched_revisions(Path(record))),
            )
        files = zip(options.vignettes, options.variants, strict=True)
        askings = read_askings(requests, list(files), runtime)
        counts = Job({**runtime, "max_usd": left_to_spend(runtime)}, key).ask(askings)
    # The same after every run: only that it was asked is news.
    write_whole(Path(options.out), (json.dumps({"questions": counts}, indent=1) + "\n").encode())


class Asking(NamedTuple):
    """One arm of a job: its questions, and the store that has their replies."""

    arm: str
    questions: Questions
    store: Store


def read_askings(
    requests: Sequence[tuple[str, Request]], files: Sequence[tuple[str, str]], runtime: Mapping[str, Any]
) -> list[Asking]:
    """Return what is asked in this job; ``files`` are vignettes and variants of each arm."""
    stores: dict[Path, Store] = {}
    askings = []
    for (arm, request), (vignettes, variants) in zip(requests, files, strict=True):
        flows = tables.read(vignettes, tables.VIGNETTES)
        questions = Questions.of(request, flows, tables.read(variants, tables.PROMPTS))
        store = Store(Path(runtime["store"]), request, runtime["study"])
        store = stores.setdefault(store.folder, store)
        askings.append(Asking(arm, questions.shard(runtime["shard"]), store))
    return askings


class _Keep:
    """Keeps the replies of an arm in its store."""

    def __init__(self, asking: Asking) -> None:
        self._keys, self._store = asking.questions.keys, asking.store
        self.charge = asking.store.charge

    def __call__(self, row: int, reply: Mapping[str, Any]) -> None:
        job_state.current().count()
        self._store.add(self._keys[row].tobytes(), reply)


class Job:
    """Asks the arms of a model, or of models that load the same, one after another with one engine."""

    def __init__(self, runtime: Mapping[str, Any], key: str | None, engine: Engine | None = None) -> None:
        self._runtime, self._key, self._engine = runtime, key, engine

    def ask(self, askings: Sequence[Asking]) -> dict[str, int]:
        """Ask what has no reply yet; return the number of questions of each arm.

        An arm that is refused does not keep the others from being asked.
        """
        started, state = time.monotonic(), job_state.current()
        missing = [np.flatnonzero(~asking.store.answered(asking.questions.keys)) for asking in askings]
        total, n_left = sum(len(asking.questions.grid) for asking in askings), sum(map(len, missing))
        print(f"{total - n_left:,} of {total:,} questions have a reply in the store.")
        state.begin(total, total - n_left)
        refused: ConfigError | None = None
        with self._recorded(askings):
            for asking, rows in zip(askings, missing, strict=True):
                try:
                    self._ask_arm(asking, rows)
                except ConfigError as mistake:
                    refused = refused or mistake
        if refused:
            raise refused
        seconds = time.monotonic() - started
        print(f"{n_left:,} questions asked in {seconds:.1f} s ({n_left / seconds:,.0f}/s)")
        return {asking.arm: len(asking.questions.grid) for asking in askings}

    def _ask_arm(self, asking: Asking, rows: Rows) -> None:
        questions, store, state = asking.questions, asking.store, job_state.current()
        # An earlier arm of this job may have had the same prompt, and flows with the same text share one.
        prompts = {questions.keys[at].tobytes(): at for at in rows[::-1].tolist()}
        todo = np.array(sorted(at for key, at in prompts.items() if key not in store.added), dtype=np.int64)
        state.find(len(rows) - len(todo))
        if not len(todo):
            return
        engine = self._engine = self._engine or _make_engine(questions.request, self._runtime, self._key)
        store.open(run_facts(questions.request, self._runtime))
        print(f"Asking {questions.request.model} in arm {asking.arm}: {len(todo):,} questions.")
        engine.ask(questions, questions.in_asking_order(todo), _Keep(asking))

    @contextmanager
    def _recorded(self, askings: Sequence[Asking]) -> Iterator[None]:
        """Complete the record of this process in each store when the job ends."""
        status = "failed"
        try:
            yield
            status = "done"
        finally:
            for asking in askings:
                asking.store.close({"status": status, **(self._engine.facts() if self._engine else {})})


def _make_engine(request: Request, runtime: Mapping[str, Any], key: str | None) -> Engine:
    make = engine_kind(request.engine).make
    assert make is not None, "a job asks neither people nor planted respondents"
    return make(runtime, key)


def run_facts(request: Request, runtime: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run record states of any engine."""
    versions = {"cinorms": version(), "python": platform.python_version()}
    for package in (*engine_kind(request.engine).packages, *PACKAGES):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    who = {name: runtime[name] for name in ("model", "shard")}
    return {**who, "engine": request.engine, "versions": versions, "system": platform.platform()}


def _stop(number: int, frame: object) -> None:
    """Leave on SIGTERM as on an error: every reply so far is kept."""
    print("Stopped by SIGTERM; run again to ask what is missing.")
    sys.exit(128 + number)


if __name__ == "__main__":
    with ending_in_time():
        main()
elif __name__ == "__mp_main__":  # in a process that vLLM starts for this one
    end_with_parent()
