"""Where the cells and labels of a heatmap are, in inches, and the shapes of a cell's parts.

Labels are measured, cells take what is left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.figures.theme import A3, LINE, MARGIN, height_of, widest, wrap

Floats = npt.NDArray[np.float64]

#: Largest cell in inches, largest and smallest text of a level in points, space between blocks in cells.
MAX_CELL, MAX_TEXT, MIN_TEXT, GAP = 0.27, 8.0, 4.5, 0.5
#: Letters in points that a label should have where there is room.
READABLE = 6.5
#: How much longer one side of a cell may be than the other.
STRETCH = 1.4
#: Space between a label and what it belongs to.
SPACE = 0.06
#: What title, legend and note take of the height.
AROUND = 1.3


@dataclass(frozen=True)
class LabelAxis:
    """Rows or columns: labels of the outer blocks (none: one block) and of the cells within each."""

    outer: tuple[str, ...]
    inner: tuple[str, ...]

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return max(1, len(self.outer))

    @property
    def units(self) -> float:
        """Length in cells, the gaps between blocks counted."""
        return self.blocks * len(self.inner) + GAP * (self.blocks - 1)

    def start(self, outer: Any, inner: Any) -> Any:
        """Return in cells where a cell begins."""
        return outer * (len(self.inner) + GAP) + inner


@dataclass(frozen=True)
class Layout:
    """Everything's place in inches; the origin is the lower left corner of the cells.

    ``row_labels`` and ``column_labels`` are those of the inner levels, ``row_strips`` and ``column_strips``
    those of the blocks, each broken into lines that fit.
    """

    rows: LabelAxis
    columns: LabelAxis
    cell: tuple[float, float]
    text: float
    row_labels: tuple[str, ...]
    column_labels: tuple[str, ...]
    row_strips: tuple[str, ...]
    column_strips: tuple[str, ...]
    row_strip_text: float
    column_strip_text: float

    @property
    def inside(self) -> tuple[float, float]:
        """Width and height of the cells together."""
        return self.columns.units * self.cell[0], self.rows.units * self.cell[1]

    @property
    def left(self) -> float:
        """Width of the row labels."""
        return widest(self.row_labels, self.text) + 2 * SPACE

    @property
    def bottom(self) -> float:
        """Height of the column labels, which are vertical."""
        return widest(self.column_labels, self.text) + 2 * SPACE

    @property
    def right(self) -> float:
        """Width of the row strips, which are vertical."""
        return max((height_of(s, self.row_strip_text) for s in self.row_strips), default=0) + 2 * SPACE

    @property
    def top(self) -> float:
        """Height of the column strips."""
        return max((height_of(s, self.column_strip_text) for s in self.column_strips), default=0) + 2 * SPACE

    @property
    def fits(self) -> bool:
        """Whether each label has the height of a line."""
        return self.text * LINE / 72 <= min(self.cell) * 1.02

    def corner(self, row: Any, row_block: Any, column: Any, column_block: Any) -> tuple[Any, Any]:
        """Return the lower left corner of cells; the first row is the highest."""
        x = self.columns.start(column_block, column) * self.cell[0]
        y = self.inside[1] - (self.rows.start(row_block, row) + 1) * self.cell[1]
        return x, y


def lay_out(
    rows: LabelAxis, columns: LabelAxis, key_height: float, given: tuple[float | None, float | None]
) -> Layout:
    """Return the layout with the largest cells that fit the width and height that are ``given``, or A3."""
    papers = [(given[0] or width, given[1] or height) for width, height in (A3, A3[::-1])]
    # Where a width is stated, all text can be read in print.
    sizes = np.arange(MAX_TEXT, (MAX_TEXT if given[0] else MIN_TEXT) - 0.01, -0.5)
    tried = [_fit(rows, columns, paper, key_height, text) for paper, text in product(papers, sizes)]
    fitting = [layout for layout in tried if layout.fits]
    # Cells matter most, then letters of a readable size, then short labels: small letters can take two lines.
    best = max(min(layout.cell) for layout in fitting or tried)
    good = [layout for layout in fitting or tried if min(layout.cell) >= 0.9 * best]
    least = min(READABLE, max(layout.text for layout in good))
    return min((layout for layout in good if layout.text >= least), key=lambda it: it.left + it.bottom)


def _fit(
    rows: LabelAxis, columns: LabelAxis, paper: tuple[float, float], key_height: float, text: float
) -> Layout:
    """Return the layout for one paper and size of text: labels and cells settle in a few rounds."""
    cell = (MAX_CELL, MAX_CELL)
    for _ in range(4):
        layout = _with_labels(rows, columns, cell, text)
        width = paper[0] - 2 * MARGIN - layout.left - layout.right
        height = paper[1] - 2 * MARGIN - AROUND - key_height - layout.bottom - layout.top
        wide, high = (max(0.02, a) for a in (width / columns.units, height / rows.units))
        wide, high = min(wide, MAX_CELL, STRETCH * high), min(high, MAX_CELL, STRETCH * wide)
        cell = min(wide, cell[0]), min(high, cell[1])
    return _with_labels(rows, columns, cell, text)


def _with_labels(rows: LabelAxis, columns: LabelAxis, cell: tuple[float, float], text: float) -> Layout:
    row_block, column_block = len(rows.inner) * cell[1], len(columns.inner) * cell[0]
    row_strip, column_strip = (
        _strip_text(rows.outer, row_block, text),
        _strip_text(columns.outer, column_block, text),
    )
    return Layout(
        rows,
        columns,
        cell,
        text,
        row_labels=_in_lines(rows.inner, int(cell[1] * 72 / (text * LINE)), text),
        column_labels=_in_lines(columns.inner, int(cell[0] * 72 / (text * LINE)), text),
        row_strips=tuple(wrap(label, row_block, row_strip, bold=True) for label in rows.outer),
        column_strips=tuple(wrap(label, column_block, column_strip, bold=True) for label in columns.outer),
        row_strip_text=row_strip,
        column_strip_text=column_strip,
    )


def _in_lines(labels: Sequence[str], lines: int, text: float) -> tuple[str, ...]:
    """Return the labels wrapped as narrowly as ``lines`` lines allow."""
    if lines >= 2 and labels:
        words = widest([word for label in labels for word in label.split()], text)
        most = widest(labels, text)
        for inches in np.arange(max(words, most / lines), most, 0.05):
            wrapped = tuple(wrap(label, float(inches), text) for label in labels)
            if max(label.count("\n") for label in wrapped) < lines:
                return wrapped
    return tuple(labels)


def _strip_text(labels: Sequence[str], block: float, least: float) -> float:
    """Return the size at which the longest word of a strip fits its block."""
    longest = widest([word for label in labels for word in label.split()], 10, bold=True) / 10
    return min(9.0, max(least, math.floor(20 * block / longest) / 20)) if longest else 9.0


#: Share of a cell left free on each side.
_EDGE = 0.04
_SW, _SE, _NW, _NE = (_EDGE, _EDGE), (1 - _EDGE, _EDGE), (_EDGE, 1 - _EDGE), (1 - _EDGE, 1 - _EDGE)
_MIDDLE = (0.5, 0.5)

#: By the number of parts of a cell, the corners of each part in the unit square: the whole; above and below
#: the diagonal; top, right, bottom and left, as the papers place their models.
SHAPES: dict[int, Floats] = {
    1: np.array([[_SW, _SE, _NE, _NW]]),
    2: np.array([[_NW, _NE, _SE], [_NW, _SE, _SW]]),
    4: np.array([[_NW, _NE, _MIDDLE], [_NE, _SE, _MIDDLE], [_SE, _SW, _MIDDLE], [_SW, _NW, _MIDDLE]]),
}


def corners(
    x: Floats, y: Floats, part: npt.NDArray[np.intp], n_parts: int, size: tuple[float, float]
) -> pd.DataFrame:
    """Return the corners of every part, its cell's lower left corner being at (x, y): columns group, x, y.

    ``size`` is the cell's width and height; rows come part by part, in the order given.
    """
    shape = SHAPES[n_parts][part]
    corner_x, corner_y = x[:, None] + size[0] * shape[:, :, 0], y[:, None] + size[1] * shape[:, :, 1]
    group = np.repeat(np.arange(len(part)), shape.shape[1])
    return pd.DataFrame({"group": group, "x": corner_x.ravel(), "y": corner_y.ravel()})


def centres(part: npt.NDArray[np.intp], n_parts: int) -> Floats:
    """Return the middle of each part in the unit square, one row each."""
    return np.asarray(SHAPES[n_parts].mean(axis=1)[part])


def geom_cells(*args: Any, **kwargs: Any) -> Any:
    """Return a ``geom_polygon`` that draws polygons of as many corners each, and one path per colour.

    A path per polygon takes a minute for 27,648 triangles, one per colour a second; and triangles of one
    colour that touch show no seam.
    """
    import plotnine as p9
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    class geom_cells(p9.geom_polygon):
        @staticmethod
        def draw_group(
            data: pd.DataFrame, panel_params: Any, coord: Any, ax: Any, params: dict[str, Any]
        ) -> None:
            data = coord.transform(data, panel_params)
            n_corners = int((data["group"] == data["group"].iloc[0]).sum())
            for fill, of_colour in data.groupby("fill", sort=False):
                polygons = of_colour[["x", "y"]].to_numpy().reshape(-1, n_corners, 2)
                path = Path.make_compound_path_from_polys(polygons)
                # Not add_patch, which would look at every corner again: the limits are known.
                ax.add_artist(PathPatch(path, facecolor=fill, linewidth=0, zorder=params["zorder"]))

    return geom_cells(*args, **kwargs)
