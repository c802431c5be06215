"""Position bias against the length of the trace: whether answers follow positions more after longer reasoning.

The score of a valid answer at a position is 1 if it chose the option shown there, less the share of that option's level
among the other answers to the same flow. Answers that depend on the flow alone have the mean 0 at every position,
however the orders were dealt; if a share s of the answers follows positions with the weights w, the mean at position p
under balanced orders is s (w_p - 1/k), for k options. Means and slopes of these scores over lengths of traces follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.scales import Scale
from cinorms.stats.arrays import Bools, Floats, Ints, clustered, sums_by
from cinorms.stats.reliability import Choices, choices
from cinorms.stats.wordings import FEWEST, interval

#: The unit of a slope: tokens of a trace.
PER = 1000


def trace_bias(answers: pd.DataFrame, units: npt.NDArray[Any], scale: Scale, parts: int) -> pd.DataFrame:
    """Return the excess of each position in each part of the answers by length of the trace, and its slope.

    ``units`` has the unit of each answer that may not be independent of others (flow or template): intervals are
    cluster-robust over them. Rows: measure ``slope`` (per 1,000 tokens, part 0) and ``excess`` (part 1: the shortest
    traces). Columns: measure, part, position, tokens_low, tokens_high, tokens_mean, estimate, std_err, conf_low,
    conf_high, n, n_unknown (answers whose trace has no known length; they are in no row), n_units, status.
    """
    k, found = len(scale.binned.levels), choices(answers, scale)
    lengths = np.full(len(answers), np.nan)
    if "n_trace_tokens" in answers:
        lengths = answers["n_trace_tokens"].to_numpy(dtype=np.float64, na_value=np.nan)
    unknown = np.isnan(lengths[found.rows])
    at, x, status = found.rows[:0], np.empty(0), found.status
    if status == "ok" and unknown.all():
        status = "no_trace_lengths"
    elif status == "ok":
        at, scores = _scores(found)
        known = ~np.isnan(lengths[at])
        at, scores = at[known], scores[known]
        x, status = lengths[at], "one_answer_per_flow"
    if len(at):
        codes = pd.factorize(units[at])[0]
        rows = [_slope(x, scores, codes)]
        edges = np.unique(np.quantile(x, np.linspace(0, 1, parts + 1)[1:-1]))
        which = np.searchsorted(edges, x, side="left")
        rows += [_part(x, scores, codes, which == number, number + 1) for number in range(parts)]
    else:
        rows = [_about("slope", 0, x, k), *(_about("excess", part + 1, x, k) for part in range(parts))]
        rows = [row.assign(status=status) for row in rows]
    return pd.concat(rows, ignore_index=True).assign(n_unknown=int(unknown.sum()))[list(COLUMNS)]


COLUMNS = (
    *("measure", "part", "position", "tokens_low", "tokens_high", "tokens_mean"),
    *("estimate", "std_err", "conf_low", "conf_high", "n", "n_unknown", "n_units", "status"),
)


def _scores(found: Choices) -> tuple[Ints, Floats]:
    """Return the rows of answers to flows with at least two usable answers, and their scores at each position."""
    n = found.counts.sum(axis=1)[found.flow]
    rows, flow, option, shown, n = (x[n > 1] for x in (found.rows, found.flow, found.option, found.shown, n))
    chosen = (shown == option[:, None]).astype(np.float64)
    others = (found.counts[flow[:, None], shown] - chosen) / (n[:, None] - 1)
    return rows, chosen - others


def _slope(x: Floats, scores: Floats, codes: Ints) -> pd.DataFrame:
    """Return the least-squares slope of each position's scores per 1,000 tokens."""
    centred = (x - x.mean()) / PER
    spread = float(centred @ centred)
    about = _about("slope", 0, x, scores.shape[1])
    if spread == 0:
        return about.assign(status="one_length")
    estimate = centred @ scores / spread
    residual = scores - scores.mean(axis=0) - centred[:, None] * estimate
    return _interval(about, estimate, centred[:, None] * residual / spread, codes, 2)


def _part(x: Floats, scores: Floats, codes: Ints, chosen: Bools, number: int) -> pd.DataFrame:
    """Return the mean score of each position in one part of the answers."""
    about = _about("excess", number, x[chosen], scores.shape[1])
    if not chosen.any():
        return about.assign(status="no_such_length")
    own = scores[chosen]
    estimate = own.mean(axis=0)
    return _interval(about, estimate, (own - estimate) / len(own), pd.factorize(codes[chosen])[0], 1)


def _about(measure: str, part: int, x: Floats, k: int) -> pd.DataFrame:
    low, high, mean = (x.min(), x.max(), x.mean()) if len(x) else (np.nan,) * 3
    frame = pd.DataFrame({"position": np.arange(1, k + 1)})
    numbers = dict.fromkeys(("estimate", "std_err", "conf_low", "conf_high"), np.nan)
    known = {"tokens_low": low, "tokens_high": high, "tokens_mean": mean, **numbers}
    return frame.assign(measure=measure, part=part, **known, n=len(x), n_units=0, status="ok")


def _interval(
    about: pd.DataFrame, estimate: Floats, influence: Floats, codes: npt.NDArray[Any], n_fitted: int
) -> pd.DataFrame:
    """Return the row with its cluster-robust 95% interval (CR1, t with one fewer degrees of freedom than units)."""
    n, units = len(influence), int(codes.max()) + 1
    found = about.assign(estimate=estimate, n_units=units)
    if units < FEWEST or n <= n_fitted:
        return found.assign(status="one_unit")
    variance, freedom = clustered([sums_by(codes, influence)])
    std_err, low, high = interval(estimate, variance * (n - 1) / (n - n_fitted), freedom)
    return found.assign(std_err=std_err, conf_low=low, conf_high=high)
