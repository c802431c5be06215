"""p-values as text, as columns, and their corrections for several tests, all on the log scale.

``log10_p`` is the number that is computed and corrected (`cumulink.tails`). ``p`` next to it is for reading and
filtering: where the p-value is below `tails.SMALLEST`, ``p`` is `tails.SMALLEST`, an upper bound; it is never 0.
"""

import math

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.arrays import Floats
from cumulink import tails

#: The corrections offered: two for the chance of any false positive, one for the share of false ones.
METHODS = ("bonferroni", "holm", "bh")

#: Stars of a p-value below each bound.
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def show(log10_p: float) -> str:
    """Return a p-value as text with two significant digits: ``0.084``, ``4.1e-32``, ``1.7e-1805``."""
    if math.isnan(log10_p):
        return ""
    if log10_p > -4:
        return f"{10.0**log10_p:.2g}"
    power = math.floor(log10_p)
    mantissa = round(10.0 ** (log10_p - power), 1)
    return f"{mantissa:.1f}e{power}" if mantissa < 10 else f"1.0e{power + 1}"


def stars(log10_p: float) -> str:
    """Return the stars of a p-value as papers print them; none from 0.05 on."""
    return next((marks for bound, marks in STARS if log10_p < math.log10(bound)), "")


def adjust(log10_p: npt.ArrayLike, method: str) -> Floats:
    """Return log10 of the p-values corrected for all tests of the family that gave one.

    Those of statsmodels' `multipletests`, which takes no logarithms: a p-value below 1e-308 would be 0 there.
    NaN (no p-value) stays NaN and is not counted: m is the number of tests that could be made.
    ``bonferroni``: m p. ``holm``: with p sorted upwards, the running maximum of (m - i + 1) p_i.
    ``bh`` (Benjamini-Hochberg): from the largest down, the running minimum of (m / i) p_i. None above 1.
    """
    given = np.asarray(log10_p, dtype=np.float64)
    out = np.full(given.shape, np.nan)
    tested = ~np.isnan(given)
    order = np.argsort(given[tested], kind="stable")
    log = given[tested][order]
    m = len(log)
    rank = np.arange(1, m + 1)
    if method == "bonferroni":
        log = log + np.log10(max(m, 1))
    elif method == "holm":
        log = np.maximum.accumulate(log + np.log10(m - rank + 1))
    else:
        log = np.minimum.accumulate((log + np.log10(m / rank))[::-1])[::-1]
    corrected = np.empty(m)
    corrected[order] = np.minimum(log, 0.0)
    out[tested] = corrected
    return out


def add_columns(table: pd.DataFrame, corrections: bool) -> pd.DataFrame:
    """Return ``table`` with ``p`` and ``p_text`` after ``log10_p``, and with each correction if asked.

    The rows are the family: ``p_bonferroni`` and ``log10_p_bonferroni``, and so on, correct over all of them.
    """
    table = table.copy()
    at = int(np.flatnonzero(table.columns == "log10_p")[0])
    log10_p = table["log10_p"].to_numpy(dtype=np.float64)
    table.insert(at, "p", tails.to_p(log10_p))
    table.insert(at + 2, "p_text", [show(value) for value in log10_p])
    if corrections:
        for i, method in enumerate(METHODS):
            log = adjust(log10_p, method)
            table.insert(at + 3 + 2 * i, f"p_{method}", tails.to_p(log))
            if method != "bh":  # the last: a rate of false discoveries is not compared below the float range
                table.insert(at + 4 + 2 * i, f"log10_p_{method}", log)
    return table
