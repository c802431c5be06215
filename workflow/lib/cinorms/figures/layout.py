"""Where the cells and labels of a heatmap are, in inches: labels are measured, cells take what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from cinorms.figures.texts import LINE, height_of, widest, width_of, wrap
from cinorms.figures.theme import A3, MARGIN

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
class Side:
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

    rows: Side
    columns: Side
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

    def corner(self, row: Any, row_block: Any, column: Any, column_block: Any) -> tuple[Any, Any]:
        """Return the lower left corner of cells; the first row is the highest."""
        x = self.columns.start(column_block, column) * self.cell[0]
        y = self.inside[1] - (self.rows.start(row_block, row) + 1) * self.cell[1]
        return x, y


def lay_out(rows: Side, columns: Side, key_height: float, given: tuple[float | None, float | None]) -> Layout:
    """Return the layout with the largest cells that fit the width and height that are ``given``, or A3."""
    papers = [(given[0] or w, given[1] or h) for w, h in (A3, A3[::-1])]
    tried = [_fit(rows, columns, paper, key_height, text) for paper, text in product(papers, _texts())]
    fitting = [one for one in tried if one.text * LINE / 72 <= min(one.cell) * 1.02]
    # Cells matter most, then letters of a readable size, then short labels: small letters can take two lines.
    best = max(min(one.cell) for one in fitting or tried)
    good = [one for one in fitting or tried if min(one.cell) >= 0.9 * best]
    least = min(READABLE, max(one.text for one in good))
    return min((one for one in good if one.text >= least), key=lambda one: one.left + one.bottom)


def _texts() -> list[float]:
    return list(np.arange(MAX_TEXT, MIN_TEXT - 0.01, -0.5))


def _fit(rows: Side, columns: Side, paper: tuple[float, float], key_height: float, text: float) -> Layout:
    """Return the layout for one paper and size of text: labels and cells settle in a few rounds."""
    cell, layout = (MAX_CELL, MAX_CELL), None
    for _ in range(4):
        layout = _with_labels(rows, columns, cell, text)
        width = paper[0] - 2 * MARGIN - layout.left - layout.right
        height = paper[1] - 2 * MARGIN - AROUND - key_height - layout.bottom - layout.top
        wide, high = (max(0.02, a) for a in (width / columns.units, height / rows.units))
        wide, high = min(wide, MAX_CELL, STRETCH * high), min(high, MAX_CELL, STRETCH * wide)
        cell = min(wide, cell[0]), min(high, cell[1])
    return _with_labels(rows, columns, cell, text)


def _with_labels(rows: Side, columns: Side, cell: tuple[float, float], text: float) -> Layout:
    row_block, column_block = len(rows.inner) * cell[1], len(columns.inner) * cell[0]
    row_strip_text, column_strip_text = (
        _strip_text(rows.outer, row_block),
        _strip_text(columns.outer, column_block),
    )
    return Layout(
        rows,
        columns,
        cell,
        text,
        _in_lines(rows.inner, int(cell[1] * 72 / (text * LINE)), text),
        _in_lines(columns.inner, int(cell[0] * 72 / (text * LINE)), text),
        tuple(wrap(label, row_block, row_strip_text, bold=True) for label in rows.outer),
        tuple(wrap(label, column_block, column_strip_text, bold=True) for label in columns.outer),
        row_strip_text,
        column_strip_text,
    )


def _in_lines(labels: Sequence[str], lines: int, text: float) -> tuple[str, ...]:
    """Return the labels wrapped as narrowly as ``lines`` lines allow."""
    if lines < 2 or not labels:
        return tuple(labels)
    words = max(width_of(word, text) for label in labels for word in label.split() or [""])
    most = widest(labels, text)
    for inches in np.arange(max(words, most / lines), most, 0.05):
        wrapped = tuple(wrap(label, float(inches), text) for label in labels)
        if max(label.count("\n") for label in wrapped) < lines:
            return wrapped
    return tuple(labels)


def _strip_text(labels: Sequence[str], block: float) -> float:
    """Return the size at which the longest word of a strip fits its block."""
    words = [word for label in labels for word in label.split()]
    longest = max((width_of(word, 10, bold=True) / 10 for word in words), default=0.0)
    return min(9.0, max(5.5, math.floor(20 * block / longest) / 20)) if longest else 9.0
