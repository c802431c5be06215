"""Engines: how a model is reached. Each is imported only when it is asked for.

An engine gets the questions of a shard and those that are still to be asked, and hands over the replies chunk
by chunk, in any order, as they are finished: what was handed over is in the journal and is never asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import ConfigError
from cinorms.inference.questions import Questions

__all__ = ["Engine", "Keep", "Questions", "make_engine"]

#: Takes a finished chunk: a frame with ``at`` (row of ``Questions.grid``), ``text``, ``finish_reason`` and
#: any other column of ``journal.PART``. Raises ``JournalError`` where it cannot be kept.
Keep = Callable[[pd.DataFrame], None]


class Engine(Protocol):
    """One model, ready to be asked."""

    #: Whether its replies are worth keeping: not where asking again is cheaper than reading.
    journalled: bool

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo`` of ``questions.grid`` (sorted by template, flow, order); ``keep`` each chunk.

        Raises ``EngineError`` where it cannot go on; everything that was answered by then has been kept.
        """

    def facts(self) -> dict[str, Any]:
        """Return what the run record says of this engine: versions, device, what was sent, what it cost."""


def make_engine(
    spec: Mapping[str, Any],
    tuning: Mapping[str, Any] | None = None,
    key: str | None = None,
    folder: Path | None = None,
) -> Engine:
    """Return the engine of ``spec``.

    ``tuning`` is what changes no response (``spec.make_tuning``); ``key`` is the endpoint's; ``folder`` is
    the journal's, for an engine that has more to remember than replies.
    """
    tuning = tuning or {}
    match spec["engine"]:
        case "planted":
            from cinorms.inference.engines.planted import PlantedEngine

            return PlantedEngine()
        case "openai":
            from cinorms.inference.engines.openai.api import make_openai

            return make_openai(spec, tuning, key, folder)
        case "vllm":
            from cinorms.inference.engines.vllm.offline import VllmEngine

            return VllmEngine(spec, tuning)
    raise ConfigError(
        f"model {spec['model']!r}: this version cannot ask the engine '{spec['engine']}' yet; "
        "--config engine=planted lets planted respondents answer in its place"
    )
