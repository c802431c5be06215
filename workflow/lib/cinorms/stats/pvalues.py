"""p-values as powers of ten, so that those below the float range keep their size, and their corrections.

``log10_p`` is the number that is computed and corrected. ``p`` beside it is for reading and filtering:
where the p-value is below `SMALLEST`, ``p`` is `SMALLEST`, which is then an upper bound; it is never 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

Floats = npt.NDArray[np.float64]

#: The smallest p-value shown as a number (the smallest float of full precision).
SMALLEST = float(np.finfo(np.float64).tiny)

#: The corrections offered: two for the chance of any false positive, one for the share of false ones.
METHODS = ("bonferroni", "holm", "bh")

#: Stars of a p-value below each bound.
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))

_LN10 = math.log(10)
#: Below this SciPy's own tails begin to lose precision, and are computed here on the log scale.
_UNDERFLOW = 1e-290


def normal(z: float) -> float:
    """Return log10 of the two-sided p-value of a standard normal ``z``: ``log10(2 * Phi(-|z|))``."""
    return (float(special.log_ndtr(-abs(z))) + math.log(2)) / _LN10


def chi_square(statistic: float, df: float) -> float:
    """Return log10 of the upper tail of a chi-square with ``df`` degrees of freedom."""
    a, x = df / 2, statistic / 2
    p = float(special.gammaincc(a, x))
    if p > _UNDERFLOW:
        return math.log10(p)
    # Q(a, x) = x^a e^-x / Gamma(a) / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), from the inside.
    rest = 0.0
    for i in range(200, 0, -1):
        rest = i * (i - a) / (x + 2 * i + 1 - a - rest)
    return (a * math.log(x) - x - float(special.gammaln(a)) - math.log(x + 1 - a - rest)) / _LN10


def f_ratio(statistic: float, df: float, df_error: float) -> float:
    """Return log10 of the upper tail of F with ``df`` and ``df_error`` degrees of freedom."""
    return _incomplete_beta(df_error / 2, df / 2, df_error / (df_error + df * statistic))


def student(t: float, df: float) -> float:
    """Return log10 of the two-sided p-value of Student's ``t`` with ``df`` degrees of freedom."""
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return log10 of the regularised incomplete beta function ``I_x(a, b)``."""
    p = float(special.betainc(a, b, x))
    if p > _UNDERFLOW:
        return math.log10(p)
    # I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * sum of terms that are all positive.
    term, total, i = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= x * (a + b + i) / (a + 1 + i)
        total += term
        i += 1
    log = a * math.log(x) + b * math.log1p(-x) - math.log(a) + math.log(total)
    return (log - float(special.betaln(a, b))) / _LN10


def to_p(log10_p: npt.ArrayLike) -> Floats:
    """Return the p-values as numbers, none below `SMALLEST`; NaN stays NaN."""
    with np.errstate(under="ignore"):
        return np.asarray(np.maximum(10.0 ** np.asarray(log10_p, dtype=np.float64), SMALLEST))


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

    NaN (no p-value) stays NaN and is not counted: m is the number of tests that could be made.
    ``bonferroni``: m p. ``holm``: with p sorted upwards, the running maximum of (m - i + 1) p_i.
    ``bh`` (Benjamini-Hochberg): from the largest down, the running minimum of (m / i) p_i. None above 1.
    Raises ValueError for another method.
    """
    if method not in METHODS:
        raise ValueError(f"correction '{method}': choose among {METHODS}")
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
    table.insert(at, "p", to_p(log10_p))
    table.insert(at + 2, "p_text", [show(value) for value in log10_p])
    if corrections:
        for i, method in enumerate(METHODS):
            log = adjust(log10_p, method)
            table.insert(at + 3 + 2 * i, f"p_{method}", to_p(log))
            table.insert(at + 4 + 2 * i, f"log10_p_{method}", log)
    return table
