"""People's means and coefficients over all flows of a design, assisted by a model's answers (`stats.assisted`).

``flows``: a row per flow of the design with its factors and ``model``, the model's answer; ``ratings``: flow, rater,
rating. Flows without a model's answer, and their ratings, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.norms.assessment import divide
from cinorms.stats.assisted import Ints, assisted, cell_operator, within
from cinorms.stats.wordings import CONFIDENCE

Floats = npt.NDArray[np.float64]

ALL_FLOWS = "all flows"


class _Rated(NamedTuple):
    """The flows with a model's answer (index: flow), and per rating: its flow, its rater, people's and the model's."""

    known: pd.DataFrame
    flows: Ints
    raters: Ints
    people: Floats
    model: Floats


def _rated(flows: pd.DataFrame, ratings: pd.DataFrame) -> _Rated:
    known = flows[flows["model"].notna()].set_index("flow")
    rated = ratings[ratings["flow"].isin(known.index) & ratings["rating"].notna()]
    raters = np.unique(rated["rater"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    place = known.index.get_indexer(pd.Index(rated["flow"])).astype(np.int64)
    model = known["model"].to_numpy(dtype=np.float64)[place]
    return _Rated(known, place, raters, rated["rating"].to_numpy(dtype=np.float64), model)


def slices(
    flows: pd.DataFrame, ratings: pd.DataFrame, by: Sequence[str] = (), confidence: float = CONFIDENCE
) -> pd.DataFrame:
    """Return people's mean over all flows, and over the flows of each level of the factors ``by``.

    Columns: factor, level, n_flows, and those of `assisted.assisted`.
    """
    rated = _rated(flows, ratings)
    parts = []
    for factor in (ALL_FLOWS, *by):
        column = pd.Categorical(
            [ALL_FLOWS] * len(rated.known) if factor == ALL_FLOWS else rated.known[factor]
        )
        levels, of_flows = list(column.categories), column.codes.astype(np.int64)
        codes = of_flows[rated.flows]
        operator = cell_operator(codes, len(levels))
        size = np.bincount(of_flows, minlength=len(levels))
        sums = np.bincount(of_flows, rated.known["model"].to_numpy(dtype=np.float64), minlength=len(levels))
        fitted = ((operator @ rated.people)[codes], (operator @ rated.model)[codes])
        table = assisted(
            operator, rated.people, rated.model, divide(sums, size), fitted, rated.raters, confidence
        )
        names = pd.DataFrame({"factor": factor, "level": [str(level) for level in levels], "n_flows": size})
        parts.append(pd.concat([names, table], axis=1))
    return pd.concat(parts, ignore_index=True)


def coefficients(
    flows: pd.DataFrame,
    ratings: pd.DataFrame,
    factors: Sequence[str],
    baselines: Mapping[str, str] | None = None,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return how people's ratings differ between the levels of each factor: least squares, an intercept per rater.

    ``baselines``: the level that the others of a factor are compared with, by default the first. Columns: factor,
    level, baseline, and those of `assisted.assisted`.
    """
    rated = _rated(flows, ratings)
    names, columns = [], []
    for factor in factors:
        column = pd.Categorical(rated.known[factor])
        baseline = str((baselines or {}).get(factor, column.categories[0]))
        for code, level in enumerate(column.categories):
            if str(level) != baseline:
                names.append({"factor": factor, "level": str(level), "baseline": baseline})
                columns.append(column.codes == code)
    design = np.column_stack(columns).astype(np.float64)
    everywhere = design - design.mean(axis=0)
    whole = np.asarray(np.linalg.pinv(everywhere) @ rated.known["model"].to_numpy(dtype=np.float64))
    x = within(rated.raters, design[rated.flows])
    y, f = (within(rated.raters, values[:, None])[:, 0] for values in (rated.people, rated.model))
    operator: Floats = np.asarray(np.linalg.pinv(x), dtype=np.float64)
    fitted = (x @ (operator @ y), x @ (operator @ f))
    table = assisted(operator, y, f, whole, fitted, rated.raters, confidence)
    return pd.concat([pd.DataFrame(names), table], axis=1)
