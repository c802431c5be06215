"""Factors of a dataset as analyses name them: those of a linked group are one."""

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
    """What an analysis needs to know about a dataset: name, factors, linked factors, range of expected values.

    ``flows_of`` is the dataset whose flows it tells in another form, if it declares one.
    """

    dataset: str
    factors: tuple[str, ...]
    linked: tuple[tuple[str, ...], ...] = ()
    expected_range: tuple[int | float, int | float] | None = None
    flows_of: str | None = None


def default_factors(dataset: DatasetFactors) -> list[str]:
    """Return the factors of a dataset, those of a linked group as one ("place + inference")."""
    group_of = {name: group for group in dataset.linked for name in group}
    return list(dict.fromkeys(JOINT.join(group_of.get(name, (name,))) for name in dataset.factors))


def nameable_factors(dataset: DatasetFactors) -> list[str]:
    """Return the factors of a dataset as a study can name them: each alone, those of a linked group also as one."""
    return list(dict.fromkeys([*dataset.factors, *default_factors(dataset)]))


def other_flows(
    a: DatasetFactors, b: DatasetFactors, flows_a: pd.DataFrame | None, flows_b: pd.DataFrame | None
) -> str:
    """Return why two datasets do not tell the same flows, so that their numbers cannot be matched; empty where they do.

    They do where flows of the same number have equal factor levels, or where one declares the flows of the other.
    ``flows_a`` and ``flows_b`` have a column per factor and the number ``flow``; None where only a file can tell.
    """
    if (a.flows_of or a.dataset) == (b.flows_of or b.dataset):
        return ""
    why = f"its factors are {', '.join(a.factors)}, not {', '.join(b.factors)}"
    if set(a.factors) == set(b.factors):
        if flows_a is None or flows_b is None:
            return ""
        names = list(a.factors)
        both = [flows.set_index("flow")[names].astype(str) for flows in (flows_a, flows_b)]
        shared = both[0].index.intersection(both[1].index)
        first, other = (levels.loc[shared] for levels in both)
        differ = (first != other).to_numpy()
        if not differ.any():
            return ""
        row, column = np.argwhere(differ)[0]
        level, other_level = first.iloc[row, column], other.iloc[row, column]
        why = f"{names[column]} of its flow {shared[row]} is {level!r}, not {other_level!r}"
    return (
        f"dataset {a.dataset!r} does not have the flows of {b.dataset!r}: {why}; "
        "flows are matched by their number: name arms of one dataset, or state flows_of in the file of one that has "
        "the same flows in another form"
    )


def text(level: Any) -> str:
    """Return a level as text; a whole number has no decimals."""
    return f"{level:g}" if isinstance(level, (int, float)) and not isinstance(level, bool) else str(level)


def has_levels(vignettes: pd.DataFrame, select: Mapping[str, Sequence[Any]]) -> npt.NDArray[np.bool_]:
    """Tell which flows have one of the levels named of every factor that ``select`` names."""
    keep = np.ones(len(vignettes), dtype=bool)
    for factor, levels in select.items():
        keep &= vignettes[factor].astype(str).isin([str(level) for level in levels]).to_numpy()
    return keep
