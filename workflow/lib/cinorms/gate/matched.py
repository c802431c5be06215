"""The two sides of a gate, put next to each other: the same flows, and where they share wordings the same templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.errors import DataError
from cinorms.core.tables import ANSWER_STATUSES
from cinorms.gate.side import Answers, Side
from cinorms.norms.assessment import divide
from cinorms.stats import equivalence
from cinorms.stats.equivalence import Estimate
from cinorms.vignettes.factors import has_levels, other_flows

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Two sides that share fewer templates are compared as two samples of wordings of their own.
FEWEST_SHARED = 2


@dataclass(frozen=True)
class Matched:
    """Base and new on the flows that both were asked.

    ``same_units``: both were asked in the same templates, in the same places of the arrays. ``same_orders``: and each
    flow in the same answer orders. ``left_out`` counts what only one side has.
    """

    base: Side
    new: Side
    flows: pd.DataFrame
    of_base: Answers
    of_new: Answers
    same_units: bool
    same_orders: bool
    left_out: Mapping[str, int]

    def select(self, select: Mapping[str, Sequence[Any]] | None) -> Bools:
        """Tell which flows have one of the levels named."""
        return has_levels(self.flows, select or {})

    def shift(self, rows: Bools, fixed_flows: bool) -> Estimate:
        """Return the mean over flows of the new level less the base's."""
        return self._estimate(self.of_base.level[rows], self.of_new.level[rows], fixed_flows)

    def rise(self, rows: Bools, statuses: Sequence[str], fixed_flows: bool) -> Estimate:
        """Return how much larger the share of answers with one of ``statuses`` is in new."""
        base, new = (has_status(each, statuses)[rows] for each in (self.of_base, self.of_new))
        return self._estimate(base, new, fixed_flows)

    def _estimate(self, base: Floats, new: Floats, fixed_flows: bool) -> Estimate:
        if self.same_orders:
            return equivalence.paired(mean_over(new - base, axis=2), fixed_flows)
        means = mean_over(base, axis=2), mean_over(new, axis=2)
        if self.same_units:
            return equivalence.paired(means[1] - means[0], fixed_flows)
        return equivalence.independent(*means, fixed_flows)


def match(base: Side, new: Side) -> Matched:
    """Return the two sides on the flows that both have.

    Raises ``DataError`` where flows of the same number are not the same, or the scales differ.
    """
    if (base.levels, base.options) != (new.levels, new.options):
        raise DataError(
            f"gate: {base.address.name} and {new.address.name} answer on different scales ({', '.join(base.options)}; "
            f"{', '.join(new.options)});\na gate compares levels of one scale"
        )
    if why := other_flows(base.told, new.told, base.vignettes, new.vignettes):
        raise DataError(f"gate: {base.address.name} and {new.address.name}: {why}")
    both = base.vignettes[["flow", "vignette"]].merge(
        new.vignettes[["flow", "vignette"]], on="flow", suffixes=("_base", "_new")
    )
    differ = both[both["vignette_base"] != both["vignette_new"]]
    if base.dataset == new.dataset and len(differ):
        raise DataError(_other_texts(base, new, differ))
    if both.empty:
        raise DataError(f"gate: {base.address.name} and {new.address.name} have no flow in common")
    rows = [side.vignettes["flow"].isin(both["flow"]).to_numpy() for side in (base, new)]
    of_base, of_new = _rows(base.answers, rows[0]), _rows(new.answers, rows[1])
    left_out = {
        f"flows only in {name}": int((~each).sum()) for name, each in zip(("base", "new"), rows, strict=True)
    }
    shared = sorted(set(of_base.units) & set(of_new.units))
    distinct = all(len(set(each.units)) == len(each.units) for each in (of_base, of_new))
    same = len(shared) >= FEWEST_SHARED and distinct and base.are_people == new.are_people
    if same:
        for name, each in (("base", of_base), ("new", of_new)):
            left_out[f"templates only in {name}"] = len(each.units) - len(shared)
        of_base, of_new = _units(of_base, shared), _units(of_new, shared)
    return Matched(
        base,
        new,
        new.vignettes[rows[1]].reset_index(drop=True),
        of_base,
        of_new,
        same,
        same and _same_orders(of_base, of_new),
        {what: n for what, n in left_out.items() if n},
    )


def has_status(answers: Answers, statuses: Sequence[str]) -> Floats:
    """Return 1 where an answer has one of ``statuses``, 0 where not, NaN where nothing was asked."""
    named = [at for at, name in enumerate(ANSWER_STATUSES) if name in statuses]
    return np.where(answers.status < 0, np.nan, np.isin(answers.status, named))


def level_counts(answers: Answers, levels: Sequence[int]) -> Floats:
    """Return how often each level was answered: levels x flows x units."""
    return np.stack([(answers.level == level).sum(axis=2) for level in levels]).astype(np.float64)


def mean_over(x: Floats, axis: int | tuple[int, ...]) -> Floats:
    """Return the mean of what is there, NaN where nothing is."""
    return divide(np.nansum(x, axis=axis), (~np.isnan(x)).sum(axis=axis))


def _other_texts(base: Side, new: Side, differ: pd.DataFrame) -> str:
    first = differ.iloc[0]
    return (
        f"gate: flow {first['flow']} is {first['vignette_base']!r} in {base.address.name}\n"
        f"and {first['vignette_new']!r} in {new.address.name}; run both with the same dataset {base.dataset!r}"
    )


def _rows(answers: Answers, rows: Bools) -> Answers:
    return Answers(answers.level[rows], answers.status[rows], answers.order[rows], answers.units)


def _units(answers: Answers, names: Sequence[str]) -> Answers:
    at = [answers.units.index(name) for name in names]
    return Answers(answers.level[:, at], answers.status[:, at], answers.order[:, at], tuple(names))


def _same_orders(base: Answers, new: Answers) -> bool:
    """Tell whether both were asked in the same answer orders (or in orders that are not known, as often)."""
    if base.order.shape != new.order.shape:
        return False
    asked = (base.status >= 0) & (new.status >= 0)
    return bool((base.order[asked] == new.order[asked]).all())
