"""The look of all figures: text has the ink that can be read on its colour."""

import io
import itertools
import re
import struct
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from plotnine import aes, geom_col, geom_text, geom_tile, ggplot, scale_color_identity
from plotnine import theme as plotnine_theme

from cinorms.core.errors import ConfigError
from cinorms.figures import theme
from cinorms.figures.colours import GROUPS, INK, LIGHT_INK, LOWER, NO_NORM_COLOUR, SHARES, UPPER, ink_on, rgb

from ...entries import make_entry

INKS = ["#000000", "#222222", "#000000", "#444444"]


def test_white_text_stands_where_it_has_more_contrast():
    assert (ink_on("#d2722f"), ink_on("#757575")) == (INK, LIGHT_INK)


#: What people without one of two cones see of linear red, green and blue (Machado, Oliveira and Fernandes 2009).
BLIND = {
    "deutan": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  -0.01182 0.04294 0.968881",
    "protan": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  -0.003882 -0.048116 1.051998",
}


def seen(colour: str, numbers: str) -> Any:
    x = np.array(rgb(colour)) / 255
    linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    y = np.clip(np.array(numbers.split(), float).reshape(3, 3) @ linear, 0, 1)
    return 255 * np.where(y <= 0.0031308, 12.92 * y, 1.055 * y ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("matrix", BLIND.values(), ids=BLIND)
def test_colour_blind_readers_tell_the_colours_apart(matrix):
    levels = [*LOWER, *UPPER[:-1], NO_NORM_COLOUR]
    dark = [theme.DARK.get(colour, colour) for colour in GROUPS]
    assert not theme.DARK.keys() & {*levels, *SHARES[:-1]}
    for colours, least in ((levels, 38), (GROUPS, 45), ([*dark, theme.DARK["#ffffff"]], 34)):
        apart = {
            (a, b): float(np.linalg.norm(seen(a, matrix) - seen(b, matrix)))
            for a, b in itertools.combinations(colours, 2)
        }
        assert min(apart.values()) > least, min(apart, key=lambda pair: apart[pair])


def test_words_and_tiles_are_one_group_and_the_picture_is_the_same():
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

    drawn, pictures = plot(), [io.BytesIO(), io.BytesIO()]
    plot().draw().savefig(pictures[0])
    theme._draw_at_once(drawn)
    assert [layer.mapping.get("group") for layer in drawn.layers] == [1, 1, None], "columns are stacked"
    drawn.draw().savefig(pictures[1])
    assert pictures[0].getvalue() == pictures[1].getvalue()


def small_entry(width: float | str | None) -> Any:
    options = {"arms": ["main"], "title": "T", **({"width": width} if width else {})}
    return make_entry("figures", "distribution", options, name="held")


def test_every_format_has_the_size_of_the_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(theme, "DPI", 60)
    words, written = pd.DataFrame({"x": [1, 2], "y": [1, 2]}), []
    for folder in (tmp_path / "one", tmp_path / "again"):
        folder.mkdir()
        plot = ggplot(words, aes("x", "y")) + geom_text(label="word")
        drawn = theme.finish(plot, small_entry(6.0), words, (6.0, 3.0), "")
        drawn = replace(drawn, further=(plot + plotnine_theme(figure_size=(4, 2)),))
        files = [folder / f"fig.{kind}" for kind in ("pdf", "png", "svg", "txt")]
        theme.save(drawn, *files)
        assert sorted(folder.iterdir()) == sorted(files), "no part of a file is left"
        written.append([file.read_bytes() for file in files])
    assert written[0] == written[1], "equal figures are equal files"
    pdf, png, svg, _ = written[0]
    height = drawn.plot.theme.getp("figure_size")[1]
    box, further = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf)
    assert list(map(float, box)) == pytest.approx([72 * 6, 72 * height], abs=1e-3)
    assert list(map(float, further)) == [72 * 4, 72 * 2]
    assert struct.unpack(">II", png[16:24]) == (360, int(60 * height))
    # What a PNG says of its size in print: so many dots in a metre.
    assert round(struct.unpack(">I", png.split(b"pHYs")[1][:4])[0] * 0.0254) == 60
    assert b'width="432pt"' in svg


def test_a_long_title_breaks_and_the_panel_stays_as_high():
    def draw(title: str) -> Any:
        plot = ggplot(pd.DataFrame({"x": [1], "y": [1]}), aes("x", "y")) + theme.base_theme()
        drawn = theme.finish(plot, small_entry("column"), pd.DataFrame(), (3.3, 2.0), title)
        figure = theme._figure(drawn.plot)
        return figure, figure.axes[0].get_window_extent().height / figure.dpi

    (short, one), (long, three) = draw("Two words"), draw("A finding of many words " * 5)
    assert one == pytest.approx(three, abs=0.12)
    for figure in (short, long):
        assert all(text.get_window_extent().x1 <= 3.3 * figure.dpi for text in figure.texts)
    assert max(text.get_text().count("\n") for text in long.texts) >= 2


@pytest.mark.parametrize("line", ["if it is still illicit", "WWW MMM", "pays $5 or $6 x_1^2"])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_a_line_is_as_wide_as_it_is_drawn(line, weight):
    figure = Figure(dpi=theme.DPI)
    text = figure.text(0, 0, line, size=8, family=theme.FONT, weight=weight, parse_math=False)
    drawn = text.get_window_extent().width / figure.dpi
    assert theme.width_of(line, 8, bold=weight == "bold") == pytest.approx(drawn, rel=0.03)


def test_a_width_with_no_room_for_the_text_is_refused_with_the_least():
    widths = [theme.room(small_entry(width), 9.0, 3.3) for width in (None, "column", "text", 10.0)]
    assert widths == [9.0, 3.33, 7.0, 10.0]
    message = r"figures\.held\.width: 3 inches .* 7 points; allowed: at least 3\.3\. "
    with pytest.raises(ConfigError, match=message):
        theme.room(small_entry(3), 9.0, 3.3)


def test_a_drawing_follows_the_dark_but_what_is_on_a_colour_keeps_its_ink(tmp_path):
    path = tmp_path / "x.svg"
    path.write_text('<svg width="72pt"><text style="fill: #333333">x</text></svg>', encoding="utf-8")
    theme._add_dark_colours(path)
    text = path.read_text(encoding="utf-8")
    assert "text[style*='fill: #333333'] { fill: #e9e9e9 !important }" in text
    assert not {INK, LIGHT_INK} & set(re.findall("#[0-9a-f]{6}", text))


def test_a_legend_has_as_many_columns_as_each_of_its_rows_has_room_for():
    short, long = "ab", "a label that is long"
    assert theme.key_columns([short] * 7, 9.0) == 5
    assert theme.key_columns([long, short, long, short], 1.2 * theme.width_of(long, 9) + 0.9) == 2
    assert theme.key_columns([long] * 3, 1.0) == 1
