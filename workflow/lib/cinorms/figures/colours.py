"""Colours of figures, which colour-blind readers tell apart, and the ink on them."""

from collections.abc import Sequence
from itertools import cycle

import numpy as np
import pandas as pd

from cinorms.core.scales import Scale

#: The two sides of a scale, from the end to the midpoint: in a grey print the five of a scale of five, and the grey of
#: no norm, are at even steps from dark to light.
LOWER, UPPER = ("#5e2400", "#d2722f", "#fbf3d5"), ("#2166ac", "#aed4f0", "#fbf3d5")
#: What is compared (arms, thresholds), with a marker each.
GROUPS = ("#1f4e79", "#e69f00", "#7fb7a3", "#9b1b1b", "#8c8c8c", "#000000", "#c9a0dc", "#5b8c2a")
GROUP_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
#: From none to all; the last is that of a figure in one colour.
SHARES = ("#f7f7f7", "#d3e2ee", "#9cc3e0", "#1f4e79")
#: A flow on which the model holds no norm.
NO_NORM_COLOUR = "#a6a6a6"
#: One purple or green per status without a level; never a colour of the scale, nor the grey of no norm.
STATUS_COLOURS = {
    "refusal": "#8a3b6e",
    "needs_context": "#7a6f9b",
    "nonsense": "#b3a8cc",
    "ambiguous": "#54407a",
    "empty": "#b5cfc2",
    "truncated": "#6b8e7f",
    "error": "#000000",
    "conditional": "#8f7fa0",
    "invalid": "#c7a9bd",
    "trace_cut": "#3f5c50",
    "not_a_rating": "#2f4a41",
}
#: All of them together.
INVALID_COLOUR = "#ddd5ea"
#: The grey of a flow without a norm in a bar of norms, by reason.
NORM_COLOURS = {"below_t_val": "#4d4d4d", "no_majority": "#8c8c8c", "tie": "#c4c4c4"}
#: Of words and marks on a colour: the one with more contrast, at least 4.5 to 1 on every colour. In the dark both stay
#: as they are, like the colours, so nothing on paper has them.
INK, LIGHT_INK = "#111111", "#fefefe"


def group_looks(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the colour and the marker of each group; beyond the number of colours, a colour has another marker."""
    markers = [GROUP_MARKERS[(i + i // len(GROUPS)) % len(GROUP_MARKERS)] for i in range(len(names))]
    return dict(zip(names, cycle(GROUPS), strict=False)), dict(zip(names, markers, strict=True))


def level_colours(scale: Scale) -> dict[int, str]:
    """Return one colour per level, lowest first: the further from the middle of the scale, the stronger."""
    lower, upper = scale.sides.count(-1), scale.sides.count(1)
    colours = {}
    for i, (level, side) in enumerate(zip(scale.levels, scale.sides, strict=True)):
        above = 1 - (len(scale.levels) - 1 - i) / max(upper, 1)
        strength = {-1: (lower - i) / max(lower, 1), 0: 0.0, 1: above}[side]
        colours[level] = mixed((UPPER if side > 0 else LOWER)[::-1], strength)
    return colours


def mixed(stops: Sequence[str], share: float) -> str:
    """Return the colour at a ``share`` of the way from the first to the last of some evenly spaced colours."""
    parts = np.array([rgb(stop) for stop in stops]).T
    places = np.linspace(0, 1, len(stops))
    return "#" + "".join(f"{round(float(np.interp(share, places, part))):02x}" for part in parts)


def rgb(colour: str) -> list[int]:
    """Return the red, green and blue of a colour, 0 to 255."""
    return [int(colour[digit : digit + 2], 16) for digit in (1, 3, 5)]


def ink_on(colour: str, light: str = LIGHT_INK, dark: str = INK) -> str:
    """Return the colour of text on ``colour``: ``light`` where white has more contrast than black (WCAG 2)."""
    parts = [part / 255 for part in rgb(colour)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    # Contrast to white is 1.05 / (luminance + 0.05), to black (luminance + 0.05) / 0.05.
    return light if (luminance + 0.05) ** 2 < 1.05 * 0.05 else dark


def share_looks(shares: "pd.Series[float]", no_norm: "pd.Series[bool] | None" = None) -> pd.DataFrame:
    """Return the colour of each of ``shares`` and the ink on it, from the number that is printed.

    Two cells that print the same number look the same, but for those of flows with ``no_norm``, which are grey.
    """
    printed = shares.astype("float64").round(2).clip(0, 1)
    greys = [False] * len(shares) if no_norm is None else no_norm
    fills = [
        mixed((SHARES[0], NO_NORM_COLOUR) if grey else SHARES, value) if value == value else "#e0e0e0"
        for value, grey in zip(printed, greys, strict=True)
    ]
    inks = [ink_on(fill) for fill in fills]
    return pd.DataFrame({"fill": pd.array(fills, "str"), "ink": pd.array(inks, "str")}, index=shares.index)
