"""What all figures share: options and look, their data, how they are saved.

Matplotlib measures all text and breaks titles, notes and axis titles; plotnine places all. Only what they need to know
before is computed here: how large a figure is, and where labels within it break (`wrap` says why).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from cinorms.core.errors import ConfigError
from cinorms.core.files import replacing
from cinorms.core.labels import model_labels, percent, relabelled
from cinorms.core.schema import NotRequired, Number
from cinorms.entries.entry import Entry, Selected
from cinorms.entries.kind import Kind
from cinorms.entries.options import OfArms, Options
from cinorms.entries.place import EntryLocation
from cinorms.norms.thresholds import norm_needs
from cinorms.vignettes.factors import nameable_factors
from rewordings import Majority

if TYPE_CHECKING:
    import plotnine
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    p9 = plotnine
else:

    class _Later:
        """Plotnine, loaded by the first figure that is drawn (see `entries.kind.kinds`)."""

        def __getattr__(self, name: str) -> Any:
            import plotnine

            return getattr(plotnine, name)

    p9 = _Later()

FONT = "DejaVu Sans"
#: Height of a line over the size of its letters.
LINE = 1.25
#: Dots per inch of a PNG.
DPI = 300
#: Letters in a line of a caption's file.
CAPTION_WIDTH = 100
#: Sizes of text in points: less is hard to read in print.
TITLE_SIZE, TEXT_SIZE, NOTE_SIZE = 10.5, 8.0, 7.0
#: Widths by name, in inches: a column, and the text of a page.
WIDTHS = {"column": 3.33, "text": 7.0}
#: Ink of words, soft words and lines on paper; what is on a colour has `colours.ink_on`. Then what colours are in the
#: dark.
WORDS, SOFT, LINES = "#333333", "#444444", "#1a1a1a"
DARK = {
    "#ffffff": "#15171a",
    "#e6e6e6": "#3a3d42",
    "#444444": "#b3b3b3",
    "#555555": "#b3b3b3",
    "#9b1b1b": "#ff6b6b",
    # A group, but no colour of a level: words on it keep their ink.
    "#1f4e79": "#4f8fe0",
} | dict.fromkeys((WORDS, LINES, "#000000"), "#e9e9e9")
#: Least width of most figures in inches.
ONE_COLUMN = 3.3

#: What the data of every figure end with.
ENDING = {
    "figure_status": "ok, or empty where the figure has nothing to show.",
    "figure_reason": "Why the figure has nothing to show; missing where it shows something.",
}


class FigureOptions(Options):
    """Options of every figure."""

    title: NotRequired[str] = None
    """What is shown, below a sentence of what is seen; default: that sentence alone; none: a figure without title."""
    width: NotRequired[Annotated[Number, Field(ge=2, le=40)] | Literal["column", "text"]] = None
    """Width in inches, or column (3.33, of a paper) or text (7); default: as wide as needed. The figure is laid out for
    it, with text of at least 7 points; a width that has no room for it is refused, with the least that has."""

    @property
    def inches(self) -> float | None:
        """The width as a number."""
        return WIDTHS[self.width] if isinstance(self.width, str) else self.width

    @field_validator("title")
    @classmethod
    def _shown(cls, title: str | None) -> str | None:
        return "" if title == "none" else title


class OfOneDataset(OfArms):
    """Options of a figure that pools the flows of all its arms."""

    def check_options(self, place: EntryLocation) -> None:
        """Refuse arms of several datasets."""
        super().check_options(place)
        datasets = list(dict.fromkeys(place.study.arms[arm].dataset for arm in self.arms))
        if len(datasets) > 1:
            raise place.error(
                "arms", f"these arms use datasets {', '.join(datasets)}; name arms of one dataset only"
            )


def check_factor(place: EntryLocation, part: str, arm: str, factor: str) -> None:
    """Raise ``ConfigError`` unless ``factor``, named in ``part`` of the entry, is one of the arm's dataset."""
    dataset = place.study.factors_of(arm)
    place.check_names(part, [factor], nameable_factors(dataset), f"factor of dataset {dataset.dataset!r}")


@dataclass(frozen=True)
class Drawn:
    """A figure with its size, the sentences that go under it; ``further`` are pages after the first.

    ``data`` are the values that it shows, under the columns that its kind declares; ``nothing`` is why it shows none.
    """

    plot: p9.ggplot
    caption: str
    data: pd.DataFrame
    nothing: str = ""
    further: tuple[p9.ggplot, ...] = ()


def data_of(drawn: Drawn, kind: Kind, labels: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return what a figure of ``kind`` shows: its declared columns in their order, then `ENDING`.

    Models that are drawn with one of the ``labels`` have their names, as in every table. A figure with nothing to show
    has one row with the reason and no other values.
    """
    if drawn.nothing:
        named = [name for name in kind.columns if not name.startswith("<")]
        blank = pd.DataFrame({name: pd.array([None], dtype="str") for name in named})
        return blank.assign(figure_status="empty", figure_reason=drawn.nothing)
    names = {label: name for name, label in (labels or {}).items()}
    data = kind.arranged(relabelled(drawn.data, names))
    return data.assign(figure_status="ok", figure_reason=pd.array([None] * len(data), "str"))


def in_order(values: Iterable[Any], order: Iterable[Any] = ()) -> pd.Categorical[Any]:
    """Return values as categories in the given order, or in that in which they first come."""
    values = list(values)
    return pd.Categorical(values, categories=list(dict.fromkeys(order or values)))


def by_label(selected: Iterable[Selected]) -> dict[str, Selected]:
    """Return what is selected by the label of its model."""
    several = list(selected)
    return dict(zip(model_labels((one.arm, one.model) for one in several), several, strict=True))


def panels(column: str, across: int, inches: float, **how: Any) -> p9.facet_wrap:
    """Return a panel for each value of a column, ``across`` of them side by side; names break to fit its ``inches``."""
    how["labeller"] = lambda name: wrap(name, inches, TEXT_SIZE, bold=True)
    return p9.facet_wrap(column, ncol=across, **how)


def panel_grid(
    n: int, entry: Entry[FigureOptions], usual: float, least: float, labels: float
) -> tuple[float, int, int, p9.facet_wrap]:
    """Return the width of a figure of ``n`` panels, how many are in a row and in a column, and those of column panel.

    A panel has the ``usual`` width in inches next to ``labels``, and the ``least`` where the entry states a width.
    """
    inches = entry.options.inches
    across = max(1, min(4, n, int((inches - labels) / least + 1e-9) if inches else 4))
    width = room(entry, max(4.5, across * usual + labels), across * least + labels)
    return width, across, -(-n // across), panels("panel", across, (width - labels) / across - 0.2)


def percents(shares: Iterable[Any]) -> list[str]:
    """Return shares in words, as labels of an axis."""
    return [percent(part) for part in shares]


def span(numbers: pd.Series[int]) -> str:
    """Return the smallest and the largest of some counts in words, one number where they are equal."""
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def base_theme() -> p9.theme:
    """Return the theme that every figure starts from. Words round the panels break where the figure ends."""
    broken: dict[str, Any] = {"wrap": True}
    return p9.theme_minimal(base_size=TEXT_SIZE, base_family=FONT) + p9.theme(
        panel_grid_minor=p9.element_blank(),
        panel_grid_major=p9.element_line(color="#e6e6e6", size=0.5),
        plot_title=p9.element_text(size=TITLE_SIZE, weight="bold", ha="left", **broken),
        plot_subtitle=p9.element_text(color=SOFT, ha="left", margin={"b": 9, "unit": "pt"}, **broken),
        plot_caption=p9.element_text(size=NOTE_SIZE, color=SOFT, ha="left", **broken),
        plot_title_position="plot",
        plot_caption_position="plot",
        plot_background=p9.element_rect(fill="white", color="white"),
        legend_position="bottom",
        legend_title=p9.element_blank(),
        legend_key_size=10,
        text=p9.element_text(size=TEXT_SIZE, color=WORDS),
        # Next to wide labels a centred one would end beyond the figure.
        axis_title_x=p9.element_text(ha="left", multialignment="left", **broken),
        axis_text=p9.element_text(size=TEXT_SIZE, color=WORDS),
        strip_text=p9.element_text(weight="bold"),
    )


@cache
def width_of(line: str, size: float, bold: bool = False) -> float:
    """Return how wide one line is in inches at ``size`` points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=FONT, weight="bold" if bold else "normal", size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(line, font, ismath=False)
    return float(width) / 72


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width in inches of the widest line in ``texts`` at ``size`` points; 0 without any."""
    return max((width_of(line, size) for text in texts for line in text.split("\n")), default=0.0)


def height_of(text: str, size: float) -> float:
    """Return the height in inches of a text of one or more lines at ``size`` points."""
    return (text.count("\n") + 1) * size * LINE / 72


def wrap(text: str, inches: float, size: float, bold: bool = False) -> str:
    """Return ``text`` with line breaks, so that lines fit ``inches`` at ``size`` points; its own breaks stay.

    Matplotlib breaks a text only where the figure ends (``wrap``), whatever is next to it: labels of rows would lie
    over the panel, and names of panels over each other. Plotnine's labellers break nothing.
    """
    lines = text.split("\n")
    # Within a word only where it is longer than a line.
    long = any(width_of(word, size, bold) > inches for word in text.split())
    # A line of narrow letters has more of them.
    most = int(
        1.3 * inches * max((len(line) / width_of(line, size, bold) for line in lines if line), default=0)
    )
    for letters in range(max(4, most), 3, -1):
        broken = "\n".join(fill(line, letters, break_on_hyphens=long) for line in lines)
        if all(width_of(line, size, bold) <= inches for line in broken.split("\n")):
            break
    return broken


def finish(
    plot: p9.ggplot,
    entry: Entry[FigureOptions],
    data: pd.DataFrame,
    size: tuple[float, float],
    finding: str,
    *notes: str,
) -> Drawn:
    """Return the figure with its caption. Its title is the ``finding``, a sentence, with the entry's title below.

    ``notes`` are in the caption only; it also states which flows were selected, and the finding of a figure without a
    title. Both figure and caption end with the mark of planted respondents where there is one. ``data`` are the values
    shown. ``size`` in inches is what the figure needs without its words above and below.
    """
    options, width = entry.options, size[0]
    above = ["", ""] if options.title == "" else [finding, options.title or ""]
    above = above if above[0] else above[::-1]
    words = zip((TITLE_SIZE, TEXT_SIZE, NOTE_SIZE), (*above, entry.mark), (True, False, False), strict=True)
    lines = sum(
        height_of(wrap(text, width - 0.1, points, bold), points) for points, text, bold in words if text
    )
    plot += p9.labs(title=above[0], subtitle=above[1] or None, caption=entry.mark)
    plot += p9.theme(figure_size=(width, size[1] + lines))
    select = getattr(entry.options, "select", None) or {}
    parts = [f"{name.replace('_', ' ')}: {'; '.join(map(str, levels))}" for name, levels in select.items()]
    selected = f"Only flows with {', and '.join(parts)}." if parts else ""
    untold = f"{finding}." if finding and not any(above) else ""
    caption = "\n".join(filter(None, (untold, *notes, selected, entry.mark)))
    return Drawn(plot, caption, data)


def room(entry: Entry[FigureOptions], usual: float, least: float) -> float:
    """Return the width of a figure in inches: that of the entry, or the ``usual`` one.

    Raises ``ConfigError`` where it is less than the ``least``, at which text of 7 points has room.
    """
    inches = entry.options.inches
    if inches is None:
        return usual
    if inches < least - 1e-9:
        raise ConfigError(
            f"figures.{entry.name}.width: {inches:g} inches are too few for this figure with text of {NOTE_SIZE:g} "
            f"points; allowed: at least {np.ceil(100 * least - 1e-6) / 100:g}. A figure of fewer models or levels "
            "(models, select) may be narrower"
        )
    return inches


def key_columns(labels: Iterable[str], inches: float, most: int = 5) -> int:
    """Return how many labels of a legend are in a row, so that each row fits; a legend is centred on the panels."""
    widths = [width_of(label, TEXT_SIZE) + 0.4 for label in labels]
    rows = ((n, [sum(widths[i : i + n]) for i in range(0, len(widths), n)]) for n in range(most, 1, -1))
    return next((n for n, row in rows if max(row, default=0) <= inches), 1)


def empty(entry: Entry[FigureOptions], reason: str) -> Drawn:
    """Return a figure that only states why there is nothing to show."""
    said = f"Nothing to show: {reason}"
    # Below a panel without anything: matplotlib breaks the title of an axis.
    plot = p9.ggplot() + p9.labs(x=said) + base_theme()
    drawn = finish(plot, entry, pd.DataFrame(), (room(entry, 6.0, 2.5), 0.9), "")
    caption = "\n".join(filter(None, ("n = 0.", said, entry.mark)))
    return replace(drawn, caption=caption, nothing=reason)


def thresholds_text(entry: Entry[Any]) -> str:
    """Return in words which norms were kept: every model's t_val, and the t_maj."""
    t_vals = {model: entry.thresholds[model].t_val for _, model in entry.selected}
    t_maj: Majority = next((under.t_maj for under in entry.thresholds.values()), "plurality")
    return f"A norm needs {norm_needs(t_vals, t_maj)}."


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
    first = _figure(drawn.plot)
    for path, kind, metadata in ((png, "png", {"Software": None}), (svg, "svg", {"Date": None})):
        with replacing(path) as part:
            first.savefig(part, format=kind, dpi=DPI, metadata=metadata)
            if kind == "svg":
                _add_dark_colours(Path(part))
    with replacing(pdf) as part, PdfPages(part, metadata={"CreationDate": None}) as document:
        document.savefig(first)
        plt.close(first)
        for page in drawn.further:
            figure = _figure(page)
            document.savefig(figure)
            plt.close(figure)
    # In short lines, as Snakemake's report shows them as they are.
    lines = [fill(line, CAPTION_WIDTH) for line in drawn.caption.split("\n")]
    Path(caption).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _add_dark_colours(path: Path) -> None:
    """Let a drawing follow its reader's choice of a dark page. What is on a colour keeps its ink, like the colour."""
    rules = [
        f"{element}[style*='{kind}: {light}'] {{ {kind}: {dark} !important }}"
        for light, dark in DARK.items()
        for element, kind in ((":not(text)", "fill"), (":not(text)", "stroke"), ("text", "fill"))
    ]
    rules.append(f"text:not([style*='fill']) {{ fill: {DARK[WORDS]} }}")
    style = "<style>@media (prefers-color-scheme: dark) { " + " ".join(rules) + " }</style>"
    opening, svg, rest = path.read_text(encoding="utf-8").partition("<svg ")
    head, end, inside = rest.partition(">")
    path.write_text(opening + svg + head + end + style + inside, encoding="utf-8")


def _figure(plot: p9.ggplot) -> Figure:
    _draw_at_once(plot)
    figure = plot.draw()
    # The layout is computed once, not again for each format; at a high resolution, as letters of few
    # dots are wider or narrower than they are in print.
    figure.set_dpi(DPI)
    for text in figure.texts:
        # Matplotlib takes two dollars for a formula where it breaks lines.
        text.set(text=text.get_text().replace("$", r"\$"), parse_math=True)
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        # Where a text breaks depends on its place, and what is under it on its lines. They stay the same in each
        # format, also where its letters have other widths.
        lines = [_lines(text) for text in figure.texts]
        for text, broken in zip(figure.texts, lines, strict=True):
            text.set(text="\n".join(broken), wrap=False, parse_math=False)
        if any(len(broken) > 1 for broken in lines):
            engine.execute(figure)
        figure.set_layout_engine(None)
    return figure


def _lines(text: Text) -> list[str]:
    """Return the lines in which matplotlib draws a text."""
    from matplotlib.backends.backend_agg import RendererAgg

    found: list[str] = []

    class Reader(RendererAgg):
        def draw_text(self, gc: Any, x: float, y: float, s: str, *how: Any, **more: Any) -> None:
            found.append(s)

    text.draw(Reader(1, 1, DPI))
    return found


def _draw_at_once(plot: p9.ggplot) -> None:
    """Make the words, tiles and boxes of each layer one group, where nothing is stacked.

    Plotnine makes a group of each combination of colour, place and label, and takes longer for each than to draw it.
    """
    from plotnine import geom_rect, geom_text, geom_tile, position_identity, position_nudge

    for layer in plot.layers:
        apart = isinstance(layer.position, (position_identity, position_nudge))
        if apart and isinstance(layer.geom, (geom_text, geom_tile, geom_rect)):
            layer.mapping["group"] = 1
