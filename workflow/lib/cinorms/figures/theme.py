"""The one look of all figures: colours, order of levels, labels, and how a figure is saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.core.files import replacing
from cinorms.core.scales import Scale
from cinorms.entries.entry import Entry
from cinorms.entries.options import OfFlows
from cinorms.figures.options import FigureOptions
from cinorms.figures.texts import wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from plotnine import ggplot, theme

#: Colours of a scale's lower and upper side, from the end to the midpoint. Orange and blue tell colour-blind readers
#: apart; in a grey print the five of a scale of five, and the grey of no norm, are at even steps from dark to light.
LOWER_COLOURS = ("#5e2400", "#d2722f", "#fbf3d5")
UPPER_COLOURS = ("#2166ac", "#aed4f0", "#fbf3d5")
#: A flow on which the model holds no norm.
NO_NORM_COLOUR = "#a6a6a6"
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
    "trace_cut": "#3f5c50",
}
STATUS_LABELS = {
    "needs_context": "asks for context",
    "invalid": "invalid (reason not published)",
    "trace_cut": "reasoning cut short",
}
#: The grey of a flow without a norm in a bar of norms, by reason.
NORM_COLOURS = {"below_t_val": "#4d4d4d", "no_majority": "#8c8c8c", "tie": "#c4c4c4"}
#: Colours of groups that are compared (arms, thresholds), with the marker that also shows in grey.
GROUP_COLOURS = ("#1f4e79", "#e69f00", "#7fb7a3", "#a8326e", "#8c8c8c", "#000000", "#c9a0dc", "#5b8c2a")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: From none to all of something, light to dark.
SHARE_COLOURS = ("#f7f7f7", "#c9dbe8", "#7ba6c6", "#2f6690")
#: Text on shares up to this is dark.
LIGHT_SHARES = 0.75
INK = "#222222"

#: Dots per inch of a PNG.
DPI = 200
#: Letters in a line of a caption's file.
CAPTION_WIDTH = 100
#: Sizes of paper in inches, and the margin that a figure keeps round itself.
A3 = (11.7, 16.5)
MARGIN = 0.25
#: Sizes of text in points.
TITLE_SIZE, TEXT_SIZE, NOTE_SIZE = 12.0, 9.0, 8.0


@dataclass(frozen=True)
class Drawn:
    """A figure, its size in inches, the sentences that go under it; ``further`` are pages after the first.

    ``data`` are the values that it shows, under the columns that its kind declares; ``nothing`` is why it shows none.
    """

    plot: ggplot
    width: float
    height: float
    caption: str
    data: pd.DataFrame
    nothing: str = ""
    further: tuple[ggplot, ...] = ()

    @property
    def pages(self) -> tuple[ggplot, ...]:
        """All pages; most figures have one."""
        return (self.plot, *self.further)


def level_colours(scale: Scale) -> dict[int, str]:
    """Return one colour per level, lowest first: the further from the middle of the scale, the stronger."""
    lower, upper = scale.sides.count(-1), scale.sides.count(1)
    found = []
    for i, side in enumerate(scale.sides):
        strength = {
            -1: (lower - i) / max(lower, 1),
            0: 0.0,
            1: 1 - (len(scale.levels) - 1 - i) / max(upper, 1),
        }
        found.append(_between(UPPER_COLOURS if side > 0 else LOWER_COLOURS, strength[side]))
    return dict(zip(scale.levels, found, strict=True))


def _between(colours: Sequence[str], strength: float) -> str:
    """Return the colour at ``strength`` (0 to 1) on the way from the last of ``colours`` to the first."""
    stops = np.linspace(1, 0, len(colours))[::-1]
    parts = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours])[::-1]
    red, green, blue = (round(float(np.interp(strength, stops, parts[:, part]))) for part in range(3))
    return f"#{red:02x}{green:02x}{blue:02x}"


def base_theme() -> theme:
    """Return the theme that every figure starts from."""
    from plotnine import element_blank, element_line, element_rect, element_text, theme, theme_minimal

    return theme_minimal(base_size=10, base_family="DejaVu Sans") + theme(
        panel_grid_minor=element_blank(),
        panel_grid_major=element_line(color="#e6e6e6", size=0.5),
        plot_title=element_text(size=TITLE_SIZE, weight="bold", ha="left"),
        plot_subtitle=element_text(size=TEXT_SIZE, color="#444444", ha="left"),
        plot_caption=element_text(size=NOTE_SIZE, color="#444444", ha="left"),
        plot_title_position="plot",
        plot_caption_position="plot",
        plot_background=element_rect(fill="white", color="white"),
        legend_position="bottom",
        legend_title=element_blank(),
        legend_text=element_text(size=TEXT_SIZE),
        legend_key_size=11,
        axis_text=element_text(size=TEXT_SIZE, color=INK),
        strip_text=element_text(size=TEXT_SIZE, weight="bold"),
    )


def note(mark: str, *parts: str) -> str:
    """Return the note under a figure: its parts, and last the mark of planted respondents where there is one."""
    return "\n".join(part for part in (*parts, mark) if part)


def finish(
    plot: ggplot,
    entry: Entry[FigureOptions],
    data: pd.DataFrame,
    size: tuple[float, float],
    under: str,
    *more: str,
) -> Drawn:
    """Return the figure with theme, title and note; ``under`` appears under it, ``more`` in the caption only.

    ``data`` are the values that it shows. ``size`` in inches is used where the entry states no ``width`` or ``height``.
    """
    from plotnine import labs, theme

    width, height = entry.options.width or size[0], entry.options.height or size[1]
    inside = width - 2 * MARGIN
    title = wrap(entry.options.title, inside, TITLE_SIZE, bold=True)
    caption = wrap(note(entry.mark, under), inside, NOTE_SIZE)
    plot += [labs(title=title, caption=caption), theme(figure_size=(width, height))]
    return Drawn(plot, width, height, note(entry.mark, under, *more), data)


def empty(entry: Entry[FigureOptions], reason: str) -> Drawn:
    """Return a figure that only states why there is nothing to show."""
    from plotnine import aes, element_blank, geom_text, ggplot, labs, theme

    width = entry.options.width or 6.0
    text = wrap(f"Nothing to show: {reason}", width - 6 * MARGIN, 11)
    plot = ggplot(pd.DataFrame({"x": [0], "y": [0], "label": [text]}), aes("x", "y", label="label"))
    plot += [geom_text(size=11, color=INK), labs(x="", y=""), base_theme()]
    plot += theme(axis_text=element_blank(), panel_grid_major=element_blank())
    drawn = finish(plot, entry, pd.DataFrame(), (6.0, 2.5), "n = 0.", f"Nothing to show: {reason}")
    return replace(drawn, nothing=reason)


def thresholds_text(entry: Entry[Any]) -> str:
    """Return in words which norms were kept: every model's t_val, and the t_maj."""
    t_vals = {model: entry.thresholds[model].t_val for _, model in entry.selected}
    usual = max(set(t_vals.values()), key=list(t_vals.values()).count, default=0)
    others = [f"{t} for {model}" for model, t in t_vals.items() if t != usual]
    enough = f"at least {usual} valid answers" if usual > 1 else "at least one valid answer"
    least = enough + (f" ({', '.join(others)})" if others else "")
    t_maj = next((under.t_maj for under in entry.thresholds.values()), "plurality")
    agree = (
        "the most frequent level"
        if t_maj == "plurality"
        else f"a level given by at least {t_maj:.0%} of them"
    )
    return f"Norms: {least}, {agree}."


def selection_text(entry: Entry[OfFlows]) -> str:
    """Return in words which flows were chosen."""
    select = entry.options.select or {}
    if not select:
        return ""
    parts = [f"{name.replace('_', ' ')}: {'; '.join(map(str, levels))}" for name, levels in select.items()]
    return f"Only flows with {', and '.join(parts)}."


def is_dark(colour: str) -> bool:
    """Tell whether white has more contrast than black on ``colour`` (WCAG 2): small numbers are printed on it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # Contrast to white is 1.05 / (luminance + 0.05), to black (luminance + 0.05) / 0.05.
    return (luminance + 0.05) ** 2 < 1.05 * 0.05


def ink_on(colour: str, light: str = "white", dark: str = INK) -> str:
    """Return the colour of text on ``colour``: light or dark."""
    return light if is_dark(colour) else dark


def inks_on_shares(shares: pd.Series[float]) -> npt.NDArray[np.str_]:
    """Return the colour of text on each of ``shares`` as `SHARE_COLOURS` show them."""
    return np.where(shares.fillna(0) > LIGHT_SHARES, "white", INK)


def save(drawn: Drawn, pdf: str | Path, png: str | Path, svg: str | Path, caption: str | Path) -> None:
    """Write the figure as PDF, PNG and SVG, and its caption as text.

    Each appears whole or not at all. The PDF has every page, PNG and SVG the first one.
    """
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from matplotlib.backends.backend_pdf import PdfPages

    # Text stays text in SVG and PDF (searchable, editable), and equal figures are equal files.
    mpl.rcParams.update({"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "cinorms"})
    # A dollar in a label begins no formula.
    mpl.rcParams["text.parse_math"] = False
    _embed_shapes_only()
    first = _figure(drawn, drawn.plot)
    for path, kind, facts in ((png, "png", {"Software": None}), (svg, "svg", {"Date": None})):
        with replacing(path) as part:
            first.savefig(part, format=kind, dpi=DPI, metadata=facts)
    with replacing(pdf) as part, PdfPages(part, metadata={"CreationDate": None}) as document:
        document.savefig(first)
        plt.close(first)
        for page in drawn.further:
            figure = _figure(drawn, page)
            document.savefig(figure)
            plt.close(figure)
    # In short lines, as Snakemake's report shows them as they are.
    lines = [fill(line, CAPTION_WIDTH) for line in drawn.caption.split("\n")]
    Path(caption).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _embed_shapes_only() -> None:
    """Leave out of embedded fonts what only a program needs that sets text; a PDF states which shape goes where.

    Reading these tables takes as long as all else that is done to embed a font.
    """
    from fontTools.subset import Options

    for table in ("GDEF", "GPOS", "GSUB"):
        if table not in Options._drop_tables_default:
            Options._drop_tables_default.append(table)


def _figure(drawn: Drawn, page: ggplot) -> Figure:
    _draw_at_once(page)
    figure = page.draw()
    figure.set_size_inches(drawn.width, drawn.height)
    # The layout is computed once, not again for each format; at a high resolution, as letters of few
    # dots are wider or narrower than they are in print.
    figure.set_dpi(DPI)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    return figure


def _draw_at_once(plot: ggplot) -> None:
    """Make the words, tiles and boxes of each layer one group, where nothing is stacked.

    Plotnine makes a group of each combination of colour, place and label, and takes longer for each than to draw it.
    """
    from plotnine import geom_rect, geom_text, geom_tile, position_identity, position_nudge

    for layer in plot.layers:
        apart = isinstance(layer.position, (position_identity, position_nudge))
        if apart and isinstance(layer.geom, (geom_text, geom_tile, geom_rect)):
            layer.mapping["group"] = 1
