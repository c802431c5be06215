"""Kind ``coefficients``: the terms of an ordinal regression with their intervals, models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cinorms.core.labels import POOLED, model_labels
from cinorms.entries.kinds import Selected
from cinorms.figures.texts import height_of, widest, wrap
from cinorms.figures.theme import (
    GROUP_COLOURS,
    GROUP_MARKERS,
    INK,
    TEXT_SIZE,
    Drawn,
    base_theme,
    empty,
    finish,
)

if TYPE_CHECKING:
    from plotnine import ggplot

#: How a term without numbers is marked.
MARKS = {
    "separated": "separated: no finite value",
    "aliased": "not told apart from others",
    "constant_factor": "one level only",
    "not_estimated": "not estimated",
}
#: Room for the labels of levels and for headings in inches; height of one model's line.
LABELS, HEADINGS, LINE_HEIGHT = 3.0, 5.4, 0.13


def draw(selected: Sequence[Selected], entry: dict[str, Any]) -> Drawn:
    """Return a forest plot of the table: a block per factor, a line per level, a mark per model."""
    from plotnine import (
        element_blank,
        guide_legend,
        guides,
        labs,
        scale_color_manual,
        scale_shape_manual,
        scale_y_continuous,
        theme,
    )

    frame = terms(selected[0].frame, entry)
    if frame.empty or not frame["estimate"].notna().any():
        return empty(entry, f"no term of the table '{entry['table']}' has an estimate.")
    fits = list(frame["fit"].cat.categories)
    lines = _lines(frame)
    y = frame.merge(lines, on=["term", "level"])["y"].to_numpy()
    shift = (frame["fit"].cat.codes.to_numpy() - (len(fits) - 1) / 2) * LINE_HEIGHT
    levels = lines[lines["level"] != ""]
    across = max(1, int(HEADINGS / (widest(fits, TEXT_SIZE) + 0.4)))
    plot = (
        _marks(frame.assign(y=y - shift), lines[lines["level"] == ""])
        + scale_color_manual(values=dict(zip(fits, cycle(GROUP_COLOURS), strict=False)), limits=fits)
        + scale_shape_manual(values=dict(zip(fits, cycle(GROUP_MARKERS), strict=False)), limits=fits)
        + scale_y_continuous(
            breaks=list(levels["y"]),
            labels=list(levels["label"]),
            minor_breaks=[],
            expand=(0, 0),
            limits=(lines["y"].min() - LINE_HEIGHT * len(fits) / 2 - 0.15, 0.1),
        )
        + guides(color=guide_legend(ncol=across), shape=guide_legend(ncol=across))
        + labs(
            x="coefficient (change of the latent answer from the baseline; above 0: more acceptable)", y=""
        )
        + base_theme()
        + theme(legend_position="top" if len(fits) > 1 else "none", panel_grid_minor=element_blank())
    )
    size = (6.3 + widest(levels["label"], TEXT_SIZE), 1.8 + 0.2 * -(-len(fits) // across) - lines["y"].min())
    return finish(plot, entry, size, _counted(frame), *_more(frame, entry))


def _marks(frame: pd.DataFrame, headings: pd.DataFrame) -> ggplot:
    """Return estimates with intervals, planted coefficients, and words where a term has no estimate."""
    from plotnine import aes, geom_point, geom_segment, geom_text, geom_vline, ggplot, scale_x_continuous

    some, none = frame[frame["estimate"].notna()], frame[frame["estimate"].isna()]
    numbers = frame[["estimate", "conf_low", "conf_high", "planted"]].to_numpy()
    low, high = min(0.0, float(np.nanmin(numbers))), max(0.0, float(np.nanmax(numbers)))
    span = high - low or 1.0
    words = none.assign(x=high + 0.03 * span, label="× " + none["status"].map(MARKS).fillna(none["status"]))
    left, right = low - 0.04 * span, high + (0.35 if len(words) else 0.04) * span
    heads = headings.assign(x=left)
    plot = (
        ggplot(some, aes(color="fit"))
        + geom_vline(xintercept=0, color=INK, size=0.5)
        + geom_segment(aes(x="conf_low", xend="conf_high", y="y", yend="y"), some[some["conf_low"].notna()])
        + geom_point(aes(x="estimate", y="y", shape="fit"), size=2.1)
        + geom_text(
            aes("x", "y", label="title"), heads, ha="left", size=TEXT_SIZE, fontweight="bold", color=INK
        )
        + scale_x_continuous(limits=(left, right), expand=(0, 0))
    )
    if len(words):
        text = {"size": TEXT_SIZE - 2.5, "ha": "left", "show_legend": False}
        plot += geom_text(aes("x", "y", label="label", color="fit"), words, **text)
    planted = frame[frame["planted"].notna()]
    if len(planted):
        plot += geom_point(aes(x="planted", y="y"), planted, shape="|", size=3, color=INK)
    return plot


def terms(table: pd.DataFrame, entry: dict[str, Any]) -> pd.DataFrame:
    """Return the rows of the regression's table that are shown, in its order.

    Columns: fit (model, with its arm where there are several), term, level, baseline, estimate, conf_low,
    conf_high, planted (where the table has it), n, status. Thresholds are left out, and of a table with both
    the terms fitted to planted norms.
    """
    frame = table.rename(columns={"factor": "term"})
    frame = frame[frame["term"].notna() & (frame["term"] != "threshold") & frame["level"].notna()]
    if "source" in frame:
        frame = frame[frame["source"] == "recovered"]
    frame = frame[frame["arm"].isin([*entry["arms"], POOLED])]
    frame = frame[frame["model"].isin([*(model for _, model in entry["selected"]), POOLED])]
    if entry.get("factors"):
        frame = frame[frame["term"].isin(entry["factors"])]
    fits = model_labels(zip(frame["arm"], frame["model"], strict=True))
    known = ["term", "level", "baseline", "estimate", "conf_low", "conf_high", "planted", "n", "status"]
    frame = frame.reindex(columns=known).assign(
        fit=pd.Categorical(fits, categories=list(dict.fromkeys(fits)))
    )
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high", "planted"), "float64")
    return frame.astype(numbers).reset_index(drop=True)


def _lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each factor (level "") and for each of its levels.

    Columns: term, level, title (of a factor), label (of a level), y: the middle of the line, in inches from
    the top, negative.
    """
    rows: list[dict[str, Any]] = []
    for term, of in frame.groupby("term", sort=False):
        baseline = " / ".join(dict.fromkeys(of["baseline"].dropna().astype(str)))
        title = wrap(f"{str(term).replace('_', ' ')} (baseline: {baseline})", HEADINGS, TEXT_SIZE, bold=True)
        rows.append({"term": term, "level": "", "title": title, "label": ""})
        rows += [
            {"term": term, "level": level, "title": "", "label": wrap(str(level), LABELS, TEXT_SIZE)}
            for level in dict.fromkeys(of["level"])
        ]
    least = LINE_HEIGHT * (len(frame["fit"].cat.categories) + 0.6)
    heights = np.array(
        [
            max(height_of(row["label"] + row["title"], TEXT_SIZE) + 0.08, 0 if row["title"] else least)
            for row in rows
        ]
    )
    return pd.DataFrame(rows).assign(y=heights / 2 - np.cumsum(heights))


def _counted(frame: pd.DataFrame) -> str:
    n = frame.groupby("fit", observed=True)["n"].max().dropna().astype(int)
    each = ", ".join(f"{fit} {count:,}" for fit, count in n.items())
    terms_each = (
        f"{len(frame.drop_duplicates(['term', 'level']))} terms per regression. Lines: 95% intervals."
    )
    return f"n = norms or answers fitted: {each}; {terms_each}" if each else f"n = {terms_each}"


def _more(frame: pd.DataFrame, entry: dict[str, Any]) -> list[str]:
    counts = frame.loc[frame["status"] != "ok", "status"].value_counts()
    without = ", ".join(f"{n} {MARKS.get(str(s), str(s))}" for s, n in counts.items())
    planted = "Upright mark: the coefficient that was planted." if frame["planted"].notna().any() else ""
    return [
        f"Terms of the table '{entry['table']}', on the scale of the link (logits where it is the logit).",
        f"Not plain: {without}." if without else "Every term has a finite estimate.",
        planted,
    ]
