"""The multi-prompt assessment: from the answers of one model to one norm per flow, or why there is none.

Each flow was asked in many variants. Its valid answers vote; invalid answers never do, and the order
of the rows never matters. The norms table keeps the counts. Whether a flow has a norm under some thresholds
is computed from them when needed, so other thresholds never need another assessment.
"""

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import tables
from cinorms.core.arrays import Floats, Ints
from cinorms.core.errors import DataError
from cinorms.core.scales import Scale
from cinorms.norms.thresholds import Thresholds
from rewordings import Consensus, reasons
from rewordings.arrays import divide


def valid_levels(answers: pd.DataFrame) -> Floats:
    """Return the level of every answer as a float, NaN where the answer is not ``ok`` and does not vote.

    Raises `DataError` if an ``ok`` answer has no level.
    """
    ok = (answers["status"] == "ok").to_numpy()
    level = answers["level"].to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isnan(level[ok]).any():
        raise DataError("answers: status ok needs a level; read the answers again")
    return np.where(ok, level, np.nan)


def level_matrix(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the valid levels as a `grid`: NaN where there is no valid answer."""
    return grid(answers, valid_levels(answers))


def grid(answers: pd.DataFrame, values: npt.ArrayLike) -> pd.DataFrame:
    """Return the ``values`` of the answers with flows as rows and variants as columns, both sorted.

    NaN where a flow was not asked in a variant.
    """
    row, flows = pd.factorize(answers["flow"], sort=True)
    column, variants = pd.factorize(answers["variant"].astype("category"))
    names = pd.Index(variants.astype(str), name="variant")
    cells = np.full((len(flows), len(names)), np.nan)
    cells[row, column] = values
    return pd.DataFrame(cells, index=flows.rename("flow"), columns=names).sort_index(axis="columns")


def assess(answers: pd.DataFrame, consensus: Consensus, scale: Scale) -> pd.DataFrame:
    """Return the norms table (`tables.NORMS`): one row per flow that was asked.

    ``answers`` are of one model and arm. ``consensus`` ``strict``: a norm is a single most frequent level; a tie is a
    tie. ``papers``: as in the published tables, a tie goes to the level answered first with the variants sorted as
    strings. On a number line a norm is one of the bins of the ``scale`` (`Scale.binned`).

    ``share`` is the count of the most frequent level over ``n_valid``; ``mean`` is that of the valid answers. ``value``
    is missing if there is no valid answer or, under ``strict``, a tie.

    Raises `DataError` as `valid_levels` and for a level that is not on the scale.
    """
    level = valid_levels(answers)
    flows, row = np.unique(answers["flow"].to_numpy(), return_inverse=True)
    ok = ~np.isnan(level)
    if not np.isin(level[ok], scale.levels).all():
        raise DataError(f"answers: status ok needs a level among {scale.levels}; read the answers again")
    levels = scale.binned.levels
    cell = row[ok] * len(levels) + scale.places(level[ok])
    counts = np.bincount(cell, minlength=len(flows) * len(levels)).reshape(-1, len(levels))
    n_valid = counts.sum(axis=1)
    top = counts.max(axis=1, initial=0)
    tied = (counts == top[:, None]).sum(axis=1) > 1
    tie = tied & (n_valid > 0)
    mode, missing = counts.argmax(axis=1), tied
    if consensus == "papers":
        # A variant's rank sorted as a string: "0_2" < "10_0" < "1_0", as "_" > "0".
        codes, names = pd.factorize(answers["variant"])
        rank = np.argsort(np.argsort(np.asarray(names, dtype=str)))[codes]
        # Among the most frequent levels, the one whose first variant comes first.
        never = np.iinfo(np.int64).max
        first = np.full(counts.shape, never)
        np.minimum.at(first.reshape(-1), cell, rank[ok])
        mode, missing = np.where(counts == top[:, None], first, never).argmin(axis=1), n_valid == 0
    norms = pd.DataFrame({"flow": flows.astype(np.int32)})
    norms["n_asked"] = np.bincount(row, minlength=len(flows)).astype(np.int32)
    norms["n_valid"] = n_valid.astype(np.int32)
    norms[tables.count_columns(levels)] = counts.astype(np.int32)
    norms["value"] = pd.arrays.IntegerArray(np.array(levels, dtype=np.int8)[mode], missing)
    mean = divide(counts, n_valid[:, None]) @ np.array(levels, dtype=np.float64)
    if scale.binned is not scale:  # on a number line: of the numbers themselves
        mean = divide(np.bincount(row[ok], weights=level[ok], minlength=len(flows)), n_valid)
    return norms.assign(share=divide(top, n_valid), tie=tie, mean=mean)


def counted(norms: pd.DataFrame) -> tuple[Ints, Floats]:
    """Return how often each level was answered in each flow (flows x levels), and the levels, lowest first."""
    levels = tables.count_levels(norms.columns)
    counts = norms[tables.count_columns(levels)].to_numpy(dtype=np.intp)
    return counts, np.array(levels, dtype=np.float64)


def held(norms: pd.DataFrame, thresholds: Thresholds) -> pd.DataFrame:
    """Return flow, value (missing where there is no norm) and status of each flow; raises as `status`."""
    why = status(norms, thresholds)
    return norms[["flow"]].assign(value=norms["value"].where(why == "kept"), status=why)


def status(norms: pd.DataFrame, thresholds: Thresholds) -> "pd.Series[str]":
    """Return why each flow holds a norm or not: the first reason that applies, of `tables.NORM_STATUSES`.

    ``below_t_val``: fewer than ``t_val`` valid answers, or none. ``tie`` (``strict`` only): several levels are the
    most frequent. ``no_majority``: ``share < t_maj`` (``strict``), or the most frequent level's
    ``count < round_half_even(t_maj * n_valid)`` (``papers``).

    Raises `DataError` for norms that another consensus left without values.
    """
    n_valid = norms["n_valid"].to_numpy(dtype=np.intp)
    tie = norms["tie"].to_numpy(dtype=np.bool_)
    if thresholds.consensus == "papers" and (norms["value"].isna().to_numpy() & (n_valid > 0)).any():
        raise DataError(
            "norms: ties without a value, as consensus 'strict' leaves them; assess with 'papers'"
        )
    top = counted(norms)[0].max(axis=1, initial=0)
    code = reasons(n_valid, top, tie, thresholds.rule)
    dtype = pd.CategoricalDtype(list(tables.NORM_STATUSES))
    return pd.Series(pd.Categorical.from_codes(code, dtype=dtype), index=norms.index, name="status")
