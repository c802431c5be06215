"""The multi-prompt assessment: from the answers of one model to one norm per flow, or why there is none.

Each flow was asked in many variants. Its valid answers vote; invalid answers never do, and the order
of the rows never matters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import scales, tables
from cinorms.core.errors import ConfigError, DataError

Majority = float | Literal["plurality"]
Consensus = Literal["strict", "papers"]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_LEVELS = np.array(scales.LEVELS, dtype=np.float64)
_N_LEVELS = len(scales.LEVELS)


def status_column(t_val: int, t_maj: Majority) -> str:
    """Return the name of the column with the status under one pair of thresholds, e.g. ``status_10_0.5``."""
    return f"status_{t_val}_{t_maj if t_maj == 'plurality' else format(t_maj, 'g')}"


def valid_levels(answers: pd.DataFrame) -> Floats:
    """Return the level of every answer as a float, NaN where the answer is not ``ok`` and does not vote.

    Raises `DataError` if an ``ok`` answer has no level or one that is not on the scale.
    """
    ok = (answers["status"] == "ok").to_numpy()
    level = answers["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isin(level[ok], _LEVELS).all():
        raise DataError(f"answers: status ok needs a level among {scales.LEVELS}; read the answers again")
    return np.where(ok, level, np.nan)


def level_matrix(answers: pd.DataFrame) -> pd.DataFrame:
    """Return valid levels with flows as rows and variants as columns; NaN where there is no valid answer."""
    frame = pd.DataFrame(
        {"flow": answers["flow"], "variant": answers["variant"].astype(str), "level": valid_levels(answers)}
    )
    return frame.set_index(["flow", "variant"])["level"].unstack("variant")  # noqa: PD010 (keys are unique)


def assess(
    answers: pd.DataFrame, t_val: Sequence[int], t_maj: Sequence[Majority], consensus: Consensus
) -> pd.DataFrame:
    """Return the norms table (`tables.NORMS`): one row per flow that was asked.

    Parameters
    ----------
    answers
        Answers table of one model and arm.
    t_val
        Valid thresholds: a flow passes if ``n_valid >= t_val`` (and has a valid answer at all).
    t_maj
        Majority thresholds: a share of the valid answers in (0, 1], or ``"plurality"`` for none.
    consensus
        ``strict``: a norm needs a single most frequent level with ``share >= t_maj``; a tie is a tie.
        ``papers``: as in the published tables, ``count >= round_half_even(t_maj * n_valid)``, and a tie
        goes to the level answered first with the variants sorted as strings.

    ``share`` is the count of the most frequent level over ``n_valid``; ``mean``, ``variance`` (divided by
    ``n_valid``) and ``entropy`` (bits, 0 to log2(5)) describe the valid answers. ``value`` is missing if
    there is no valid answer or, under ``strict``, a tie.

    Raises `ConfigError` for an impossible threshold or consensus, `DataError` as `valid_levels`.

    """
    _check(t_val, t_maj, consensus)
    level = valid_levels(answers)
    flows, row = np.unique(answers["flow"].to_numpy(), return_inverse=True)
    ok = ~np.isnan(level)
    cell = row[ok] * _N_LEVELS + (level[ok] - _LEVELS[0]).astype(np.intp)
    counts = np.bincount(cell, minlength=len(flows) * _N_LEVELS).reshape(-1, _N_LEVELS)
    n_valid = counts.sum(axis=1)
    top = counts.max(axis=1, initial=0)
    tied = (counts == top[:, None]).sum(axis=1) > 1
    tie = tied & (n_valid > 0)
    mode, missing = counts.argmax(axis=1), tied
    if consensus == "papers":
        mode = _first_mode(counts, top, cell, _string_ranks(answers["variant"])[ok])
        missing = n_valid == 0
    norms = pd.DataFrame({"flow": flows.astype(np.int32)})
    norms["n_asked"] = np.bincount(row, minlength=len(flows)).astype(np.int16)
    norms["n_valid"] = n_valid.astype(np.int16)
    norms[tables.COUNT_COLUMNS] = counts.astype(np.int16)
    norms["value"] = pd.arrays.IntegerArray((mode + scales.LEVELS[0]).astype(np.int8), missing)
    norms = norms.assign(share=divide(top, n_valid), tie=tie, **describe(counts))
    for v, m in itertools.product(t_val, t_maj):
        norms[status_column(v, m)] = _status(n_valid, top, tie, v, m, consensus)
    return norms


def describe(counts: Ints) -> dict[str, Floats]:
    """Return mean, population variance and entropy in bits of each row of counts per level; NaN if none."""
    n = counts.sum(axis=1)
    p = divide(counts, n[:, None])
    mean = p @ _LEVELS
    log = np.log2(p, out=np.zeros_like(p), where=p > 0)
    return {
        "mean": mean,
        "variance": (p * (_LEVELS - mean[:, None]) ** 2).sum(axis=1),
        "entropy": -(p * log).sum(axis=1) + 0.0,  # + 0.0: no negative zero
    }


def kept(norms: pd.DataFrame, t_val: int, t_maj: Majority) -> pd.DataFrame:
    """Return flow and value of the norms that hold under one pair of thresholds.

    Raises `ConfigError` if the norms were not assessed under this pair.
    """
    return norms.loc[status(norms, t_val, t_maj) == "kept", ["flow", "value"]].reset_index(drop=True)


def status(norms: pd.DataFrame, t_val: int, t_maj: Majority) -> pd.Series[str]:
    """Return the status of each flow under one pair of thresholds; `ConfigError` if it was not assessed."""
    name = status_column(t_val, t_maj)
    if name not in norms:
        known = [str(c).removeprefix("status_") for c in norms if str(c).startswith("status_")]
        raise ConfigError(
            f"thresholds {t_val}, {t_maj}: the norms were assessed under {known} (t_val_t_maj) only; "
            "add the pair to t_val and t_maj of the study"
        )
    return norms[name]


def _check(t_val: Sequence[int], t_maj: Sequence[Majority], consensus: str) -> None:
    if consensus not in ("strict", "papers"):
        raise ConfigError(f"consensus '{consensus}': choose 'strict' or 'papers'")
    for v in t_val:
        if isinstance(v, bool) or v != int(v) or v < 0:
            raise ConfigError(f"t_val {v}: give whole numbers of valid answers, 0 or more")
    for m in t_maj:
        if m != "plurality" and not (isinstance(m, (int, float)) and 0 < m <= 1):
            raise ConfigError(f"t_maj {m}: give 'plurality' or a share above 0 and up to 1, such as 0.67")


def divide(numerator: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """Return ``numerator / n`` elementwise, NaN where n is 0."""
    top, bottom = np.broadcast_arrays(
        np.asarray(numerator, dtype=np.float64), np.asarray(n, dtype=np.float64)
    )
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def _string_ranks(variant: pd.Series[str]) -> Ints:
    """Return each row's rank of its variant, sorted as a string ("0_2" < "10_0" < "1_0", as "_" > "0")."""
    codes, names = pd.factorize(variant)
    rank = np.argsort(np.argsort(np.asarray(names, dtype=str)))
    return np.asarray(rank[codes])


def _first_mode(counts: Ints, top: Ints, cell: Ints, rank: Ints) -> Ints:
    """Return the index of the most frequent level; among equals, the one whose first variant comes first."""
    first = np.full(counts.size, np.iinfo(np.int64).max)
    np.minimum.at(first, cell, rank)
    first = np.where(counts == top[:, None], first.reshape(counts.shape), np.iinfo(np.int64).max)
    return np.asarray(first.argmin(axis=1))


def _status(
    n_valid: Ints, top: Ints, tie: npt.NDArray[np.bool_], t_val: int, t_maj: Majority, consensus: Consensus
) -> pd.Categorical[int]:
    """Return why each flow is kept or not; the first reason that applies, in the order of `NORM_STATUSES`."""
    if t_maj == "plurality":
        agreed = np.ones(len(top), dtype=bool)
    elif consensus == "papers":
        agreed = top >= np.rint(t_maj * n_valid)  # rint rounds half to even, as Python's round
    else:
        agreed = divide(top, n_valid) >= t_maj
    kept, below, no_majority, tied = range(4)
    code = np.where(agreed, kept, no_majority)
    if consensus == "strict":
        code = np.where(tie, tied, code)
    code = np.where((n_valid < t_val) | (n_valid == 0), below, code)
    return pd.Categorical.from_codes(code, dtype=pd.CategoricalDtype(list(tables.NORM_STATUSES)))
