"""Intervals that hold the noise of the wording: flows and variants are both drawn anew.

``levels`` is `norms.level_matrix(answers)`: flows x variants, NaN where there is no valid answer.
The pigeonhole bootstrap draws flows and variants independently, with replacement; an answer's weight
is the product of how often its flow and its variant were drawn. It errs on the safe (wide) side when
the noise of single answers dominates. Percentile intervals; everything is seeded and independent of
row and column order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core import scales
from cinorms.core.errors import ConfigError
from cinorms.stats.resampling import FEWEST, Resample, check_resample, draw_weights, interval

Floats = npt.NDArray[np.float64]

_CHUNK = 1024


def group_means(
    levels: pd.DataFrame,
    groups: pd.Series[Any] | None,
    seed: int,
    resample: Resample = "both",
    draws: int = 2000,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the mean level of all valid answers in each group of flows, with its bootstrap interval.

    Parameters
    ----------
    levels
        Flows x variants.
    groups
        The group of each flow (index: flow), such as a factor of the vignettes; None for one group "all".
    seed, draws, confidence
        Of the bootstrap.
    resample
        ``both`` flows and variants, as if the flows were a sample of more; or ``variants`` only, if the
        design's flows are all there are.

    Columns: group, estimate, std_err, low, high, n_flows, n_answers, status (``ok``, ``no_flows``,
    ``no_answers``, ``one_variant``, ``one_flow``).

    """
    levels, names, member = _prepare(levels, groups)
    replicates = _replicates(levels, member, seed, resample, draws)
    valid = levels.notna().to_numpy().sum(axis=1)
    rows = []
    for i, name in enumerate(names):
        n_flows, n_answers = int(member[i].sum()), int(valid[member[i] > 0].sum())
        status = _why_none(levels, n_flows, n_answers, resample)
        mean = float(np.nansum(levels.to_numpy()[member[i] > 0])) / n_answers if n_answers else np.nan
        numbers = interval(replicates[:, i], confidence) if status == "ok" else (np.nan,) * 3
        rows.append((name, mean, *numbers, n_flows, n_answers, status))
    columns = ["group", "estimate", "std_err", "low", "high", "n_flows", "n_answers", "status"]
    return pd.DataFrame(rows, columns=columns)


def flow_intervals(
    levels: pd.DataFrame, seed: int, draws: int = 1000, confidence: float = 0.95
) -> pd.DataFrame:
    """Return, per flow, an interval for the mean and how stable its most frequent level is.

    Variants are drawn anew, the same for all flows. ``stability`` is the share of draws in which the
    level that is most frequent in all answers alone is most frequent again (missing if there is a tie in
    all answers). Columns: flow, estimate, std_err, low, high, stability, n_valid, status (``ok``,
    ``no_answers``, ``one_variant``: fewer than two valid answers).
    """
    levels = _sorted(levels)
    x = levels.to_numpy()
    weights = draw_weights(np.random.default_rng(seed), x.shape[1], draws)
    parts = [_flow_chunk(x[i : i + _CHUNK], weights, confidence) for i in range(0, len(x), _CHUNK)]
    names = ["estimate", "std_err", "low", "high", "stability", "n_valid"]
    numbers = np.concatenate(parts) if parts else np.zeros((0, len(names)))
    frame = pd.DataFrame(numbers, columns=names, index=levels.index).reset_index(names="flow")
    n = frame["n_valid"].astype(np.int64)
    frame["n_valid"] = n
    frame["status"] = np.select([n == 0, n < FEWEST], ["no_answers", "one_variant"], "ok")
    frame.loc[n < FEWEST, ["std_err", "low", "high", "stability"]] = np.nan
    return frame


def _flow_chunk(x: Floats, weights: Floats, confidence: float) -> Floats:
    counts = np.stack([weights @ (x == level).T for level in scales.LEVELS])  # levels x draws x flows
    n = counts.sum(axis=0)
    level = np.array(scales.LEVELS, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.tensordot(level, counts, axes=1) / n
        n_valid = (~np.isnan(x)).sum(axis=1)
        estimate = np.nansum(x, axis=1) / n_valid
    all_counts = np.stack([(x == v).sum(axis=1) for v in scales.LEVELS])
    mode, top = all_counts.argmax(axis=0), all_counts.max(axis=0)
    tied = (all_counts == top).sum(axis=0) > 1
    of_mode = np.take_along_axis(counts, mode[None, None, :], axis=0)[0]
    rivals = counts.copy()
    np.put_along_axis(rivals, mode[None, None, :], -1.0, axis=0)
    stability = np.where(tied, np.nan, (of_mode > rivals.max(axis=0)).mean(axis=0))
    # A draw may hold none of a flow's valid answers; such draws say nothing about it.
    out = np.full((6, x.shape[0]), np.nan)
    some = (~np.isnan(mean)).any(axis=0)
    tail = (1 - confidence) / 2
    out[1, some] = np.nanstd(mean[:, some], axis=0, ddof=1)
    out[2:4, some] = _quantiles(mean[:, some], [tail, 1 - tail])
    out[0], out[4], out[5] = estimate, stability, n_valid
    return out.T


def _quantiles(x: Floats, q: list[float]) -> Floats:
    """Return column quantiles, by the fast path where no draw is missing."""
    whole = ~np.isnan(x).any(axis=0)
    found = np.empty((len(q), x.shape[1]))
    found[:, whole] = np.quantile(x[:, whole], q, axis=0)
    if not whole.all():
        found[:, ~whole] = np.nanquantile(x[:, ~whole], q, axis=0)
    return found


def _sorted(levels: pd.DataFrame) -> pd.DataFrame:
    return levels.sort_index().reindex(sorted(levels.columns), axis=1)


def _prepare(levels: pd.DataFrame, groups: pd.Series[Any] | None) -> tuple[pd.DataFrame, list[str], Floats]:
    """Return the sorted matrix, the names of the groups, and groups x flows membership (0 or 1)."""
    levels = _sorted(levels)
    if groups is None:
        return levels, ["all"], np.ones((1, len(levels)))
    of = groups.reindex(levels.index)
    if of.isna().any():
        raise ConfigError(f"groups: flow {of.index[of.isna()][0]} has none; name a group for every flow")
    keys = of.astype(str).to_numpy()
    names = sorted(set(keys))
    return levels, names, np.array([(keys == name).astype(np.float64) for name in names])


def _replicates(levels: pd.DataFrame, member: Floats, seed: int, resample: Resample, draws: int) -> Floats:
    """Return draws x groups means; NaN where a draw holds no answer of the group."""
    check_resample(resample)
    x = levels.to_numpy()
    valid = (~np.isnan(x)).astype(np.float64)
    x = np.nan_to_num(x)
    by_variant, by_flow = np.random.default_rng(seed).spawn(2)
    variants = draw_weights(by_variant, x.shape[1], draws)
    out = np.empty((draws, len(member)))
    for start in range(0, draws, _CHUNK):
        part = slice(start, min(start + _CHUNK, draws))
        n = part.stop - part.start
        flows = draw_weights(by_flow, x.shape[0], n) if resample == "both" else np.ones((1, x.shape[0]))
        for i, group in enumerate(member):
            inside = group > 0
            top = ((flows[:, inside] @ x[inside]) * variants[part]).sum(axis=1)
            bottom = ((flows[:, inside] @ valid[inside]) * variants[part]).sum(axis=1)
            out[part, i] = np.divide(top, bottom, out=np.full(n, np.nan), where=bottom > 0)
    return out


def _why_none(levels: pd.DataFrame, n_flows: int, n_answers: int, resample: Resample) -> str:
    if n_flows == 0:
        return "no_flows"
    if n_answers == 0:
        return "no_answers"
    if levels.shape[1] < FEWEST:
        return "one_variant"
    return "one_flow" if resample == "both" and n_flows < FEWEST else "ok"
