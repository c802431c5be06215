"""How far the jobs of a run are, in words: read from their files, and printed while the run lasts."""

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from cinorms.core.errors import EngineError
from cinorms.core.labels import share
from cinorms.inference.job_state import FOLDER, HEARTBEAT, AskingState, JobState, read_state, state_file
from cinorms.run.slurm import Waiting, job_name
from cinorms.study.plan import dollars

#: Seconds between two lines about a model, on a terminal and in a file, and between two looks at SLURM's queue.
PAUSES, QUEUE_PAUSE = (15.0, 60.0), 60.0
#: What the state of a run itself is called.
RUN = "run"


class Follower:
    """Prints a line for each model as soon as its rate is known, then now and then, and at once where trouble changes.

    It names each job in the ``queue`` that waits for somebody to help. While it follows, ``is_under_way`` holds.
    """

    def __init__(
        self,
        results: Path,
        shards: Mapping[str, Sequence[str]],
        queue: Callable[[], Mapping[str, Waiting]] = dict,
    ) -> None:
        self._progress, self._shards, self._queue = results / FOLDER, shards, queue
        self._run = JobState(state_file(self._progress, RUN, RUN))
        self._ended, self._threads = threading.Event(), list[threading.Thread]()
        #: When the last line about a model came, and what was wrong then; and what was printed of jobs that wait.
        self._last: dict[str, tuple[float, str]] = {}
        self._rated: set[str] = set()
        self._helped: set[str] = set()

    def start(self) -> None:
        """Begin to follow."""
        self._run.start()
        for seconds, look in ((HEARTBEAT, self.look), (QUEUE_PAUSE, self.look_at_queue)):
            self._threads.append(threading.Thread(target=self._repeat, args=(seconds, look), daemon=True))
            self._threads[-1].start()

    def stop(self) -> None:
        """Stop printing."""
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=HEARTBEAT)
        self._run.end("done")

    def look(self, now: float) -> None:
        """Print the lines that are due."""
        for model, shards in self._shards.items():
            states = [read_state(self._progress, model, shard) for shard in shards]
            # A job of an earlier run may still be asking: it is followed too.
            alive = [state for state in states if state and state.is_alive(now)]
            if not alive:
                continue
            wrong = next((state.trouble for state in alive if state.trouble), "")
            last, wrong_then = self._last.setdefault(model, (now, ""))
            is_first = model not in self._rated and any(state.rate for state in alive)
            if is_first or wrong != wrong_then or now - last >= PAUSES[not sys.stderr.isatty()]:
                self._rated |= {model} if is_first else set()
                self._last[model] = now, wrong
                jobs = f" ({len(alive)} jobs)" if len(shards) > 1 else ""
                _say(f"{model}{jobs}: {progress(alive, now, bar=sys.stderr.isatty())}")

    def look_at_queue(self, _: float) -> None:
        """Name the jobs that wait for somebody to help, each once."""
        with suppress(EngineError):  # SLURM is asked again in a minute
            queue = self._queue()
            for model, shards in self._shards.items():
                for shard in shards:
                    job = queue.get(job_name(model, shard))
                    if job and job.needs_help and job.note not in self._helped:
                        self._helped.add(job.note)
                        _say(f"{model}: {job.state}: {job.note}")

    def failures(self) -> str:
        """Return in words how many requests of each model failed and were sent again; empty where none did."""
        counts = {
            model: sum(
                state.failures for shard in shards if (state := read_state(self._progress, model, shard))
            )
            for model, shards in self._shards.items()
        }
        failed = [f"{number:,} of {model}" for model, number in counts.items() if number]
        return f"Requests that failed and were sent again: {', '.join(failed)}" if failed else ""

    def _repeat(self, seconds: float, look: Callable[[float], None]) -> None:
        pause = HEARTBEAT
        while not self._ended.wait(pause):
            look(time.time())
            pause = seconds


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {text}", file=sys.stderr, flush=True)


def is_under_way(progress: Path, now: float) -> bool:
    """Tell whether a run of the study with this folder of states is at work, as far as files can tell."""
    state = read_state(progress, RUN, RUN)
    return state is not None and state.is_alive(now)


def progress(states: Sequence[AskingState], now: float, bar: bool = False) -> str:
    """Return the progress of a model's running jobs: answers, rate, time, tokens, dollars, failures, what is wrong."""
    total, answered = sum(state.total or 0 for state in states), sum(state.answered for state in states)
    rates = [state.rate for state in states]
    rate = sum(filter(None, rates))
    usd = [state.usd for state in states if state.usd is not None]
    failures = sum(state.failures for state in states)
    parts = [
        f"{answered:,} of {total:,} answered ({share(answered, total)})" if total else "",
        f"{rate:,.{int(rate < 10)}f}/s" if rate else "",
        f"{duration((total - answered) / rate)} left"
        if all(rates) and all(s.is_steady for s in states)
        else "",
        f"{tokens:,} tokens" if (tokens := sum(state.tokens for state in states)) else "",
        dollars(sum(usd)) if usd else "",
        f"{failures:,} failed attempt{'s'[: failures > 1]}" if failures else "",
        *dict.fromkeys(state.doing for state in states),
    ]
    words = ", ".join(filter(None, parts)) or "starting"
    if bar and total:
        words = f"{'█' * (20 * answered // total):░<20} {words}"
    wrong = [state for state in states if state.trouble]
    if wrong:
        words += f"; {wrong[0].trouble}, for {duration(now - min(state.since for state in wrong))}"
    return words


def duration(seconds: float) -> str:
    """Return a time in its two largest units: ``8 s``, ``1 min 32 s``, ``2 h 5 min``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"
