"""Boxes or violins of many numbers, one row per model and group: quartiles, 5th and 95th percentile, mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from cinorms.entries.kind import Column
from cinorms.figures.texts import wrap
from cinorms.figures.theme import GROUP_COLOURS, INK, TEXT_SIZE

#: The percentiles that a box shows, in the order of its columns.
PERCENTILES = {"low": 5, "lower": 25, "median": 50, "upper": 75, "high": 95}
#: The numbers of a box, as `summary` names them.
COLUMNS = (
    Column("n", "Numbers in the box."),
    Column("low", "5th percentile."),
    Column("lower", "Lower quartile."),
    Column("median", "Median."),
    Column("upper", "Upper quartile."),
    Column("high", "95th percentile."),
    Column("mean", "Mean."),
)
EXPLAINED = "Boxes: quartiles and median; whiskers: 5th to 95th percentile; diamonds: mean."
VIOLIN_EXPLAINED = (
    f"Outline: density of the flows (Gaussian kernel, scaled to the same peak width). {EXPLAINED}"
)
#: Width in inches of the labels of rows, and height of one row of one group.
LABEL_WIDTH, ROW_HEIGHT = 1.7, 0.26
#: Share of a row's height that its boxes take.
_FILLED = 0.8
#: Share of a violin's height that the box within it takes, and points along its outline.
_INSIDE, _GRID = 0.22, 96


def summary(values: npt.NDArray[np.float64]) -> dict[str, float]:
    """Return n, the ``PERCENTILES`` and the mean of the values that are there; NaN without any."""
    there = values[~np.isnan(values)]
    if not len(there):
        return {"n": 0, **dict.fromkeys((*PERCENTILES, "mean"), np.nan)}
    found = np.percentile(there, list(PERCENTILES.values()))
    return {
        "n": len(there),
        **dict(zip(PERCENTILES, map(float, found), strict=True)),
        "mean": float(there.mean()),
    }


def place(frame: pd.DataFrame, rows: Sequence[str], groups: Sequence[str]) -> pd.DataFrame:
    """Return ``frame`` (columns row, group) with y, bottom and top of each box; the first row is highest."""
    row = -pd.Index(rows).get_indexer(pd.Index(frame["row"]))
    group = pd.Index(groups).get_indexer(pd.Index(frame["group"]))
    each = _FILLED / len(groups)
    y = row + _FILLED / 2 - (group + 0.5) * each
    kind = pd.CategoricalDtype(list(groups), ordered=True)
    return frame.assign(y=y, bottom=y - 0.42 * each, top=y + 0.42 * each, group=frame["group"].astype(kind))


def outlines(values: pd.DataFrame, placed: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the outlines of violins: columns x, y, piece, and those of ``placed`` that ``keys`` name.

    ``values`` has the numbers in its column ``value``; fewer than three different ones have no outline. The
    bandwidth is Silverman's, 0.9 min(standard deviation, interquartile range / 1.34) n^(-1/5).
    """
    parts = []
    numbers_of = {
        key: part["value"].to_numpy(dtype=np.float64)
        for key, part in values.groupby(list(keys), observed=True)
    }
    for piece, row in enumerate(placed.to_dict("records")):
        numbers = numbers_of.get(tuple(row[key] for key in keys), np.array([]))
        if len(np.unique(numbers)) < 3:
            continue
        x = np.linspace(numbers.min(), numbers.max(), _GRID)
        half = _density(numbers, x) * (row["top"] - row["bottom"]) / 2
        outline = {
            "x": np.concatenate([x, x[::-1]]),
            "y": np.concatenate([row["y"] + half, (row["y"] - half)[::-1]]),
        }
        parts.append(pd.DataFrame(outline).assign(piece=piece, **{key: row[key] for key in keys}))
    whole = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["x", "y", "piece", *keys])
    return whole.astype({key: placed[key].dtype for key in keys})


def _density(numbers: npt.NDArray[np.float64], at: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the kernel density of ``numbers``, 1 at its peak."""
    spread = [float(numbers.std()), float(np.subtract(*np.percentile(numbers, [75, 25]))) / 1.34]
    width = 0.9 * min(s for s in spread if s > 0) * len(numbers) ** -0.2
    density = np.exp(-0.5 * ((at[:, None] - numbers) / width) ** 2).sum(axis=1)
    return np.asarray(density / density.max())


def layers(
    placed: pd.DataFrame,
    rows: Sequence[str],
    groups: Sequence[str],
    zero: bool = False,
    violins: pd.DataFrame | None = None,
) -> list[Any]:
    """Return the layers and scales of the boxes; rows without numbers show "none".

    With ``violins``, as `outlines` gives them, the boxes are slim and inside them.
    """
    from plotnine import (
        aes,
        geom_point,
        geom_polygon,
        geom_rect,
        geom_segment,
        geom_text,
        geom_vline,
        scale_fill_manual,
        scale_y_continuous,
        theme,
    )

    some, none = placed[placed["n"] > 0], placed[placed["n"] == 0]
    colours = dict(zip(groups, box_colours(len(groups)), strict=True))
    built: list[Any] = [geom_vline(xintercept=0, color=INK, size=0.5)] if zero else []
    if violins is not None and len(violins):
        here = aes("x", "y", group="piece", fill="group")
        built.append(geom_polygon(here, violins, color=INK, size=0.4))
    if violins is not None:
        shrunk = {side: some["y"] + _INSIDE * (some[side] - some["y"]) for side in ("bottom", "top")}
        some = some.assign(**shrunk)
    if len(some):
        built += [
            geom_segment(aes(x="low", xend="high", y="y", yend="y"), some, color=INK, size=0.5),
            geom_rect(
                aes(xmin="lower", xmax="upper", ymin="bottom", ymax="top", fill="group"),
                some,
                color=INK,
                size=0.4,
            ),
            geom_segment(aes(x="median", xend="median", y="bottom", yend="top"), some, color=INK, size=1.3),
            geom_point(aes(x="mean", y="y"), some, shape="D", fill="white", color=INK, size=1.8, stroke=0.4),
        ]
    if len(none):
        at = none.assign(x=0.0, label="none")
        built.append(geom_text(aes("x", "y", label="label"), at, size=TEXT_SIZE - 2, color=INK, ha="left"))
    return [
        *built,
        scale_fill_manual(values=colours, limits=list(groups)),
        scale_y_continuous(
            breaks=[-i for i in range(len(rows))],
            labels=[wrap(row, LABEL_WIDTH, TEXT_SIZE) for row in rows],
            limits=(-len(rows) + 0.45, 0.55),
            expand=(0, 0),
            minor_breaks=[],
        ),
        *([theme(legend_position="none")] if len(groups) == 1 else []),
    ]


def box_colours(n: int) -> list[str]:
    """Return the colours of ``n`` groups; a single one is light, so that its median is seen."""
    return (
        ["#9fc1dc"] if n == 1 else [_lighter(c) for c in (GROUP_COLOURS * (n // len(GROUP_COLOURS) + 1))[:n]]
    )


def height(rows: int, groups: int) -> float:
    """Return the height of the rows in inches."""
    return rows * max(0.42, 0.12 + ROW_HEIGHT * groups)


def _lighter(colour: str) -> str:
    # A third of white: a box needs its median seen.
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(p + (255 - p) / 3):02x}" for p in parts)
