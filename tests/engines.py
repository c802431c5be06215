"""An engine for tests, which hands over made-up replies and notes what it was asked, and a clock that tests move."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.inference.engine_kind import Keep
from cinorms.inference.questions import Questions

Rows = npt.NDArray[np.int64]
#: Columns of the replies to rows of the grid, besides ``at``.
Replies = Callable[[Questions, Rows], Mapping[str, Any]]


def prompts_of(questions: Questions, at: Rows) -> list[str]:
    """Return the last message of each prompt."""
    return [questions.chat(int(row))[-1]["content"] for row in at]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Answering:
    """Hands over ``replies`` (default: the prompts) in chunks; is interrupted after ``chunks`` of them."""

    def __init__(
        self,
        replies: Replies = lambda questions, at: {"text": prompts_of(questions, at)},
        chunk: int = 10**9,
        chunks: int = 10**9,
    ) -> None:
        self.replies, self.chunk, self.chunks = replies, chunk, chunks
        #: Flow and variant of every prompt that was asked, and how often this was called.
        self.asked: list[tuple[int, str]] = []
        self.calls = 0

    def ask(self, questions: Questions, todo: Rows, keep: Keep) -> None:
        """Answer the rows ``todo``."""
        self.calls += 1
        for first in range(0, len(todo), self.chunk):
            if not self.chunks:
                raise InterruptedError("stopped")
            self.chunks -= 1
            at = todo[first : first + self.chunk]
            named = questions.named(at)
            self.asked += list(zip(named["flow"], named["variant"], strict=True))
            keep(pd.DataFrame({"at": at, "finish_reason": "stop", **self.replies(questions, at)}))

    def facts(self) -> dict[str, Any]:
        """Return what a run record states."""
        return {"device": "here", "usd": 1.0}
