"""How far a job is, from the first seconds on: prompts read and answered, how fast, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable

from tqdm import tqdm

from cinorms.inference import job_state

#: Seconds between two lines.
SECONDS = 2.0


class Progress:
    """A bar that counts answered prompts, and shows how many were read while none is answered yet."""

    def __init__(self, total: int, done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._bar = tqdm(
            total=total, initial=done, unit="prompts", bar_format="{percentage:3.0f}%|{bar}| {desc}"
        )
        self._todo, self._total, self._done, self._clock = total - done, total, done, clock
        self._started = self._shown = clock()
        self._read = self._answered = 0

    def answered(self) -> None:
        """Count an answered prompt."""
        self._answered += 1
        job_state.current().count()

    def look(self, n_read: int) -> None:
        """Show how far the job is, if it is time to; ``n_read`` prompts were read so far."""
        if n_read != self._read and not self._answered:
            job_state.current().doing(f"{self._done + n_read:,} prompts read")
        self._read = n_read
        if self._clock() - self._shown >= SECONDS:
            self._show()

    def close(self) -> None:
        """Show the last state."""
        self._show()
        self._bar.close()

    def text(self) -> str:
        """Return the text of the bar."""
        seconds = self._clock() - self._started
        parts = [
            f"{self._done + self._answered:,}/{self._total:,} answered",
            f"{self._done + self._read:,} read",
        ]
        if self._answered:
            parts.append(f"{self._answered / max(seconds, 1e-9):,.1f} prompts/s")
        # To read a prompt and to answer it count as one piece of work each: known before the first answer.
        pieces, left = self._read + self._answered, 2 * self._todo - self._read - self._answered
        if pieces >= max(1, job_state.PACE_SHARE * 2 * self._todo) and left:
            parts.append(f"about {tqdm.format_interval(left * seconds / pieces)} left")
        return ", ".join(parts) + f", after {tqdm.format_interval(seconds)}"

    def _show(self) -> None:
        self._shown = self._clock()
        self._bar.n = self._done + self._answered
        self._bar.set_description_str(self.text())
