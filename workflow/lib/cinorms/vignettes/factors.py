"""Factors of a dataset as analyses name them: those of a linked group are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

#: Joins the names and the levels of linked factors.
JOINT = " + "


@dataclass(frozen=True)
class DatasetFactors:
    """What an analysis needs to know about a dataset: name, factors, linked factors, range of expected values."""

    dataset: str
    factors: tuple[str, ...]
    linked: tuple[tuple[str, ...], ...] = ()
    expected_range: tuple[float, float] | None = None


def default_factors(dataset: DatasetFactors) -> list[str]:
    """Return the factors of a dataset, those of a linked group as one ("place + inference")."""
    group_of = {name: group for group in dataset.linked for name in group}
    return list(dict.fromkeys(JOINT.join(group_of.get(name, (name,))) for name in dataset.factors))


def nameable_factors(dataset: DatasetFactors) -> list[str]:
    """Return the factors of a dataset as a study can name them: each alone, those of a linked group also as one."""
    return list(dict.fromkeys([*dataset.factors, *default_factors(dataset)]))


def text(level: Any) -> str:
    """Return a level as text; a whole number has no decimals."""
    return f"{level:g}" if isinstance(level, (int, float)) and not isinstance(level, bool) else str(level)


def has_levels(vignettes: pd.DataFrame, select: Mapping[str, Sequence[Any]]) -> npt.NDArray[np.bool_]:
    """Tell which flows have one of the levels named of every factor that ``select`` names."""
    keep = np.ones(len(vignettes), dtype=bool)
    for factor, levels in select.items():
        keep &= vignettes[factor].astype(str).isin([str(level) for level in levels]).to_numpy()
    return keep
