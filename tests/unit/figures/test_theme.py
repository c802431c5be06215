"""The look of all figures: text has the ink that can be read on its colour."""

from __future__ import annotations

import pandas as pd
import pytest

from cinorms.figures import theme


@pytest.mark.parametrize(
    ("colour", "dark"), [("#ffffff", False), ("#000000", True), ("#d2722f", False), ("#757575", True)]
)
def test_white_text_stands_where_it_has_more_contrast(colour: str, dark: bool) -> None:
    assert theme.is_dark(colour) == dark
    assert theme.ink_on(colour) == ("white" if dark else theme.INK)


def test_only_large_shares_have_white_text() -> None:
    shares = pd.Series([0.75, 0.76, 1.2, None], dtype="float64")
    assert theme.inks_on_shares(shares).tolist() == [theme.INK, "white", "white", theme.INK]
