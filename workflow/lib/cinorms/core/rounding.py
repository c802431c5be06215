"""How numbers are rounded for print: half up, as the papers' numbers are."""

import math
from decimal import ROUND_HALF_UP, Decimal

#: Decimals that a number is written with before it is rounded to fewer.
# ASSUME: the authors rounded numbers that their software showed with four decimals, as statsmodels'
# `summary2` does: 0.17497 then reads 0.1750 and is printed 0.18. Of all numbers compared this one alone tells
# the rule from rounding once; rounding by way of three decimals contradicts three numbers of Table 4.
FIRST_DECIMALS = 4


def rounded(value: float, decimals: int) -> str:
    """Return ``value`` with so many decimals, half up (away from 0) of what four decimals show of it."""
    return rounded_once(float(rounded_once(value, max(decimals, FIRST_DECIMALS))), decimals)


def rounded_once(value: float, decimals: int) -> str:
    """Return ``value`` with so many decimals, half up (away from 0)."""
    number = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    return format(abs(number) if number == 0 else number, "f")


def scientific(log10: float, decimals: int) -> tuple[str, int]:
    """Return mantissa, with so many decimals, and exponent of the number with this decimal logarithm."""
    exponent = math.floor(log10)
    mantissa = rounded_once(10 ** (log10 - exponent), decimals)
    return (rounded_once(1.0, decimals), exponent + 1) if Decimal(mantissa) >= 10 else (mantissa, exponent)
