"""The traces of planted respondents: lengths without words, and a bias that can grow with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.draws import draw_normal, draw_uniform


@dataclass(frozen=True)
class Traces:
    """What is planted; the fields, and their defaults, are those of ``planted.trace`` in the registry."""

    fill: float = 0.5
    spread: float = 0.5
    bias: float = 0.0
    unanswered: float = 0.0


class Drawn(NamedTuple):
    """The traces of some answers: their lengths, which were cut, which of them no answer follows, and their bias."""

    n_tokens: npt.NDArray[np.int64]
    cut: npt.NDArray[np.bool_]
    unanswered: npt.NDArray[np.bool_]
    #: What is added to the share of answers that depend on the position of the option.
    bias: npt.NDArray[np.float64]

    def added_to(self, replies: pd.DataFrame) -> pd.DataFrame:
        """Return replies with the columns about traces; a reply without an answer is empty, cut by the length."""
        status = np.where(self.n_tokens == 0, "none", np.where(self.cut, "cut", "whole"))
        texts = replies["text"].cat.add_categories([""] if "" not in replies["text"].cat.categories else [])
        text = texts.mask(self.unanswered, "")
        finish = np.where(self.unanswered, "length", replies["finish_reason"])
        return replies.assign(
            text=text, finish_reason=finish, n_trace_tokens=self.n_tokens, trace_status=status
        )


def draw_traces(traces: Traces, budget: int, at: tuple[Any, ...], seed: int) -> Drawn:
    """Draw the trace of each answer under a budget: log-normal lengths, cut at the budget; none without one.

    Two budgets have the same draws: where a trace is long under one, it is long under the other.
    """
    if budget == 0:
        nothing = np.zeros(np.broadcast(*at).shape, dtype=np.int64)
        return Drawn(nothing, nothing > 0, nothing > 0, nothing.astype(np.float64))
    length = budget * traces.fill * np.exp(traces.spread * draw_normal("trace", seed, *at))
    cut = np.asarray(length >= budget)
    n_tokens = np.minimum(np.ceil(length), budget).astype(np.int64)
    unanswered = cut & (np.asarray(draw_uniform("unanswered", seed, *at)) < traces.unanswered)
    return Drawn(n_tokens, cut, unanswered, traces.bias * n_tokens / 1000)
