"""What a model says of flows against what it does in them: rates, association, and their intervals.

``said`` are the levels, flows x wordings of the question; ``done`` is 1 where an action shares and 0 where it does not,
flows x wordings of the instruction; NaN where there is no answer. A flow is called wrong where the mean of its levels
is below the middle of the scale (docs/say-and-do.md).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy

from cinorms.core.arrays import Floats
from cinorms.stats.proportions import wilson
from cinorms.stats.wordings import pooled
from rewordings import jackknife_variance, quantile

#: Flows are left out one by one, of more than this in so many random groups.
MOST_GROUPS = 200
#: Random halves of the flows by which the part of the wordings is told from noise.
HALVES = 20
#: A share below this of what varies between flows is noise; nothing is corrected for that.
LEAST_RELIABILITY = 0.1

#: The factor and level of a row about all flows.
ALL_FLOWS = "all flows"

#: The statistics: shares of flows, and associations between the mean level and the share of actions that share.
SHARES = ("says_no", "shares", "shares_given_no", "withholds_given_yes")
STATISTICS = (*SHARES, "association", "corrected")


@dataclass(frozen=True)
class SayDo:
    """The two sides of the same flows, row for row; see the module. Flows without both are left out."""

    said: Floats
    done: Floats
    middle: float

    @classmethod
    def of(cls, said: Floats, done: Floats, middle: float) -> "SayDo":
        """Return the flows that have an answer and an action."""
        both = (~np.isnan(said)).any(axis=1) & (~np.isnan(done)).any(axis=1)
        return cls(said[both], done[both], middle)

    def statistics(self, weights: Floats) -> Floats:
        """Return `STATISTICS` for each row of ``weights``, which has a weight per flow; NaN where one is undefined."""
        level, share = np.nanmean(self.said, axis=1), np.nanmean(self.done, axis=1)
        no, yes = (level < self.middle).astype(np.float64), (level > self.middle).astype(np.float64)
        total = weights.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_level, mean_share = weights @ level / total, weights @ share / total
            var_level = weights @ level**2 / total - mean_level**2
            var_share = weights @ share**2 / total - mean_share**2
            together = weights @ (level * share) / total - mean_level * mean_share
            spread = np.sqrt(_positive(var_level) * _positive(var_share))
            both = ((self.said, var_level), (self.done, var_share))
            real = [1 - weights @ _noise(x) / total / _positive(v) for x, v in both]
            kept = np.where(np.minimum(*real) > LEAST_RELIABILITY, np.maximum(real[0] * real[1], 0), np.nan)
            columns = [
                weights @ no / total,
                mean_share,
                weights @ (no * share) / (weights @ no),
                weights @ (yes * (1 - share)) / (weights @ yes),
                together / spread,
                together / spread / np.sqrt(kept),
            ]
        return np.column_stack(columns)

    def without(self, side: str, wording: int) -> "SayDo":
        """Return the same without one wording of ``said`` or ``done``; a flow that has no other keeps its mean."""
        cells = getattr(self, side)
        rest = np.delete(cells, wording, axis=1)
        alone = np.isnan(rest).all(axis=1)
        rest[alone, 0] = cells[alone, wording]
        parts = {"said": self.said, "done": self.done, side: rest}
        return SayDo(parts["said"], parts["done"], self.middle)


def _positive(variance: Floats) -> Floats:
    # Rounding leaves 1e-18 where all numbers are the same.
    return np.where(variance > 1e-12, variance, np.nan)


def _noise(cells: Floats) -> Floats:
    """Return the variance of each flow's mean over wordings that is noise; NaN throughout for a single wording."""
    # What a wording adds to all flows alike is no noise of a flow.
    centred = cells - np.nanmean(cells, axis=0, keepdims=True)
    n = (~np.isnan(cells)).sum(axis=1)
    deviations = centred - np.nanmean(centred, axis=1, keepdims=True)
    squares = np.nansum(deviations**2, axis=1)
    # Cronbach's alpha, the mean over all split halves, has this noise: pooled over flows, so not `Sample.noise`.
    # Flows with one answer have the others' noise.
    of_all = squares.sum() / (n - 1).sum() if (n > 1).any() else np.nan
    with np.errstate(invalid="ignore", divide="ignore"):
        own: Floats = np.where(n > 1, squares / (n - 1) / n, of_all / n)
    return own


def estimate(sides: SayDo, seed: int) -> pd.DataFrame:
    """Return a row per statistic: name, estimate, std_err, low, high (95%), for other flows and other wordings."""
    n = len(sides.said)
    none = np.full(len(STATISTICS), np.nan)
    found = sides.statistics(np.ones((1, n)))[0] if n else none
    level, rows = np.nanmean(sides.said, axis=1), []
    under = {"shares_given_no": level < sides.middle, "withholds_given_yes": level > sides.middle}
    variance, freedom = _variance(sides, seed) if n > 2 else (none, np.ones_like(none))
    for at, name in enumerate(STATISTICS):
        width = float(quantile(freedom[at]))
        error = float(np.sqrt(variance[at]))
        flows = int(under[name].sum()) if name in under else n
        low, high = _limits(name, float(found[at]), error, width, flows)
        rows.append({"statistic": name, "estimate": found[at], "std_err": error, "low": low, "high": high})
    return pd.DataFrame(rows)


def _limits(name: str, value: float, error: float, width: float, n: int) -> tuple[float, float]:
    """Return the limits: of a share Wilson's with the number of flows that gives its error, else Fisher's z."""
    if np.isnan(value):
        return np.nan, np.nan
    if name in SHARES:
        inside = value * (1 - value)
        # Of a share of 0 or 1 no number of flows gives the error.
        effective = min(inside / error**2, n) if error > 0 and inside > 0 else n
        return wilson(value, effective, 2 * float(scipy.special.ndtr(-width)))
    if np.isnan(error):
        return np.nan, np.nan
    if name == "corrected" or abs(value) >= 1:
        return max(value - width * error, -1.0), min(value + width * error, 1.0)
    z, half = np.arctanh(value), width * error / (1 - value**2)
    return float(np.tanh(z - half)), float(np.tanh(z + half))


def _variance(sides: SayDo, seed: int) -> tuple[Floats, Floats]:
    """Return the variance of each statistic over flows and wordings, and its degrees of freedom (Satterthwaite)."""
    rng = np.random.default_rng(seed)
    n = len(sides.said)
    group = rng.permutation(n) % min(n, MOST_GROUPS)
    left_out = sides.statistics((group[None, :] != np.arange(group.max() + 1)[:, None]) * 1.0)
    of_flows = _jackknife(left_out, left_out)
    parts, freedoms = [of_flows], [len(left_out) - 1.0]
    halves: Floats = np.stack([rng.permutation(n) < n // 2 for _ in range(HALVES)]).astype(np.float64)
    for side in ("said", "done"):
        cells = getattr(sides, side)
        n_wordings = int((~np.isnan(cells)).any(axis=0).sum())
        if n_wordings > 1:
            wordings = range(cells.shape[1])
            both = [
                np.stack([sides.without(side, wording).statistics(weights) for wording in wordings])
                for weights in (halves, 1 - halves)
            ]
            # Noise of single answers differs between the halves, what a wording does to all flows is the same.
            covariance = np.stack([_jackknife(both[0][:, half], both[1][:, half]) for half in range(HALVES)])
            parts.append(np.maximum(_mean(covariance), 0))
            freedoms.append(n_wordings - 1.0)
    return pooled(list(zip(parts, freedoms, strict=True)), otherwise=freedoms[0])


def _mean(values: Floats) -> Floats:
    known = ~np.isnan(values)
    return np.asarray(np.where(known, values, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))


def _jackknife(one: Floats, other: Floats) -> Floats:
    """Return `jackknife_variance` of leave-outs (first axis) of which some leave nothing to compute."""
    known = ~np.isnan(one) & ~np.isnan(other)
    filled = [np.where(known, x, _mean(np.where(known, x, np.nan))) for x in (one, other)]
    # Where most leave nothing there is no variance.
    return np.where(known.sum(axis=0) > len(one) / 2, jackknife_variance(*filled), np.nan)


def no_link(sides: SayDo, seed: int, draws: int = 1999) -> float:
    """Return the p-value of the association against acts that ignore words: actions are exchanged between flows."""
    level, share = np.nanmean(sides.said, axis=1), np.nanmean(sides.done, axis=1)
    if len(level) < 3 or level.std() < 1e-6 or share.std() < 1e-6:
        return float("nan")
    level = level - level.mean()
    observed = abs(level @ share)
    rng, extreme = np.random.default_rng(seed), 0
    for start in range(0, draws, 500):
        shuffled = rng.permuted(np.tile(share, (min(500, draws - start), 1)), axis=1)
        extreme += int((np.abs(shuffled @ level) >= observed * (1 - 1e-9)).sum())
    return (1 + extreme) / (1 + draws)
