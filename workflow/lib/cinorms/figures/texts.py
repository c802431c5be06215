"""How wide a text is on paper, and where to break it: labels are measured, not guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

FONT = "DejaVu Sans"
#: Height of a line over the size of its letters.
LINE = 1.25


@cache
def _font(bold: bool) -> Any:
    from matplotlib import get_data_path
    from matplotlib.ft2font import FT2Font

    # Its file comes with matplotlib: to look for it among all of the system's takes a second.
    name = FONT.replace(" ", "") + ("-Bold" if bold else "")
    font = FT2Font(f"{get_data_path()}/fonts/ttf/{name}.ttf")
    font.set_size(100, 72)
    return font


@cache
def _advance(letter: str, bold: bool) -> float:
    """Return how far a letter moves the pen, in its size."""
    # Letter by letter: to have whole lines laid out takes a second for a large heatmap.
    return float(_font(bold).load_char(ord(letter)).linearHoriAdvance) / 65536 / 100


@cache
def width_of(line: str, size: float, bold: bool = False) -> float:
    """Return the width in inches of one line at ``size`` points; kerning, which narrows it, is left out."""
    return sum(_advance(letter, bold) for letter in line) * size / 72


def widest(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Return the width in inches of the widest line in ``texts`` at ``size`` points; 0 without any."""
    return max((width_of(line, size, bold) for text in texts for line in text.split("\n")), default=0.0)


def height_of(text: str, size: float) -> float:
    """Return the height in inches of a text of one or more lines at ``size`` points."""
    return (text.count("\n") + 1) * size * LINE / 72


def wrap(text: str, inches: float, size: float, bold: bool = False) -> str:
    """Return ``text`` with line breaks, so that no line is wider than ``inches`` at ``size`` points.

    Breaks between words, after a hyphen or slash where a word is too long, and within a word at the last.
    Line breaks that are there stay.
    """
    return "\n".join(line for given in text.split("\n") for line in _lines(given, inches, size, bold))


def _lines(text: str, inches: float, size: float, bold: bool) -> list[str]:
    def fits(part: str) -> bool:
        return width_of(part.rstrip(), size, bold) <= inches

    lines, line = [], ""
    for word in re.findall(r"\S+\s*", text):
        pieces = [word] if fits(word) else re.findall(r"[^-/]+[-/]*\s*|[-/]+\s*", word)
        for piece in pieces:
            if line and not fits(line + piece):
                lines.append(line.rstrip())
                line = ""
            line += piece
            while not fits(line) and len(line.rstrip()) > 1:
                most = max(1, sum(fits(line[:n]) for n in range(1, len(line.rstrip()))))
                lines.append(line[:most])
                line = line[most:]
    return [*lines, line.rstrip()] if line.strip() or not lines else lines
