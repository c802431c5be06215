"""The one look of all figures: colours, order of levels, labels, and how a figure is saved."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cinorms.scales import LEVELS

if TYPE_CHECKING:
    from plotnine import ggplot, theme

#: One colour per level, lowest first: blue and orange tell colour-blind readers apart, both grow darker away
#: from neutral, so that the distance from neutral also survives a grey print.
LEVEL_COLOURS = dict(zip(LEVELS, ("#9c4a00", "#e8a56b", "#d9d9d9", "#7fb3d8", "#1f5f99"), strict=True))
#: One dark grey, purple or green per status without a level; never a colour of the scale.
STATUS_COLOURS = {
    "refusal": "#4d4d4d",
    "needs_context": "#7a6f9b",
    "nonsense": "#b3a8cc",
    "ambiguous": "#54407a",
    "empty": "#b5cfc2",
    "truncated": "#6b8e7f",
    "error": "#000000",
    "invalid": "#8c8c8c",
}
STATUS_LABELS = {"needs_context": "asks for context", "invalid": "invalid (reason not published)"}
PLANTED_MARK = "Planted respondents: no model was asked."


@dataclass(frozen=True)
class Drawn:
    """A figure, its size in inches, and the sentences that go under it."""

    plot: ggplot
    width: float
    height: float
    caption: str


def base_theme() -> theme:
    """Return the theme that every figure starts from."""
    from plotnine import element_blank, element_line, element_rect, element_text, theme, theme_minimal

    return theme_minimal(base_size=10, base_family="DejaVu Sans") + theme(
        panel_grid_minor=element_blank(),
        panel_grid_major=element_line(color="#e6e6e6", size=0.5),
        plot_title=element_text(size=12, weight="bold", ha="left"),
        plot_subtitle=element_text(size=9, color="#444444", ha="left"),
        plot_caption=element_text(size=8, color="#444444", ha="left"),
        plot_background=element_rect(fill="white", color="white"),
        legend_position="bottom",
        legend_title=element_blank(),
        legend_text=element_text(size=9),
        legend_key_size=11,
        axis_text=element_text(size=9, color="#222222"),
        strip_text=element_text(size=9, weight="bold"),
    )


def note(planted: bool, *parts: str) -> str:
    """Return the note under a figure: its parts, and the mark of planted respondents where it applies."""
    return "\n".join([*parts, *([PLANTED_MARK] if planted else [])])


def save(drawn: Drawn, pdf: str | Path, png: str | Path, svg: str | Path, caption: str | Path) -> None:
    """Write the figure as PDF, PNG (200 dots per inch) and SVG, and its caption as text; each whole or not at all."""
    import matplotlib as mpl

    # Text stays text in SVG and PDF (searchable, editable), and equal figures are equal files.
    mpl.rcParams.update({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "cinorms"})
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
    figure = drawn.plot.draw()
    figure.set_size_inches(drawn.width, drawn.height)
    for path in map(Path, (pdf, png, svg)):
        kind = path.suffix[1:]
        part = path.with_name(f"{path.stem}.part.{kind}")
        figure.savefig(part, dpi=200, metadata=dateless[kind])
        os.replace(part, path)
    Path(caption).write_text(drawn.caption + "\n", encoding="utf-8")
