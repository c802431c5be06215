"""What the further askings of an arm gave: their answers, and whether each reply is the first asking's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.tables import REPEATS, stack

_KEY = ["flow", "variant"]


def repeated_answers(
    first: pd.DataFrame, replies: Mapping[int, pd.DataFrame], answers: Mapping[int, pd.DataFrame]
) -> pd.DataFrame:
    """Return the table of repeats.

    ``first`` are the responses of the first asking; ``replies`` and ``answers`` have the responses and what was read in
    them for every further asking, row for row the questions of the first.
    """
    parts = []
    for repeat, again in sorted(replies.items()):
        if not _as_keys(again).equals(_as_keys(first)):
            raise DataError(
                f"repeat {repeat} does not have the questions of the first asking; {REPEATS.remedy}"
            )
        found = answers[repeat].assign(repeat=np.int16(repeat), same_reply=_same(first, again))
        parts.append(found[list(REPEATS.columns)])
    return stack(parts, REPEATS)


def _as_keys(responses: pd.DataFrame) -> pd.DataFrame:
    return responses[_KEY].astype({"variant": str}).reset_index(drop=True)


def _same(first: pd.DataFrame, again: pd.DataFrame) -> pd.arrays.BooleanArray:
    """Tell where two replies are the same; missing where one of them is none."""
    same = np.ones(len(first), dtype=bool)
    for name in ("text", "finish_reason"):
        one, other = (frame[name].astype(object).to_numpy() for frame in (first, again))
        same &= np.where(pd.isna(one) | pd.isna(other), pd.isna(one) & pd.isna(other), one == other)
    same &= _same_numbers(first, again)
    failed = (first["finish_reason"] == "error").to_numpy() | (again["finish_reason"] == "error").to_numpy()
    return pd.arrays.BooleanArray(same, failed)


def _same_numbers(first: pd.DataFrame, again: pd.DataFrame) -> npt.NDArray[np.bool_]:
    pairs = zip(first["p_options"], again["p_options"], strict=True)
    return np.array(
        [one is other or np.array_equal(one, other, equal_nan=True) for one, other in pairs], dtype=bool
    )
