"""The progress bar of a job that asks in chunks: prompts/s, time left, and tokens/s."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from tqdm import tqdm


class Progress:
    """One bar for all chunks; vLLM's own bar of each call moves it, and is not shown."""

    def __init__(self, n_questions: int, n_todo: int, within_chunks: bool) -> None:
        self._bar = tqdm(
            total=n_questions, initial=n_questions - n_todo, unit="prompts", mininterval=2, smoothing=0.1
        )
        self._done = n_questions - n_todo
        self._within_chunks = within_chunks
        self._started = time.monotonic()

    @property
    def of_call(self) -> Callable[..., tqdm[Any]]:
        """What makes the bar of one call of vLLM."""
        job, within = self._bar, self._within_chunks

        class Relay(tqdm):  # type: ignore[type-arg]
            """A bar that nobody sees; the prompts it counts as finished move the job's bar."""

            def __init__(self, iterable: Any = None, **settings: Any) -> None:
                super().__init__(iterable, file=open(os.devnull, "w"), **settings)  # noqa: SIM115
                self._counts = iterable is None and within  # an iterable is vLLM taking the prompts in

            def update(self, n: float | None = 1) -> bool | None:
                if self._counts:
                    job.update(n)
                return super().update(n)

            def close(self) -> None:
                super().close()
                self.fp.close()

        return Relay

    def end_chunk(self, n: int, n_tokens: int) -> None:
        """Say that ``n`` more questions are answered and kept, and how many tokens all of them had."""
        self._done += n
        seconds = time.monotonic() - self._started
        self._bar.set_postfix_str(f"{n_tokens / seconds:,.0f} tokens/s", refresh=False)
        self._bar.update(self._done - self._bar.n)

    def close(self) -> None:
        """End the bar."""
        self._bar.close()
