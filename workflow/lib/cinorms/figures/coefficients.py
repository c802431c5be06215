"""Kind ``coefficients``: the terms of an ordinal regression with their intervals, models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from cinorms.figures.texts import widest, wrap
from cinorms.figures.theme import GROUP_COLOURS, GROUP_MARKERS, INK, TEXT_SIZE, Drawn, base_theme, empty, finish
from cinorms.kinds import Selected

#: How a term without numbers is marked.
MARKS = {
    "separated": "separated: no finite value",
    "aliased": "not told apart from others",
    "constant_factor": "one level only",
    "not_estimated": "not estimated",
}
#: Room for the labels of levels in inches; height of one model's line; least height of a level.
LABELS, LINE_HEIGHT, LEVEL_HEIGHT = 3.0, 0.13, 0.22


def draw(selected: Sequence[Selected], entry: dict[str, Any]) -> Drawn:
    """Return a forest plot of the regression's table: a block per factor, a line per level, a mark per model."""
    from plotnine import aes, geom_point, geom_segment, geom_text, geom_vline, ggplot, labs, scale_color_manual
    from plotnine import element_blank, scale_shape_manual, scale_x_continuous, scale_y_continuous, theme

    frame = terms(selected[0].frame, entry)
    if frame.empty or not frame["estimate"].notna().any():
        return empty(entry, f"no term of the table '{entry['table']}' has an estimate.")
    fits = list(frame["fit"].cat.categories)
    lines = _lines(frame)
    step = max(LEVEL_HEIGHT, LINE_HEIGHT * len(fits) + 0.06)
    y = frame.merge(lines, on=["term", "level"])["y"].to_numpy()
    shift = (frame["fit"].cat.codes.to_numpy() - (len(fits) - 1) / 2) * 0.8 / max(1, len(fits))
    frame = frame.assign(y=y - shift)
    some, none = frame[frame["estimate"].notna()], frame[frame["estimate"].isna()]
    headings = lines[lines["level"] == ""]
    low = float(np.nanmin([some["conf_low"].min(), some["estimate"].min(), 0]))
    high = float(np.nanmax([some["conf_high"].max(), some["estimate"].max(), 0]))
    marks = none.assign(x=high + 0.03 * (high - low), label="× " + none["status"].map(MARKS).fillna(none["status"]))
    room = high + (0.35 if len(marks) else 0.04) * (high - low)
    low = low - 0.04 * (high - low)
    colours, shapes = dict(zip(fits, GROUP_COLOURS, strict=False)), dict(zip(fits, GROUP_MARKERS, strict=False))
    levels = lines[lines["level"] != ""]
    plot = (
        ggplot(some, aes(color="fit"))
        + geom_vline(xintercept=0, color=INK, size=0.5)
        + geom_segment(aes(x="conf_low", xend="conf_high", y="y", yend="y"), some[some["conf_low"].notna()], size=0.7)
        + geom_point(aes(x="estimate", y="y", shape="fit"), size=2.1)
        + geom_text(
            aes("x", "y", label="label"), headings.assign(x=low, label=headings["title"]), ha="left", size=TEXT_SIZE,
            fontweight="bold", color=INK, inherit_aes=False,
        )
    )
    if len(marks):
        text = {"size": TEXT_SIZE - 2.5, "ha": "left", "show_legend": False}
        plot = plot + geom_text(aes("x", "y", label="label", color="fit"), marks, **text)
    if frame["planted"].notna().any():
        plot = plot + geom_point(aes(x="planted", y="y"), frame[frame["planted"].notna()], shape="|", size=3, color=INK)
    plot = (
        plot
        + scale_color_manual(values=colours, limits=fits)
        + scale_shape_manual(values=shapes, limits=fits)
        + scale_x_continuous(limits=(low, room), expand=(0, 0))
        + scale_y_continuous(
            breaks=list(levels["y"]), labels=list(levels["label"]), minor_breaks=[], expand=(0, 0),
            limits=(lines["y"].min() - 0.6, 0.6),
        )
        + labs(x="coefficient (change of the latent answer from the baseline; above 0: more acceptable)", y="")
        + base_theme()
        + theme(legend_position="top" if len(fits) > 1 else "none", panel_grid_minor=element_blank())
    )
    size = (6.3 + widest(levels["label"], TEXT_SIZE), 1.9 + len(lines) * step)
    return finish(plot, entry, size, _counted(frame), *_more(frame, entry))


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
    if entry.get("models"):
        frame = frame[frame["model"].isin([*entry["models"], "pooled"])]
    if entry.get("factors"):
        frame = frame[frame["term"].isin(entry["factors"])]
    several = frame["arm"].nunique() > 1
    fits = frame["model"] + ", " + frame["arm"] if several else frame["model"]
    known = ["term", "level", "baseline", "estimate", "conf_low", "conf_high", "planted", "n", "status"]
    frame = frame.reindex(columns=known).assign(fit=pd.Categorical(fits, categories=list(dict.fromkeys(fits))))
    numbers = dict.fromkeys(("estimate", "conf_low", "conf_high", "planted"), "float64")
    return frame.astype(numbers).reset_index(drop=True)


def _lines(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a line for each factor (level "") and for each of its levels: term, level, y, title, label."""
    rows: list[dict[str, Any]] = []
    for term, of in frame.groupby("term", sort=False):
        baseline = " / ".join(dict.fromkeys(of["baseline"].dropna().astype(str)))
        title = f"{str(term).replace('_', ' ')} (baseline: {baseline})"
        rows.append({"term": term, "level": "", "title": title, "label": ""})
        rows += [
            {"term": term, "level": level, "title": "", "label": wrap(str(level), LABELS, TEXT_SIZE)}
            for level in dict.fromkeys(of["level"])
        ]
    # A label of two lines needs the height of two.
    heights = [max(1.0, 0.75 * (row["label"].count("\n") + 1)) for row in rows]
    ends = np.cumsum(heights)
    return pd.DataFrame(rows).assign(y=-(ends - np.array(heights) / 2) + 0.5)


def _counted(frame: pd.DataFrame) -> str:
    n = frame.groupby("fit", observed=True)["n"].max().dropna().astype(int)
    each = ", ".join(f"{fit} {count:,}" for fit, count in n.items())
    return (f"n = flows with a norm: {each}. " if each else "") + "Lines: 95% intervals."


def _more(frame: pd.DataFrame, entry: dict[str, Any]) -> list[str]:
    counts = frame.loc[frame["status"] != "ok", "status"].value_counts()
    without = ", ".join(f"{n} {MARKS.get(str(s), str(s))}" for s, n in counts.items())
    planted = "Upright mark: the coefficient that was planted." if frame["planted"].notna().any() else ""
    return [
        f"Terms of the table '{entry['table']}', on the scale of the link (logits where it is the logit).",
        f"Not plain: {without}." if without else "Every term has a finite estimate.",
        planted,
    ]
