"""What asks a model: it receives the questions of a shard, and which of them to ask.

It hands over the replies chunk by chunk, in any order, as they are finished: what was handed over is in the
journal and is never asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.inference.questions import Questions

#: Takes a finished chunk: a frame with ``at`` (row of ``Questions.grid``), ``text``, ``finish_reason`` and
#: any other column of ``journal.PART``. Raises ``JournalError`` where it cannot be kept.
Keep = Callable[[pd.DataFrame], None]


class Engine(Protocol):
    """One model, ready to be asked."""

    def ask(self, questions: Questions, todo: npt.NDArray[np.int64], keep: Keep) -> None:
        """Ask the rows ``todo`` of ``questions.grid`` (sorted by template, flow, order); ``keep`` each chunk.

        May be called again with other rows. What takes long to load stays loaded until the process ends.

        Raises ``EngineError`` where it cannot go on; everything that was answered by then has been kept.
        """

    def facts(self) -> dict[str, Any]:
        """Return what the run record states about this engine: versions, device, what was sent, what it cost."""
