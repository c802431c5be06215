"""Shows in the terminal of a run what its jobs are doing: read from their files, wherever they run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cinorms.inference.job_state import State, read_state
from cinorms.run.words import progress

#: Seconds between two reads of the jobs' files.
PERIOD = 2.0
#: Seconds that a job must have run before it gets a line.
PATIENCE = 8.0
#: Seconds between two lines about a model, on a terminal and in a file.
PAUSES = (15.0, 60.0)

#: Seconds between two lines about a problem or its end.
GAP = 4.0
#: A failed attempt gets a line if the next one is at least this many seconds away.
WORTH = 1.0

#: The shards of each model in each arm that are asked.
Shards = Mapping[tuple[str, str], Sequence[str]]


class Follower:
    """Reports progress from its own thread: now and then a line for each model and arm.

    A line comes at once where something goes wrong or is well again.
    """

    def __init__(
        self,
        responses: Path,
        shards: Shards,
        say: Callable[[str], None] | None = None,
        pause: float | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._responses, self._shards = responses, shards
        self._say = say or (lambda line: print(line, file=sys.stderr, flush=True))
        self._pause = pause if pause is not None else PAUSES[not sys.stderr.isatty()]
        self._patience = patience
        self._last: dict[tuple[str, str], tuple[float, str]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reporting."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=PERIOD)

    def look(self, now: float) -> None:
        """Print the lines that are due."""
        for pair, shards in self._shards.items():
            found = [read_state(self._responses, *pair, shard) for shard in shards]
            alive = [state for state in found if state and state.is_alive(now)]
            # A job of an earlier run may still be asking: it is followed too.
            if alive:
                self._say_of(pair, alive, len(shards), now)

    def _say_of(self, pair: tuple[str, str], alive: Sequence[State], n_shards: int, now: float) -> None:
        before, wrong_before = self._last.get(pair, (0.0, ""))
        wrong = next((state.trouble for state in alive if state.trouble), "")
        if wrong and not any((state.next_attempt or now) - now >= WORTH for state in alive):
            wrong = wrong_before  # over before anybody has read it
        young = now - min(state.started for state in alive) < self._patience
        changed = wrong != wrong_before
        if now - before < (GAP if changed else self._pause) or (young and not changed):
            return
        self._last[pair] = now, wrong
        jobs = f" ({len(alive)} jobs)" if n_shards > 1 else ""
        self._say(f"{time.strftime('%H:%M:%S')}  {' / '.join(pair)}{jobs}: {progress(alive, now)}")

    def _follow(self) -> None:
        while not self._ended.wait(PERIOD):
            self.look(time.time())
