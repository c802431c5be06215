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
from cinorms.stats.arrays import Floats, clustered, sums_by
from cinorms.stats.reliability import choices
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
    unknown, n, status = np.isnan(lengths[found.rows]), found.counts.sum(axis=1)[found.flow], found.status
    used = ~unknown & (n > 1)
    if status == "ok" and not used.any():
        status = "no_trace_lengths" if unknown.all() else "one_answer_per_flow"
    rows, flow, option, shown, n = (
        column[used] for column in (found.rows, found.flow, found.option, found.shown, n)
    )
    chosen = (shown == option[:, None]).astype(np.float64)
    scores = chosen - (found.counts[flow[:, None], shown] - chosen) / (n[:, None] - 1)
    x = lengths[rows]
    edges = np.unique(np.quantile(x, np.linspace(0, 1, parts + 1)[1:-1])) if len(x) else x
    part_of = np.searchsorted(edges, x, side="left") + 1
    tables = []
    for part in range(parts + 1):
        own = part_of == part if part else np.ones(len(x), dtype=bool)
        tables.append(_rows(part, x[own], scores[own], units[rows[own]], k, status))
    return pd.concat(tables, ignore_index=True).assign(n_unknown=int(unknown.sum()))[list(COLUMNS)]


COLUMNS = (
    *("measure", "part", "position", "tokens_low", "tokens_high", "tokens_mean"),
    *("estimate", "std_err", "conf_low", "conf_high", "n", "n_unknown", "n_units", "status"),
)


def _rows(part: int, x: Floats, scores: Floats, units: npt.NDArray[Any], k: int, status: str) -> pd.DataFrame:
    """Return the mean score of each of ``k`` positions in one part, or in part 0 the slope of all scores.

    Intervals are cluster-robust (CR1, t with one fewer degrees of freedom than units).
    """
    low, high, mean = (x.min(), x.max(), x.mean()) if len(x) else (np.nan,) * 3
    numbers = dict.fromkeys(("estimate", "std_err", "conf_low", "conf_high"), np.nan)
    known = {
        "tokens_low": low,
        "tokens_high": high,
        "tokens_mean": mean,
        **numbers,
        "n": len(x),
        "n_units": 0,
    }
    table = pd.DataFrame({"position": np.arange(1, k + 1)})
    table = table.assign(measure="excess" if part else "slope", part=part, **known, status=status)
    if not len(x):
        return table.replace({"status": {"ok": "no_such_length"}})
    if part:
        n_fitted, estimate = 1, scores.mean(axis=0)
        influence = (scores - estimate) / len(x)
    else:
        n_fitted, centred = 2, (x - x.mean()) / PER
        spread = float(centred @ centred)
        if spread == 0:
            return table.assign(status="one_length")
        estimate = centred @ scores / spread
        influence = centred[:, None] * (scores - scores.mean(axis=0) - centred[:, None] * estimate) / spread
    codes, names = pd.factorize(units)
    table = table.assign(estimate=estimate, n_units=len(names))
    if len(names) < FEWEST or len(x) <= n_fitted:
        return table.assign(status="one_unit")
    variance, freedom = clustered([codes], lambda codes: sums_by(codes, influence))
    std_err, low, high = interval(estimate, variance * (len(x) - 1) / (len(x) - n_fitted), freedom)
    return table.assign(std_err=std_err, conf_low=low, conf_high=high)
