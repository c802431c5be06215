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
from cinorms.inference.lease import POLL, Lease
from cinorms.inference.processes import end_with_parent
from cinorms.inference.questions import Questions
from cinorms.inference.request import Request
from cinorms.inference.store import Store, Unanswered

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
    requests = [(arm, Request.from_plain(plain)) for arm, plain in json.loads(options.requests)]
    with followed_job(options.log, runtime) as key:
        for number, record in enumerate(options.checkpoints):
            # Which weights these are is only known after the fetch.
            requests[number] = (
                requests[number][0],
                requests[number][1].with_settings(**checkpoints.fetched_revisions(Path(record))),
            )
        files = zip(options.vignettes, options.variants, strict=True)
        job = Job(runtime, key)
        counts = job.ask(read_askings(requests, list(files), runtime))
        if job.n_failed:
            job_state.note_failed(Path(runtime["progress"]), runtime["model"], runtime["shard"], job.n_failed)
    # The same after every run: only that it was asked is news.
    write_whole(Path(options.out), (json.dumps({"questions": counts}, indent=1) + "\n").encode())


@contextmanager
def followed_job(log: str, runtime: Mapping[str, Any]) -> Iterator[str | None]:
    """Log and follow the job of this process, which ends with the run and on SIGTERM; yield the endpoint's key."""
    key = os.environ.get(runtime.get("key_variable") or "")
    secrets = [*([key] if key else []), *checkpoints.tokens()]
    start_logging(log, secrets)
    signal.signal(signal.SIGTERM, _stop)
    end_with_run()
    with job_state.followed(Path(runtime["progress"]), runtime["model"], runtime["shard"], secrets):
        yield key


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
    """Keeps the replies of an arm in its store, as long as the job's lease holds."""

    def __init__(self, asking: Asking, unanswered: Unanswered, lease: Lease) -> None:
        self._asking, self._unanswered, self._lease = asking, unanswered, lease
        self.charge = asking.store.charge

    def __call__(self, row: int, reply: Mapping[str, Any]) -> None:
        key, state = self._asking.questions.keys[row].tobytes(), job_state.current()
        self._asking.store.add(key, reply)
        if n_answered := self._unanswered.close(key.hex().encode(), bool(reply.get("failed"))):
            state.count(sum(reply.get(f"n_{part}_tokens") or 0 for part in ("prompt", "output")))
            state.find(n_answered - 1)  # flows with the same text
        self._lease.insist()


class Job:
    """Asks the arms of a model, or of models that load the same, one after another with one engine."""

    def __init__(self, runtime: Mapping[str, Any], key: str | None, engine: Engine | None = None) -> None:
        self._runtime, self._key, self._engine = dict(runtime), key, engine
        #: Questions that failed for technical reasons: the next run asks them again.
        self.n_failed = 0

    def ask(self, askings: Sequence[Asking]) -> dict[str, int]:
        """Ask what has no answer yet; return the number of questions of each arm.

        An arm that is refused does not keep the others from being asked.
        """
        started, state = time.monotonic(), job_state.current()
        left = [Unanswered(asking.store, asking.questions.keys) for asking in askings]
        total, n_left = sum(len(asking.questions.grid) for asking in askings), sum(map(len, left))
        print(f"{total - n_left:,} of {total:,} questions have a reply in the store.")
        state.begin(total, total - n_left)
        refused: ConfigError | None = None
        n_asked = 0
        with self._recorded(askings):
            for asking, unanswered in zip(askings, left, strict=True):
                try:
                    n_asked += self._ask_arm(asking, unanswered)
                except ConfigError as mistake:
                    refused = refused or mistake
                self.n_failed += unanswered.n_failed
        if refused:
            raise refused
        seconds = time.monotonic() - started
        print(f"{n_asked:,} questions asked in {seconds:.1f} s ({n_asked / seconds:,.0f}/s)")
        if self.n_failed:
            print(f"{self.n_failed:,} questions failed for technical reasons; a new run asks them again.")
        return {asking.arm: len(asking.questions.grid) for asking in askings}

    def _ask_arm(self, asking: Asking, unanswered: Unanswered) -> int:
        """Ask what nobody else is asking, then wait for the others; return how many questions were asked."""
        questions, store, state, n_asked = asking.questions, asking.store, job_state.current(), 0
        state.find(unanswered.look())  # an earlier arm of this job may have had the same prompt
        if not len(unanswered):
            return 0
        with store.leased(unanswered.keys(), self._runtime) as lease:
            keep = _Keep(asking, unanswered, lease)
            while len(unanswered):
                held = lease.held()
                # Now, and not before: what those have asked whose leases are gone is in the store.
                state.find(unanswered.look())
                todo = unanswered.to_ask(holder.keys for holder in held)
                if len(todo):
                    print(f"Asking {questions.request.model} in arm {asking.arm}: {len(todo):,} questions.")
                    state.note(doing="")
                    self._spend_what_is_left()
                    self._engine = self._engine or _make_engine(questions.request, self._runtime, self._key)
                    store.open(run_metadata(questions.request, self._runtime))
                    self._engine.ask(questions, questions.in_asking_order(todo), keep)
                    unanswered.close_rows(todo)
                    n_asked += len(todo)
                elif len(unanswered):
                    state.note(doing=f"waits for {held[0]}")
                    time.sleep(POLL)
        return n_asked

    def _spend_what_is_left(self) -> None:
        """Take the share of the cap as it is now: another process of this job may have spent some of it."""
        if self._runtime.get("max_cost_usd") is not None:
            spent = float((self._engine.metadata() if self._engine else {}).get("usd") or 0.0)
            self._runtime["max_usd"] = (left_to_spend(self._runtime) or 0.0) + spent

    @contextmanager
    def _recorded(self, askings: Sequence[Asking]) -> Iterator[None]:
        """Complete the record of this process in each store when the job ends."""
        status = "failed"
        try:
            yield
            status = "done"
        finally:
            for asking in askings:
                asking.store.close({"status": status, **(self._engine.metadata() if self._engine else {})})


def _make_engine(request: Request, runtime: Mapping[str, Any], key: str | None) -> Engine:
    return engine_kind(request.engine).make(runtime, key)


def run_metadata(request: Request, runtime: Mapping[str, Any]) -> dict[str, Any]:
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
