"""p-values of the usual test distributions as powers of ten, so that one below the float range keeps its size.

SciPy's `logsf` of chi-square, t and F is the logarithm of a number that is 0 there.

SciPy loads its parts when they are first used: a program that imports this module does not wait for them.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from cumulink.arrays import Floats

#: The smallest p-value shown as a number (the smallest float of full precision).
SMALLEST = float(np.finfo(np.float64).tiny)

_LN10 = math.log(10)
#: Below this SciPy's own tails begin to lose precision, and are computed here on the log scale.
_UNDERFLOW = 1e-290


def log10_p(statistic: float, df: float, df_error: float = math.inf) -> float:
    """Return log10 of the upper tail of F or, without ``df_error``, of a chi-square.

    Squares of Student's t (``df`` 1) and of a standard normal have these distributions: their p-values are two-sided.

    >>> round(log10_p(1.96**2, 1), 3), round(log10_p(5000.0, 4), 3), round(log10_p(2.0**2, 1, 60), 3)
    (-1.301, -1082.338, -1.301)
    """
    if math.isinf(statistic):
        return -math.inf
    if math.isinf(df_error):
        a, x = df / 2, statistic / 2
        p = float(scipy.special.gammaincc(a, x))
        if p > _UNDERFLOW:
            return math.log10(p)
        # Q(a, x) = x^a e^-x / Gamma(a) / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), from the inside.
        rest = 0.0
        for i in range(200, 0, -1):
            rest = i * (i - a) / (x + 2 * i + 1 - a - rest)
        return (a * math.log(x) - x - float(scipy.special.gammaln(a)) - math.log(x + 1 - a - rest)) / _LN10
    a, b, x = df_error / 2, df / 2, df_error / (df_error + df * statistic)
    p = float(scipy.special.betainc(a, b, x))
    if p > _UNDERFLOW:
        return math.log10(p)
    # I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * sum of terms that are all positive.
    term, total, i = 1.0, 1.0, 0
    while term > 1e-17 * total:
        term *= x * (a + b + i) / (a + 1 + i)
        total += term
        i += 1
    log = a * math.log(x) + b * math.log1p(-x) - math.log(a) + math.log(total)
    return (log - float(scipy.special.betaln(a, b))) / _LN10


def to_p(log10_p: npt.ArrayLike) -> Floats:
    """Return the p-values as numbers, none below `SMALLEST`; NaN stays NaN.

    >>> to_p([-2, -5000]).tolist()
    [0.01, 2.2250738585072014e-308]
    """
    with np.errstate(under="ignore"):
        return np.asarray(np.maximum(10.0 ** np.asarray(log10_p, dtype=np.float64), SMALLEST))
