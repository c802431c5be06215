"""Rounding for print: half up, by way of four decimals; powers of ten keep a mantissa below 10."""

import pytest

from cinorms.printed.cells import rounded, scientific


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.175, 2, "0.18"),  # a tie goes up
        (0.17497, 2, "0.18"),  # four decimals make it a tie
        (0.17494, 2, "0.17"),
        (0.1447, 2, "0.14"),  # not by way of three
        (-0.005, 2, "-0.01"),  # and away from 0
        (-0.004, 2, "0.00"),
        (0.5, 0, "1"),
        (2.5, 0, "3"),
        (1.00005, 4, "1.0001"),
        (1e16, 1, "10000000000000000.0"),
    ],
)
def test_rounding_is_half_up_by_way_of_four_decimals(value, decimals, text):
    assert rounded(value, decimals) == text


@pytest.mark.parametrize(
    ("log10", "decimals", "parts"),
    [(-2.0, 1, ("1.0", -2)), (-1804.77, 2, ("1.70", -1805)), (-0.0001, 1, ("1.0", 0)), (0.5, 0, ("3", 0))],
)
def test_a_mantissa_is_below_ten(log10, decimals, parts):
    assert scientific(log10, decimals) == parts
