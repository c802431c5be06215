"""The look of all figures: text has the ink that can be read on its colour."""

from __future__ import annotations

import io
import re
import zlib
from pathlib import Path

import pandas as pd
import pytest
from fontTools.ttLib import TTFont
from plotnine import aes, geom_col, geom_text, geom_tile, ggplot, scale_color_identity

from cinorms.figures import theme

INKS = ["#000000", "#222222", "#000000", "#444444"]


@pytest.mark.parametrize(
    ("colour", "dark"), [("#ffffff", False), ("#000000", True), ("#d2722f", False), ("#757575", True)]
)
def test_white_text_stands_where_it_has_more_contrast(colour: str, dark: bool) -> None:
    assert theme.ink_on(colour) == ("white" if dark else theme.INK)


def test_only_large_shares_have_white_text() -> None:
    shares = pd.Series([0.75, 0.76, 1.2, None], dtype="float64")
    assert theme.inks_on_shares(shares).tolist() == [theme.INK, "white", "white", theme.INK]


def test_words_and_tiles_are_one_group_and_the_picture_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = pd.DataFrame(
        {"x": list("abab"), "y": list("ccdd"), "n": [1, 2, 3, 4], "label": list("wxyz"), "ink": INKS}
    )

    def plot() -> ggplot:
        return (
            ggplot(cells, aes("x", "y"))
            + geom_tile(aes(fill="ink"), color="white")
            + geom_text(aes(label="label", color="ink"), nudge_y=0.1)
            + geom_col(aes("x", "n", fill="ink"))
            + scale_color_identity()
        )

    def save(name: str) -> bytes:
        files = [tmp_path / f"{name}.{kind}" for kind in ("pdf", "png", "svg", "txt")]
        theme.save(theme.Drawn(plot(), 3, 2, "Four cells.", cells), *files)
        return files[1].read_bytes()

    monkeypatch.setattr(theme, "DPI", 60)
    drawn = plot()
    theme._draw_at_once(drawn)
    assert [layer.mapping.get("group") for layer in drawn.layers] == [1, 1, None], "columns are stacked"
    at_once = save("at-once")
    monkeypatch.setattr(theme, "_draw_at_once", lambda plot: None)
    assert save("one-by-one") == at_once


def test_a_pdf_embeds_the_shapes_of_its_letters_and_no_tables_for_setting_text(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(theme, "DPI", 72)
    words = pd.DataFrame({"x": [1, 2], "y": [1, 2], "label": ["official file", "AVATAR"]})
    plot = ggplot(words, aes("x", "y", label="label")) + geom_text()
    pdf, *others = (tmp_path / f"words.{kind}" for kind in ("pdf", "png", "svg", "txt"))
    theme.save(theme.Drawn(plot, 3, 2, "Two words.", words), pdf, *others)
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf.read_bytes(), flags=re.DOTALL)
    unpacked = [zlib.decompressobj().decompress(each) for each in streams if each[:1] == b"x"]
    fonts = [TTFont(io.BytesIO(each)) for each in unpacked if each[:4] == b"\x00\x01\x00\x00"]
    assert fonts
    for font in fonts:
        assert "glyf" in font
        assert not {"GDEF", "GPOS", "GSUB"} & set(font.keys())
