"""When answered prompts are handed over: soon where the model or endpoint is slow, many at once where it is fast."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from cinorms.inference.journal import LastChunkKept

#: The longest time that an answered prompt waits, and so the most that a killed job loses.
SECONDS = 20.0

T = TypeVar("T")


class Handover(Generic[T]):
    """Hands finished items to ``keep`` when there are ``most``, or when the oldest has waited long."""

    def __init__(
        self, keep: Callable[[list[T]], None], most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._keep, self._most, self._clock = keep, most, clock
        self._waiting: list[T] = []
        self._since = 0.0

    def add(self, finished: T) -> None:
        """Take a finished item."""
        if not self._waiting:
            self._since = self._clock()
        self._waiting.append(finished)
        if len(self._waiting) >= self._most:
            self.flush()

    def look(self) -> None:
        """Hand over everything if the oldest item has waited long enough."""
        if self._waiting and self._clock() - self._since >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand over everything; what could not be kept is handed over again."""
        if not self._waiting:
            return
        try:
            self._keep(self._waiting)
        except LastChunkKept:
            self._waiting = []
            raise
        self._waiting = []
