"""Factors as dummy-coded terms: coding against a baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cinorms.core.errors import ConfigError, DataError
from cinorms.stats.clm.arrays import Ints


@dataclass(frozen=True)
class Coding:
    """The levels of each factor, baseline first; level ``code`` of factor f has slot ``offset[f] + code``.

    A slot is a place in vectors that hold every level of every factor, baselines included.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def sizes(self) -> Ints:
        """Number of levels of each factor."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    @property
    def offsets(self) -> Ints:
        """First slot (that of the baseline) of each factor."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)[: len(self.factors)]

    @property
    def n_slots(self) -> int:
        """Number of levels of all factors together."""
        return int(self.sizes.sum())

    @property
    def term_slots(self) -> Ints:
        """Slots of the terms: every level but the baselines, in the order of the factors."""
        return np.setdiff1d(np.arange(self.n_slots), self.offsets)

    def slot_names(self) -> list[tuple[str, str, str]]:
        """Return (factor, level, baseline) of every slot."""
        return [
            (factor, level, levels[0])
            for factor, levels in zip(self.factors, self.levels, strict=True)
            for level in levels
        ]

    def slots_of(self, frame: pd.DataFrame) -> Ints:
        """Return the slots of ``frame`` (rows x factors); a level that the coding lacks raises DataError."""
        columns = []
        for factor, levels, offset in zip(self.factors, self.levels, self.offsets, strict=True):
            _require_column(frame, factor)
            codes = pd.Index(levels).get_indexer(pd.Index(frame[factor].astype(str)))
            if (codes < 0).any():
                bad = frame[factor].astype(str)[codes < 0].iloc[0]
                raise DataError(
                    f"factor {factor}: level {bad!r} is not in the fitted data; its levels are {list(levels)}"
                )
            columns.append(codes + offset)
        return np.column_stack(columns).astype(np.int64) if columns else np.zeros((len(frame), 0), np.int64)


def code_factors(
    frame: pd.DataFrame, factors: list[str], baselines: dict[str, str] | None = None
) -> tuple[Coding, Ints]:
    """Code ``factors`` of ``frame`` against their baselines and return the coding and the slots of the rows.

    A factor without a chosen baseline has the level that sorts first as its baseline, or of a categorical
    column the first category in use. Levels are compared as text. A missing level raises DataError, an
    unknown factor or a baseline that is not in the data ConfigError.
    """
    baselines = baselines or {}
    unknown = [name for name in baselines if name not in factors]
    if unknown:
        raise ConfigError(f"baselines given for {unknown}, which are not among the factors {factors}")
    if len(set(factors)) != len(factors):
        raise ConfigError(f"factors are named twice: {factors}; name each once")
    all_levels, all_codes = [], []
    for factor in factors:
        codes, levels = _levels(frame, factor)
        if len(levels) and factor in baselines:
            codes, levels = _baseline_first(factor, codes, levels, baselines[factor])
        all_codes.append(codes)
        all_levels.append(tuple(levels))
    coding = Coding(tuple(factors), tuple(all_levels))
    columns = [codes + offset for codes, offset in zip(all_codes, coding.offsets, strict=True)]
    slots = np.column_stack(columns) if columns else np.zeros((len(frame), 0))
    return coding, slots.astype(np.int64)


def _require_column(frame: pd.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise ConfigError(f"no column {name!r} in the data; columns are {list(frame.columns)}")


def _levels(frame: pd.DataFrame, factor: str) -> tuple[Ints, list[str]]:
    """Return the code of each row and the levels in use, in their order."""
    _require_column(frame, factor)
    column = frame[factor]
    if column.isna().any():
        raise DataError(
            f"factor {factor}: {int(column.isna().sum())} rows have no level; drop them or name the level"
        )
    codes, values = pd.factorize(column)
    names = np.array([str(value) for value in values], dtype=object)
    if len(set(names)) != len(names):
        raise DataError(f"factor {factor}: two levels read the same as text: {sorted(names)}; rename one")
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = np.argsort(column.cat.categories.get_indexer(values))
    else:
        order = np.argsort(values if pd.api.types.is_numeric_dtype(column) else names)
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    return rank[codes], [str(name) for name in names[order]]


def _baseline_first(factor: str, codes: Ints, levels: list[str], baseline: str) -> tuple[Ints, list[str]]:
    """Move ``baseline`` to the front of ``levels`` and recode."""
    if str(baseline) not in levels:
        raise ConfigError(
            f"factor {factor}: baseline {baseline!r} is not in the data; choose one of {levels}"
        )
    at = levels.index(str(baseline))
    rank = np.arange(len(levels))
    rank[:at] += 1
    rank[at] = 0
    return rank[codes], [levels[at], *levels[:at], *levels[at + 1 :]]
