"""The look of all figures: text has the ink that can be read on its colour."""

from __future__ import annotations

import io
import re
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from fontTools.ttLib import TTFont
from plotnine import aes, geom_col, geom_text, geom_tile, ggplot, scale_color_identity

from cinorms.core.errors import ConfigError
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


def small_entry(width: float | None) -> Any:
    """Return an entry with a width and no other option."""
    return SimpleNamespace(name="held", mark="", options=SimpleNamespace(width=width, height=None, title="T"))


def test_a_narrower_figure_is_the_same_figure_smaller_in_every_format(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(theme, "DPI", 60)
    words = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    sizes = {}
    for width in (None, 6.0):
        plot = ggplot(words, aes("x", "y")) + geom_text(label="word")
        drawn = theme.finish(plot, small_entry(width), words, (8.0, 4.0), "Two words.")
        files = [tmp_path / f"{width}.{kind}" for kind in ("pdf", "png", "svg", "txt")]
        theme.save(drawn, *files)
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", files[0].read_bytes())
        svg = re.search(r'<svg height="([\d.]+)pt"|height="([\d.]+)pt"', files[2].read_text(encoding="utf-8"))
        assert box
        assert svg
        sizes[width] = (
            [float(side) for side in box.groups()],
            struct.unpack(">II", files[1].read_bytes()[16:24]),
            float(svg[1] or svg[2]),
        )
    assert sizes == {
        None: ([576.0, 288.0], (480, 240), 288.0),
        6.0: ([432.0, 216.0], (360, 180), 216.0),
    }


def test_a_width_at_which_nothing_could_be_read_is_refused_with_the_least() -> None:
    assert theme._zoom(small_entry(4.5), 8.0) == 0.5625
    assert theme._zoom(small_entry(9.0), 8.0) == 1
    with pytest.raises(ConfigError, match=r"figures\.held\.width: 3\.33 .* 3\.3 points .* at least 4\.5\. "):
        theme._zoom(small_entry(3.33), 8.0)
