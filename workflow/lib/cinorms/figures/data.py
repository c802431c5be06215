"""The data of a figure: the values that it shows, with the columns that its kind declares."""

from __future__ import annotations

import pandas as pd

from cinorms.core.errors import DataError
from cinorms.entries.kind import Column, Kind
from cinorms.figures.theme import Drawn

#: What the data of every figure end with.
ENDING = (
    Column("figure_status", "ok, or empty where the figure has nothing to show."),
    Column("figure_reason", "Why the figure has nothing to show; missing where it shows something."),
)


def data_of(drawn: Drawn, kind: Kind) -> pd.DataFrame:
    """Return what a figure of ``kind`` shows: its declared columns in their order, then `ENDING`.

    A figure with nothing to show has one row with the reason and no other values. Raises ``DataError`` where the
    data are not as declared.
    """
    names = [column.name for column in kind.columns]
    if drawn.nothing:
        named = [name for name in names if not name.startswith("<")]
        blank = pd.DataFrame({name: pd.array([None], dtype="str") for name in named})
        return blank.assign(figure_status="empty", figure_reason=drawn.nothing)
    further = [str(name) for name in drawn.data if name not in names]
    order = [each for name in names for each in (further if name.startswith("<") else [name])]
    if sorted(order) != sorted(map(str, drawn.data.columns)):
        raise DataError(
            f"figure of kind {kind.name}: columns {list(drawn.data.columns)} differ from the declared {names}"
        )
    return drawn.data[order].assign(
        figure_status="ok", figure_reason=pd.array([None] * len(drawn.data), "str")
    )
